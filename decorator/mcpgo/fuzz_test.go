package mcpgo_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/decorator/mcpgo"
	"github.com/regogate/regogate/policy"
)

// FuzzNothingRunsUndecided sends messages to a server whose policy refuses everything:
// whatever mcp-go makes of a message, no handler may run.
func FuzzNothingRunsUndecided(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","arguments":{},"task":{}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"hybrid","arguments":{"a":1},"task":{"ttl":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plain","arguments":null}}`,
		`{"jsonrpc":"2.0","id":1,"Method":"tools\/call","method":"x","params":{"task":{}},"Params":{"Name":"report","ta\u0073k":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","taſk":{},"inputResponses":{"a":{"action":"accept"}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","task":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[{"task":{}}],"params":{"name":"report","task":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	} {
		f.Add(seed)
	}
	refuse := func(context.Context, policy.Input) ([]policy.Refusal, error) {
		return []policy.Refusal{{Message: "no"}}, nil
	}
	s := spy{ran: make(chan struct{}, 100)}
	srv := newServer(mcpgo.WithGate(adaptertest.NewGate(f, policy.Options{}, refuse), mcpgo.Options{}))
	srv.AddTaskTool(tool("report", openSchema, required), s.task)
	srv.AddTool(tool("hybrid", openSchema, optional), s.handle)
	srv.AddTool(tool("plain", openSchema), s.handle)
	f.Fuzz(func(t *testing.T, message string) {
		out, err := json.Marshal(srv.HandleMessage(context.Background(), json.RawMessage(message)))
		require.NoError(t, err)
		if string(out) != "null" {
			require.NotContains(t, string(out), `"taskId"`)
		}
		select {
		case <-s.ran:
			t.Fatalf("a handler ran for %q", message)
		case <-time.After(0):
		}
	})
}
