package mcpgo_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/decorator/mcpgo"
	"github.com/regogate/regogate/policy"
)

// A decision belongs to the trace of its call's _meta, and to that of the HTTP request
// where _meta says nothing.
func TestDecisionsContinueTheTrace(t *testing.T) {
	const a, b = adaptertest.TraceA, adaptertest.TraceB
	for _, tt := range []struct {
		name, header string
		meta         map[string]any
		want         string
	}{
		{"neither", "", nil, ""},
		{"_meta", "", map[string]any{"traceparent": a}, a},
		{"header", b, nil, b},
		{"both", b, map[string]any{"traceparent": a}, a},
		{"neither is one", "x", map[string]any{"traceparent": 7}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log log
			var s spy
			srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), mcpgo.Options{}))
			srv.AddTool(tool("read", openSchema), s.handle)
			header := map[string]string{}
			if tt.header != "" {
				header["Traceparent"] = tt.header
			}
			c := dial(t, serveHTTP(t, srv), legacy, header)
			req := mcp.CallToolRequest{}
			req.Params.Name, req.Params.RawArguments = "read", json.RawMessage(`{}`)
			if tt.meta != nil {
				req.Params.Meta = mcp.NewMetaFromMap(tt.meta)
			}
			_, err := c.CallTool(context.Background(), req)
			require.NoError(t, err)
			require.Equal(t, []string{tt.want}, log.Traces())
		})
	}
}

// Calls that run as a task, and those of unknown tools, are decided by hooks.
func TestDecisionsOfHooksContinueTheTrace(t *testing.T) {
	var log log
	s := spy{ran: make(chan struct{}, 9)}
	srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), mcpgo.Options{}))
	srv.AddTaskTool(tool("report", openSchema, mcp.WithTaskSupport(mcp.TaskSupportRequired)), s.task)
	meta := `,"_meta":{"traceparent":"` + adaptertest.TraceA + `"}}}`
	raw(t, srv, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","arguments":{},"task":{}`+meta)
	s.wait(t, 1)
	raw(t, srv, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"none","arguments":{}`+meta)
	require.Equal(t, []string{adaptertest.TraceA, adaptertest.TraceA}, log.Traces())
}
