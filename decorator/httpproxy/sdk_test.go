package httpproxy_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

func sdkServer(got *adaptertest.Bytes) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "read", InputSchema: json.RawMessage(adaptertest.PathSchema)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got.Keep(req.Params.Arguments)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
	})
	return s
}

func connect(t *testing.T, endpoint string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, opts)
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// The official SDK's client and server, in both eras, with the gate between them.
func TestOfficialSDK(t *testing.T) {
	for name, o := range map[string]*mcp.StreamableHTTPOptions{
		"sessions":  {},
		"stateless": {Stateless: true},
		"JSON":      {JSONResponse: true},
		"both":      {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := &adaptertest.Bytes{}
			s := sdkServer(got)
			upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
			t.Cleanup(upstream.Close)
			u, err := url.Parse(upstream.URL)
			require.NoError(t, err)
			gate := adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
			p, err := httpproxy.New(httpproxy.Options{Gate: gate, Upstream: u})
			require.NoError(t, err)
			front := httptest.NewServer(p)
			t.Cleanup(func() {
				require.NoError(t, p.Close())
				front.Close()
			})
			cs := connect(t, front.URL+"/mcp", nil)
			t.Log(cs.InitializeResult().ProtocolVersion)
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "read", Arguments: json.RawMessage(`{"path":"/a"}`)})
			require.NoError(t, err)
			require.False(t, res.IsError, res.Content)
			require.Equal(t, []string{`{"path":"/a"}`}, got.Take())
			res, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "read", Arguments: json.RawMessage(`{"path":"/etc/shadow"}`)})
			require.NoError(t, err)
			require.True(t, res.IsError)
			require.Empty(t, got.Take())
			_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"})
			require.ErrorContains(t, err, "unknown_tool")
		})
	}
}
