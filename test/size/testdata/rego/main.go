// Command rego is the same server behind a gate that a bundle of Rego decides.
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/policy"
)

type greeting struct {
	Name string `json:"name"`
}

func hello(_ context.Context, _ *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
}

func main() {
	gate, err := policy.NewGate(policy.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ruleset, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{"policy"}})
	if err != nil {
		log.Fatal(err)
	}
	gate.Use(ruleset)
	server := mcp.NewServer(&mcp.Implementation{Name: "hello", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hello", Description: "Says hello."}, hello)
	if err := gosdk.GateServer(server, gate, gosdk.Options{}); err != nil {
		log.Fatal(err)
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
