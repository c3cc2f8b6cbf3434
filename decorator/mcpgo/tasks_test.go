package mcpgo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/decorator/mcpgo"
	"github.com/regogate/regogate/policy"
)

var (
	required = mcp.WithTaskSupport(mcp.TaskSupportRequired)
	optional = mcp.WithTaskSupport(mcp.TaskSupportOptional)
)

// What mcp-go does by itself: neither its middleware nor its validation sees a task tool.
func TestTaskToolsBypassMCPGosMiddleware(t *testing.T) {
	s := spy{ran: make(chan struct{}, 1)}
	srv := newServer(server.WithInputSchemaValidation(), server.WithToolHandlerMiddleware(func(server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultError("refused"), nil
		}
	}))
	srv.AddTaskTool(tool("report", pathSchema, required), s.task)
	require.Nil(t, raw(t, srv, taskCall(1, "report", `{"path":7}`)).Error)
	s.wait(t, 1)
	require.Equal(t, []string{`{"path":7}`}, s.Take())
}

func TestTasksAreDecidedBeforeThereIsOne(t *testing.T) {
	const exact = `{"path":"a","n":9007199254740993}`
	tests := []struct {
		name, tool, arguments string
		want                  policy.Code // "" when the handler runs
	}{
		{"task tool, allowed", "report", `{"path":"/tmp/a"}`, ""},
		{"task tool, a large integer", "report", exact, ""},
		{"task tool, denied", "report", `{"path":"/etc/shadow"}`, policy.Denied},
		{"task tool, schema", "report", `{"path":7}`, policy.SchemaViolation},
		{"task tool, malformed", "report", `{"path":"a","path":"/etc/shadow"}`, policy.Malformed},
		{"task tool, undecided", "report", `{"path":"panic"}`, policy.Undecided},
		{"task tool, unusable schema", "broken", `{}`, policy.SchemaUnusable},
		{"task tool, unmapped", "stray", `{}`, policy.Unmapped},
		{"hybrid, allowed", "hybrid", `{"path":"/tmp/a"}`, ""},
		{"hybrid, a large integer", "hybrid", exact, ""},
		{"hybrid, denied", "hybrid", `{"path":"/etc/shadow"}`, policy.Denied},
		{"hybrid, schema", "hybrid", `{}`, policy.SchemaViolation},
		{"ordinary tool asked for as a task, allowed", "plain", `{"path":"a"}`, ""},
		{"ordinary tool asked for as a task, denied", "plain", `{"path":"/etc/shadow"}`, policy.Denied},
		{"unknown", "nothing", `{}`, policy.UnknownTool},
	}
	s := spy{ran: make(chan struct{}, 1)}
	var log log
	srv := newServer(server.WithPaginationLimit(1))
	g := adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow, "report", "hybrid", "broken", "plain", "nothing")
	require.NoError(t, mcpgo.Install(srv, g, mcpgo.Options{Exact: exactly}))
	srv.AddTaskTool(tool("report", pathSchema, required), s.task)
	srv.AddTaskTool(tool("broken", brokenSchema, required), s.task)
	srv.AddTaskTool(tool("stray", openSchema, optional), s.task)
	srv.AddTool(tool("hybrid", pathSchema, optional), s.handle)
	srv.AddTool(tool("plain", pathSchema), s.handle)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log.Take()
			a := raw(t, srv, taskCall(i+1, tt.tool, tt.arguments))
			require.Equal(t, fmt.Sprint(i+1), string(a.ID))
			if tt.want == "" {
				require.Nil(t, a.Error)
				s.wait(t, 1)
				require.Equal(t, []string{tt.arguments}, s.Take())
			} else {
				require.NotNil(t, a.Error, "a client that expects a task can't read a result")
				require.Equal(t, -32600, a.Error.Code, "mcp-go leaves no choice")
				require.Empty(t, s.Take())
			}
			records := log.Take()
			require.Len(t, records, 1, "decided once, hybrids too")
			require.Equal(t, tt.want, records[0].Decision.Code())
			require.Equal(t, fmt.Sprint(i+1), records[0].Input.Call().ID)
			if tt.want != "" {
				require.Equal(t, records[0].Decision.Text(), a.Error.Message)
			}
		})
	}
	require.Empty(t, s.ran)
	// At once: the middleware decides hybrids, and mcp-go runs no task tool.
	r, err := call(inProcess(legacy)(t, srv), "hybrid", `{"path":"/etc/shadow"}`)
	require.NoError(t, err)
	require.Equal(t, policy.Denied, codeOf(t, r))
	_, err = call(inProcess(legacy)(t, srv), "report", `{"path":"a"}`)
	require.Error(t, err)
	require.Empty(t, s.Take())
}

// The words by which a message asks for a task, as mcp-go reads them.
func TestEveryWayToAskForATaskIsSeen(t *testing.T) {
	const shadow = `"arguments":{"path":"/etc/shadow"}`
	s := spy{ran: make(chan struct{}, 9)}
	srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), mcpgo.Options{}))
	srv.AddTaskTool(tool("report", pathSchema, required), s.task)
	for name, message := range map[string]string{
		"plain":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report",` + shadow + `,"task":{}}}`,
		"Task":             `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report",` + shadow + `,"Task":{}}}`,
		"escaped":          `{"jsonrpc":"2.0","id":1,"meth\u006fd":"tools\/call","params":{"name":"report",` + shadow + `,"\u0074ask":{}}}`,
		"Method":           `{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call","params":{"name":"report",` + shadow + `,"task":{}}}`,
		"params twice":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + shadow + `},"params":{"name":"report","task":{}}}`,
		"params, Params":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"},"Params":{"name":"report",` + shadow + `,"task":{"ttl":1}}}`,
		"null, then one":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report",` + shadow + `,"task":null,"task":{}}}`,
		"id after, string": `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"report",` + shadow + `,"task":{}},"id":"x"}`,
		"long s":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report",` + shadow + `,"taſk":{}}}`,
		"Kelvin sign":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report",` + shadow + `,"tas` + "\u212a" + `":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			a := raw(t, srv, message)
			require.NotNil(t, a.Error)
			require.Contains(t, a.Error.Message, "(denied)")
		})
	}
	for name, message := range map[string]string{ // mcp-go runs nothing for these
		"one, then null": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report",` + shadow + `,"task":{},"task":null}}`,
		"no object":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report",` + shadow + `,"task":7}}`,
		"params array":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[{"task":{}}]}`,
	} {
		t.Run(name, func(t *testing.T) { require.NotNil(t, raw(t, srv, message).Error) })
	}
	require.Empty(t, s.Take())
	require.Nil(t, raw(t, srv, taskCall(1, "report", `{"path":"a"}`)).Error)
	s.wait(t, 1)
}

// Middleware outside of the gate may change a call between its decision and its run.
func TestATaskThatWasChangedAfterItsDecisionIsDecidedAgain(t *testing.T) {
	var s spy
	var log log
	started := make(chan struct{}, 9)
	outside := server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			defer func() { started <- struct{}{} }()
			req.Params.RawArguments, req.Params.Arguments = json.RawMessage(`{"path":"/etc/shadow"}`), map[string]any{"path": "/etc/shadow"}
			return next(ctx, req)
		}
	})
	srv := newServer(outside, mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), mcpgo.Options{}))
	srv.AddTool(tool("hybrid", pathSchema, optional), s.handle)
	require.Nil(t, raw(t, srv, taskCall(1, "hybrid", `{"path":"a"}`)).Error)
	<-started
	require.Empty(t, s.Take())
	records := log.Take()
	require.Len(t, records, 2)
	require.True(t, records[0].Decision.Allowed)
	require.False(t, records[1].Decision.Allowed)
}

// A server without the hook, or one whose hook was thrown away, runs no task undecided.
func TestALostHookHidesTaskTools(t *testing.T) {
	var mu sync.Mutex
	var reported []error
	o := mcpgo.Options{Report: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, err)
	}}
	g := adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
	for name, lost := range map[string]bool{"hooks before": false, "hooks after": true} {
		t.Run(name, func(t *testing.T) {
			mu.Lock()
			reported = nil
			mu.Unlock()
			s := spy{ran: make(chan struct{}, 9)}
			var seen atomic.Int64
			hooks := &server.Hooks{}
			hooks.AddOnRequestInitialization(func(context.Context, any, any) error { seen.Add(1); return nil })
			options := []server.ServerOption{server.WithHooks(hooks), mcpgo.WithGate(g, o)}
			if lost {
				options[0], options[1] = options[1], options[0]
			}
			srv := newServer(options...)
			srv.AddTaskTool(tool("report", pathSchema, required), s.task)
			srv.AddTool(tool("hybrid", pathSchema, optional), s.handle)
			srv.AddTool(tool("plain", pathSchema), s.handle)
			c := inProcess(legacy)(t, srv)
			list, err := c.ListTools(context.Background(), mcp.ListToolsRequest{})
			require.NoError(t, err)
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			for _, arguments := range []string{`{"path":"a"}`, `{"path":"/etc/shadow"}`} {
				for _, name := range []string{"report", "hybrid"} {
					a := raw(t, srv, taskCall(1, name, arguments))
					require.Equal(t, lost || strings.Contains(arguments, "shadow"), a.Error != nil, name)
				}
			}
			r, err := call(c, "plain", `{"path":"/etc/shadow"}`)
			require.NoError(t, err)
			require.Equal(t, policy.Denied, codeOf(t, r))
			require.Positive(t, seen.Load())
			mu.Lock()
			defer mu.Unlock()
			if lost {
				require.Equal(t, []string{"plain"}, names)
				require.Empty(t, s.Take())
				require.Len(t, reported, 1)
				require.ErrorContains(t, reported[0], "WithHooks")
			} else {
				require.Equal(t, []string{"hybrid", "plain", "report"}, names)
				s.wait(t, 2)
				require.Empty(t, reported)
			}
		})
	}
}

// The parts by themselves.
func TestMiddlewareWithoutTheHookDecidesHybridsItself(t *testing.T) {
	var s spy
	var log log
	a, err := mcpgo.New(adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), mcpgo.Options{})
	require.NoError(t, err)
	srv := newServer(server.WithToolHandlerMiddleware(a.Middleware()))
	srv.AddTool(tool("hybrid", pathSchema, optional), s.handle)
	require.Nil(t, raw(t, srv, taskCall(1, "hybrid", `{"path":"/etc/shadow"}`)).Error)
	require.Eventually(t, func() bool { return len(log.Take()) == 1 }, 5*time.Second, time.Millisecond)
	require.Empty(t, s.Take())
	a.AddHooks(nil)
}

func TestManyTasksAtOnceAreEachDecidedOnce(t *testing.T) {
	s := spy{ran: make(chan struct{}, 200)}
	var log log
	srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), mcpgo.Options{}))
	srv.AddTool(tool("hybrid", pathSchema, optional), s.handle)
	srv.AddTaskTool(tool("report", pathSchema, required), s.task)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			path := []string{"/tmp/a", "/etc/shadow"}[i%2]
			a := raw(t, srv, taskCall(i, []string{"hybrid", "report"}[i/2%2], `{"path":"`+path+`"}`))
			if (a.Error != nil) != (i%2 == 1) {
				t.Errorf("%s: %v", path, a.Error)
			}
		})
	}
	wg.Wait()
	s.wait(t, 50)
	require.Len(t, s.Take(), 50)
	require.Len(t, log.Take(), 100)
}

// Over HTTP, with mcp-go's own client, in both eras.
func TestTasksOverHTTP(t *testing.T) {
	for _, version := range []string{legacy, modern} {
		s := spy{ran: make(chan struct{}, 9)}
		srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), mcpgo.Options{}))
		srv.AddTaskTool(tool("report", pathSchema, required), s.task)
		srv.AddTool(tool("hybrid", pathSchema, optional), s.handle)
		c := overHTTP(version)(t, srv)
		for _, name := range []string{"report", "hybrid"} {
			req := mcp.CallToolRequest{}
			req.Params.Name, req.Params.Task = name, &mcp.TaskParams{}
			req.Params.RawArguments = json.RawMessage(`{"path":"/etc/shadow"}`)
			_, err := c.CallTool(context.Background(), req)
			require.ErrorContains(t, err, "not that file")
			require.Empty(t, s.Take())
			req.Params.RawArguments = json.RawMessage(`{"path":"/tmp/a"}`)
			_, _ = c.CallTool(context.Background(), req) // the client can't read a task in place of a result
			s.wait(t, 1)
			require.Len(t, s.Take(), 1)
		}
	}
}
