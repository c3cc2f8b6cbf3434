package gosdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/policy"
)

type mail struct {
	To string `json:"to"`
}

func send(_ context.Context, _ *mcp.CallToolRequest, in mail) (*mcp.CallToolResult, any, error) {
	fmt.Println("sending to", in.To)
	return nil, nil, nil
}

// companyOnly stands for a policy: it may be a bundle of Rego just as well.
func companyOnly(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	if to, _ := in.Arguments().Lookup("/to"); !strings.HasSuffix(fmt.Sprint(to), "@example.com") {
		return []policy.Refusal{{Message: "recipients outside the company need a ticket", Location: "/to"}}, nil
	}
	return nil, nil
}

func exampleGate() *policy.Gate {
	gate, err := policy.NewGate(policy.Options{Validators: []policy.Registration{{Tool: "send_email", Name: "company only", Validator: policy.ValidatorFunc(companyOnly)}}})
	if err != nil {
		panic(err)
	}
	gate.Use(noRules{})
	return gate
}

// mails connects to the server and has it send two mails.
func mails(server *mcp.Server, client *mcp.Client) {
	ctx := context.Background()
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, far, nil); err != nil {
		panic(err)
	}
	session, err := client.Connect(ctx, near, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	for _, to := range []string{"ann@example.com", "eve@example.net"} {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "send_email", Arguments: mail{to}})
		if err != nil {
			panic(err)
		}
		if result.IsError {
			fmt.Println(result.Content[0].(*mcp.TextContent).Text)
		}
	}
}

// One line puts the gate in front of all tools of a server.
func ExampleMiddleware() {
	server := mcp.NewServer(&mcp.Implementation{Name: "mail", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "send_email", Description: "Sends an e-mail."}, send)

	server.AddReceivingMiddleware(gosdk.Middleware(exampleGate(), gosdk.Options{}))

	mails(server, mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil))
	// Output:
	// sending to ann@example.com
	// The call was refused before it ran (denied).
	// - /to: recipients outside the company need a ticket
	// Repeating the same call will be refused again.
}

// GateServer is the same, and says what is wrong when something is.
func ExampleGateServer() {
	gate := exampleGate()

	server := mcp.NewServer(&mcp.Implementation{Name: "mail", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "send_email", Description: "Sends an e-mail."}, send)
	if err := gosdk.GateServer(server, gate, gosdk.Options{Server: "mail"}); err != nil {
		panic(err)
	}

	mails(server, mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil))
	fmt.Println(gosdk.GateServer(server, nil, gosdk.Options{}))
	// Output:
	// sending to ann@example.com
	// The call was refused before it ran (denied).
	// - /to: recipients outside the company need a ticket
	// Repeating the same call will be refused again.
	// gosdk.GateServer: the decider is nil: make one with policy.NewGate, or policy.NewNoopGate while there are no rules
}

// A single tool of the low-level kind can be gated by itself.
func ExampleHandler() {
	gate := exampleGate()
	server := mcp.NewServer(&mcp.Implementation{Name: "mail", Version: "1.0.0"}, nil)

	tool := &mcp.Tool{Name: "send_email", InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}`)}
	handler, err := gosdk.Handler(gate, tool, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Println("got", string(req.Params.Arguments))
		return &mcp.CallToolResult{}, nil
	}, gosdk.Options{})
	if err != nil {
		panic(err)
	}
	server.AddTool(tool, handler)

	mails(server, mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil))
	// Output:
	// got {"to":"ann@example.com"}
	// The call was refused before it ran (denied).
	// - /to: recipients outside the company need a ticket
	// Repeating the same call will be refused again.
}

// An agent gates what it calls, whatever server it goes to.
func ExampleGateClient() {
	gate := exampleGate()

	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil)
	if err := gosdk.GateClient(client, gate, gosdk.ClientOptions{Server: "mail"}); err != nil {
		panic(err)
	}

	server := mcp.NewServer(&mcp.Implementation{Name: "mail", Version: "1.0.0"}, nil) // somebody else's
	mcp.AddTool(server, &mcp.Tool{Name: "send_email"}, send)
	mails(server, client)
	// Output:
	// sending to ann@example.com
	// The call was refused before it ran (denied).
	// - /to: recipients outside the company need a ticket
	// Repeating the same call will be refused again.
}

// Large integers reach the handler as they were decided.
func ExampleAddTool() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1.0.0"}, nil)
	type account struct {
		Number int64 `json:"number"`
	}
	show := func(_ context.Context, _ *mcp.CallToolRequest, in account) (*mcp.CallToolResult, any, error) {
		fmt.Println(in.Number)
		return nil, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "rounded"}, show) // the SDK's own
	if err := gosdk.AddTool(server, &mcp.Tool{Name: "exact"}, show); err != nil {
		panic(err)
	}

	ctx := context.Background()
	near, far := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, far, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil).Connect(ctx, near, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	for _, name := range []string{"rounded", "exact"} {
		if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: account{9007199254740993}}); err != nil {
			panic(err)
		}
	}
	// Output:
	// 9007199254740992
	// 9007199254740993
}
