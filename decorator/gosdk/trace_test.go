package gosdk_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

// A decision belongs to the trace of its call's _meta, and to that of the HTTP request
// where _meta says nothing.
func TestDecisionsContinueTheTrace(t *testing.T) {
	const a, b = adaptertest.TraceA, adaptertest.TraceB
	for _, tt := range []struct {
		name   string
		meta   mcp.Meta
		header string
		want   string
	}{
		{"neither", nil, "", ""},
		{"_meta", mcp.Meta{"traceparent": a}, "", a},
		{"header", nil, b, b},
		{"both", mcp.Meta{"traceparent": a}, b, a},
		{"_meta that is none", mcp.Meta{"traceparent": 7}, b, b},
		{"text that is none", mcp.Meta{"traceparent": "AKIAIOSFODNN7EXAMPLE"}, "x", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log log
			server := newServer(nil)
			server.AddTool(tool("read", openSchema), (&spy{}).handle)
			require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), gosdk.Options{}))
			url := serveHTTP(t, server, &mcp.StreamableHTTPOptions{Stateless: true}, nil)
			header := http.Header{}
			if tt.header != "" {
				header.Set("Traceparent", tt.header)
			}
			cs := dial(t, newClient(nil), url, legacy, header)
			_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Meta: tt.meta, Name: "read", Arguments: json.RawMessage(`{}`)})
			require.NoError(t, err)
			require.Equal(t, []string{tt.want}, log.Traces())
		})
	}
}

// An agent's own gate continues what the agent sends along.
func TestAClientsDecisionsContinueTheTraceThatItSends(t *testing.T) {
	var log log
	server, client := newServer(nil), newClient(nil)
	server.AddTool(tool("read", openSchema), (&spy{}).handle)
	require.NoError(t, gosdk.GateClient(client, adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), gosdk.ClientOptions{}))
	cs := inMemory(legacy)(t, server, client)
	for _, meta := range []mcp.Meta{{"traceparent": adaptertest.TraceA}, nil} {
		_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Meta: meta, Name: "read"})
		require.NoError(t, err)
	}
	require.Equal(t, []string{adaptertest.TraceA, ""}, log.Traces())
}
