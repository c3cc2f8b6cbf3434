package mcpgo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/regogate/regogate/decorator/mcpgo"
	"github.com/regogate/regogate/policy"
)

var sendEmail = mcp.NewTool("send_email", mcp.WithString("to", mcp.Required()))

func send(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	fmt.Println("sending to", req.GetString("to", ""))
	return mcp.NewToolResultText("sent"), nil
}

// companyOnly stands for a policy: it may be a bundle of Rego just as well.
func companyOnly(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	if to, _ := in.Arguments().Lookup("/to"); !strings.HasSuffix(fmt.Sprint(to), "@example.com") {
		return []policy.Refusal{{Message: "recipients outside the company need a ticket", Location: "/to"}}, nil
	}
	return nil, nil
}

func exampleGate(rule policy.ValidatorFunc) *policy.Gate {
	gate, err := policy.NewGate(policy.Options{Validators: []policy.Registration{{Tool: "send_email", Name: "rule", Validator: rule}}})
	if err != nil {
		panic(err)
	}
	gate.Use(noRules{})
	return gate
}

// mails connects to the server and has it send mails.
func mails(c *client.Client, err error, recipients ...string) {
	ctx := context.Background()
	if err != nil {
		panic(err)
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		panic(err)
	}
	if _, err := c.Initialize(ctx, mcp.InitializeRequest{}); err != nil {
		panic(err)
	}
	for _, to := range recipients {
		req := mcp.CallToolRequest{}
		req.Params.Name, req.Params.Arguments = "send_email", map[string]any{"to": to}
		result, err := c.CallTool(ctx, req)
		if err != nil {
			panic(err)
		}
		if result.IsError {
			fmt.Println(result.Content[0].(mcp.TextContent).Text)
		}
	}
}

// One option puts the gate in front of all tools of a server.
func ExampleWithGate() {
	gate := exampleGate(companyOnly)

	s := server.NewMCPServer("mail", "1.0.0", mcpgo.WithGate(gate, mcpgo.Options{}))
	s.AddTool(sendEmail, send)

	c, err := client.NewInProcessClient(s)
	mails(c, err, "ann@example.com", "eve@example.net")
	// Output:
	// sending to ann@example.com
	// The call was refused before it ran (denied).
	// - /to: recipients outside the company need a ticket
	// Repeating the same call will be refused again.
}

// Install does the same to a server that exists, and says what is wrong when something is.
func ExampleInstall() {
	s := server.NewMCPServer("mail", "1.0.0")
	if err := mcpgo.Install(s, nil, mcpgo.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// mcpgo.Install: the decider is nil: make one with policy.NewGate, or policy.NewNoopGate while there are no rules
}

// The parts can be put into a server one by one, for a certain order.
func ExampleNew() {
	gate, err := mcpgo.New(exampleGate(companyOnly), mcpgo.Options{})
	if err != nil {
		panic(err)
	}
	hooks := &server.Hooks{}
	gate.AddHooks(hooks)
	s := server.NewMCPServer("mail", "1.0.0", server.WithHooks(hooks), server.WithRecovery(), server.WithToolHandlerMiddleware(gate.Middleware()))
	s.AddTool(sendEmail, send)

	c, err := client.NewInProcessClient(s)
	mails(c, err, "ann@example.com")
	// Output:
	// sending to ann@example.com
}

// Who calls is what the application makes of an HTTP request.
func ExampleHTTPCaller() {
	who := func(r *http.Request) (policy.Caller, error) {
		user := r.Header.Get("X-User") // from a proxy that can be trusted
		if user == "" {
			return policy.Caller{}, errors.New("nobody")
		}
		return policy.Caller{Subject: user}, nil
	}
	onlyAnn := func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		if in.Caller().Subject != "ann" {
			return []policy.Refusal{{Message: "only ann sends mail"}}, nil
		}
		return nil, nil
	}
	s := server.NewMCPServer("mail", "1.0.0", mcpgo.WithGate(exampleGate(onlyAnn), mcpgo.Options{}))
	s.AddTool(sendEmail, send)
	web := httptest.NewServer(server.NewStreamableHTTPServer(s, server.WithHTTPContextFunc(mcpgo.HTTPCaller(who))))
	defer web.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()

	for _, user := range []string{"ann", "eve"} {
		c, err := client.NewStreamableHttpClient(web.URL, withUser(user))
		mails(c, err, user+"@example.com")
	}
	// Output:
	// sending to ann@example.com
	// The call was refused before it ran (denied).
	// - only ann sends mail
	// Repeating the same call will be refused again.
}
