package gosdk_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/decorator/gosdk"
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

// A spy is a low-level handler that remembers the bytes that it got.
type spy struct{ adaptertest.Bytes }

func (s *spy) handle(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.Keep(req.Params.Arguments)
	return text("ran"), nil
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func textOf(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	require.Len(t, r.Content, 1)
	require.IsType(t, &mcp.TextContent{}, r.Content[0])
	return r.Content[0].(*mcp.TextContent).Text
}

func tool(name, schema string) *mcp.Tool {
	return &mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}
}

func newServer(o *mcp.ServerOptions) *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, o)
}

func newClient(o *mcp.ClientOptions) *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
}

// A link connects a client to a server in one of the ways there are.
type link struct {
	name    string
	connect func(t testing.TB, s *mcp.Server, c *mcp.Client) *mcp.ClientSession
}

var links = []link{
	{"in memory, sessions", inMemory(legacy)},
	{"in memory, stateless", inMemory(modern)},
	{"HTTP, sessions", overHTTP(legacy, &mcp.StreamableHTTPOptions{})},
	{"HTTP, JSON answers", overHTTP(legacy, &mcp.StreamableHTTPOptions{JSONResponse: true})},
	{"HTTP, older client of a stateless server", overHTTP("2025-06-18", &mcp.StreamableHTTPOptions{Stateless: true})},
	{"HTTP, stateless", overHTTP(modern, &mcp.StreamableHTTPOptions{Stateless: true})},
}

func inMemory(version string) func(testing.TB, *mcp.Server, *mcp.Client) *mcp.ClientSession {
	return func(t testing.TB, s *mcp.Server, c *mcp.Client) *mcp.ClientSession {
		t.Helper()
		near, far := mcp.NewInMemoryTransports()
		ss, err := s.Connect(context.Background(), far, nil)
		require.NoError(t, err)
		cs, err := c.Connect(context.Background(), near, &mcp.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err)
		t.Cleanup(func() {
			_ = cs.Close()
			_ = ss.Wait()
		})
		require.Equal(t, version, cs.InitializeResult().ProtocolVersion)
		return cs
	}
}

func overHTTP(version string, o *mcp.StreamableHTTPOptions) func(testing.TB, *mcp.Server, *mcp.Client) *mcp.ClientSession {
	return func(t testing.TB, s *mcp.Server, c *mcp.Client) *mcp.ClientSession {
		t.Helper()
		url := serveHTTP(t, s, o, nil)
		return dial(t, c, url, version, nil)
	}
}

// serveHTTP serves s until the test ends, behind wrap if that isn't nil.
func serveHTTP(t testing.TB, s *mcp.Server, o *mcp.StreamableHTTPOptions, wrap func(http.Handler) http.Handler) (url string) {
	t.Helper()
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o)
	if wrap != nil {
		h = wrap(h)
	}
	hs := httptest.NewServer(h)
	t.Cleanup(hs.Close)
	return hs.URL
}

func dial(t testing.TB, c *mcp.Client, url, version string, header http.Header) *mcp.ClientSession {
	t.Helper()
	hc := &http.Client{Transport: &withHeader{base: &http.Transport{}, header: header}}
	cs, err := c.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: hc}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = cs.Close()
		hc.CloseIdleConnections()
	})
	require.Equal(t, version, cs.InitializeResult().ProtocolVersion)
	return cs
}

type withHeader struct {
	base   *http.Transport
	header http.Header
}

func (w *withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range w.header {
		r.Header[name] = slices.Clone(values)
	}
	return w.base.RoundTrip(r)
}

func (w *withHeader) CloseIdleConnections() { w.base.CloseIdleConnections() }

func call(t testing.TB, cs *mcp.ClientSession, name, arguments string) (*mcp.CallToolResult, error) {
	t.Helper()
	p := &mcp.CallToolParams{Name: name}
	if arguments != "" {
		p.Arguments = json.RawMessage(arguments)
	}
	return cs.CallTool(context.Background(), p)
}

// codeOf returns the code that a refused call's result says in its _meta.
func codeOf(t testing.TB, r *mcp.CallToolResult) policy.Code {
	t.Helper()
	return adaptertest.Code(t, r.IsError, textOf(t, r), r.Meta["io.regogate/decision"])
}

// AddTool is gosdk.AddTool for tools that are known to be good.
func addTyped[In, Out any](t testing.TB, s *mcp.Server, tool *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) {
	t.Helper()
	require.NoError(t, gosdk.AddTool(s, tool, h))
}
