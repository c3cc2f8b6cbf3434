// Command gate is the same server behind a gate that a validator in Go decides.
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/policy"
)

type greeting struct {
	Name string `json:"name"`
}

func hello(_ context.Context, _ *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
}

type none struct{}

func (none) Revision() string { return "none" }

func (none) Cover(*policy.Tool) policy.Coverage { return policy.Coverage{} }

func nobody(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	if name, _ := in.Arguments().Lookup("/name"); name == "nobody" {
		return []policy.Refusal{{Message: "there has to be somebody to greet"}}, nil
	}
	return nil, nil
}

func main() {
	gate, err := policy.NewGate(policy.Options{Validators: []policy.Registration{{Tool: "hello", Name: "nobody", Validator: policy.ValidatorFunc(nobody)}}})
	if err != nil {
		log.Fatal(err)
	}
	gate.Use(none{})
	server := mcp.NewServer(&mcp.Implementation{Name: "hello", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hello", Description: "Says hello."}, hello)
	if err := gosdk.GateServer(server, gate, gosdk.Options{}); err != nil {
		log.Fatal(err)
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
