package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools are what the example server declares: name, description, input schema.
var tools = [...][3]string{
	{"read_file", "Read a text file", `{
		"type": "object",
		"properties": {"path": {"type": "string", "minLength": 1}},
		"required": ["path"],
		"additionalProperties": false
	}`},
	{"send_mail", "Send a mail", `{
		"type": "object",
		"properties": {
			"to": {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 1},
			"subject": {"type": "string"},
			"body": {"type": "string"},
			"ticket": {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}
		},
		"required": ["to", "subject"],
		"additionalProperties": false
	}`},
	{"book_room", "Book a meeting room", `{
		"type": "object",
		"properties": {"room": {"type": "string"}, "start": {"type": "string"}},
		"required": ["room", "start"],
		"additionalProperties": false
	}`},
	{"open_page", "Open a web page", `{
		"type": "object",
		"properties": {"url": {"type": "string", "format": "uri"}},
		"required": ["url"],
		"additionalProperties": false
	}`},
}

// Serve is the example server, on standard input and output, until its client leaves.
// It trusts whatever reaches it, as servers do.
func Serve(ctx context.Context) error { return newServer().Run(ctx, &mcp.StdioTransport{}) }

func newServer() *mcp.Server {
	var handled atomic.Int64
	server := mcp.NewServer(&mcp.Implementation{Name: "regogate-example", Version: "1"}, nil)
	for _, t := range tools {
		tool := &mcp.Tool{Name: t[0], Description: t[1], InputSchema: json.RawMessage(t[2])}
		server.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text := fmt.Sprintf(answer, handled.Add(1))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	}
	return server
}

// answer is what every tool says: how many calls have reached the server.
const answer = "this is call %d that reached the server"
