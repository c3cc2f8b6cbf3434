package mcpgo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	legacy       = adaptertest.Legacy
	modern       = adaptertest.Modern
	pathSchema   = adaptertest.PathSchema
	openSchema   = adaptertest.OpenSchema
	brokenSchema = adaptertest.BrokenSchema
)

type (
	noRules = adaptertest.NoRules
	log     = adaptertest.Log
)

// A spy has handlers that remember the bytes that they got.
type spy struct {
	adaptertest.Bytes
	ran chan struct{} // told of each run, if not nil
}

func (s *spy) keep(req mcp.CallToolRequest) {
	s.Keep(req.Params.RawArguments)
	if s.ran != nil {
		s.ran <- struct{}{}
	}
}

func (s *spy) handle(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.keep(req)
	return mcp.NewToolResultText("ran"), nil
}

func (s *spy) task(_ context.Context, req mcp.CallToolRequest) (*mcp.CreateTaskResult, error) {
	s.keep(req)
	return &mcp.CreateTaskResult{}, nil
}

// wait waits for n runs.
func (s *spy) wait(t testing.TB, n int) {
	t.Helper()
	for range n {
		select {
		case <-s.ran:
		case <-time.After(10 * time.Second):
			t.Fatal("the handler doesn't run")
		}
	}
}

func tool(name, schema string, o ...mcp.ToolOption) mcp.Tool {
	t := mcp.NewToolWithRawSchema(name, "", json.RawMessage(schema))
	for _, option := range o {
		option(&t)
	}
	return t
}

func newServer(o ...server.ServerOption) *server.MCPServer {
	return server.NewMCPServer("test", "1", append([]server.ServerOption{server.WithTaskCapabilities(true, true, true)}, o...)...)
}

// A link connects a client to a server in one of the ways there are.
type link struct {
	name    string
	connect func(t testing.TB, s *server.MCPServer, o ...client.ClientOption) *client.Client
}

var links = []link{
	{"in process, sessions", inProcess(legacy)},
	{"in process, stateless", inProcess(modern)},
	{"HTTP, sessions", overHTTP(legacy)},
	{"HTTP, stateless", overHTTP(modern)},
}

func inProcess(version string) func(testing.TB, *server.MCPServer, ...client.ClientOption) *client.Client {
	return func(t testing.TB, s *server.MCPServer, o ...client.ClientOption) *client.Client {
		t.Helper()
		c, err := client.NewInProcessClientWithOptions(s, o...)
		require.NoError(t, err)
		return start(t, c, version)
	}
}

func overHTTP(version string) func(testing.TB, *server.MCPServer, ...client.ClientOption) *client.Client {
	return func(t testing.TB, s *server.MCPServer, o ...client.ClientOption) *client.Client {
		t.Helper()
		return dial(t, serveHTTP(t, s), version, nil, o...)
	}
}

func serveHTTP(t testing.TB, s *server.MCPServer, o ...server.StreamableHTTPOption) (url string) {
	t.Helper()
	hs := httptest.NewServer(server.NewStreamableHTTPServer(s, o...))
	t.Cleanup(hs.Close)
	return hs.URL
}

func dial(t testing.TB, url, version string, header map[string]string, o ...client.ClientOption) *client.Client {
	t.Helper()
	hc := &http.Client{Transport: &http.Transport{}}
	tr, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(hc), transport.WithHTTPHeaders(header))
	require.NoError(t, err)
	t.Cleanup(hc.CloseIdleConnections)
	return start(t, client.NewClient(tr, o...), version)
}

func start(t testing.TB, c *client.Client, version string) *client.Client {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, c.Start(ctx))
	t.Cleanup(func() { _ = c.Close() })
	init := mcp.InitializeRequest{}
	init.Params.ProtocolVersion = version
	init.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	result, err := c.Initialize(ctx, init)
	require.NoError(t, err)
	require.Equal(t, version, result.ProtocolVersion)
	return c
}

func call(c *client.Client, name, arguments string) (*mcp.CallToolResult, error) {
	req := mcp.CallToolRequest{}
	req.Params.Name = name
	if arguments != "" {
		req.Params.RawArguments = json.RawMessage(arguments)
	}
	return c.CallTool(context.Background(), req)
}

// codeOf returns the code that a refused call's result says in its _meta.
func codeOf(t testing.TB, r *mcp.CallToolResult) policy.Code {
	t.Helper()
	return adaptertest.Code(t, r.IsError, textOf(t, r), r.Meta.AdditionalFields["io.regogate/decision"])
}

func textOf(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	require.Len(t, r.Content, 1)
	require.IsType(t, mcp.TextContent{}, r.Content[0])
	return r.Content[0].(mcp.TextContent).Text
}

// An answer is what HandleMessage returns, as it goes over the wire.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Result *struct {
		ResultType string          `json:"resultType"`
		IsError    bool            `json:"isError"`
		Content    []any           `json:"content"`
		Task       json.RawMessage `json:"task"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// raw has the server handle a message as it is.
func raw(t testing.TB, s *server.MCPServer, message string) answer {
	t.Helper()
	out, err := json.Marshal(s.HandleMessage(context.Background(), json.RawMessage(message)))
	require.NoError(t, err)
	var a answer
	require.NoError(t, json.Unmarshal(out, &a), string(out))
	return a
}

func taskCall(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"task":{}}}`, id, name, arguments)
}

func withUser(user string) transport.StreamableHTTPCOption {
	return transport.WithHTTPHeaders(map[string]string{"X-User": user})
}
