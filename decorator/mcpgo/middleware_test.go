package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/decorator/mcpgo"
	"github.com/regogate/regogate/policy"
)

func exactly(string) bool { return true }

func TestEveryCallIsDecidedBeforeTheHandlerRuns(t *testing.T) {
	const exact = `{"path":"/tmp/a","n":9007199254740993}`
	tests := []struct {
		name, tool, arguments string
		want                  policy.Code // "" when the handler runs
		got                   string      // what it then gets
	}{
		{"allowed", "read", `{"path":"/tmp/a"}`, "", `{"path":"/tmp/a"}`},
		{"allowed, a large integer", "read", exact, "", exact},
		{"allowed, escapes as they came", "read", `{"path":"\u003c\/tmp\u003e"}`, "", `{"path":"\u003c\/tmp\u003e"}`},
		{"denied", "read", `{"path":"/etc/shadow"}`, policy.Denied, ""},
		{"denied, written otherwise", "read", `{"path":"\/etc\/shado\u0077"}`, policy.Denied, ""},
		{"schema violation", "read", `{"path":7}`, policy.SchemaViolation, ""},
		{"no arguments", "read", ``, policy.SchemaViolation, ""},
		{"null arguments", "read", `null`, policy.SchemaViolation, ""},
		{"undeclared argument", "read", `{"path":"a","mode":"w"}`, policy.SchemaViolation, ""},
		{"name twice", "read", `{"path":"/tmp/a","path":"/etc/shadow"}`, policy.Malformed, ""},
		{"name in other letters", "read", `{"path":"/tmp/a","Path":"/etc/shadow"}`, policy.Malformed, ""},
		{"array", "read", `["/etc/shadow"]`, policy.Malformed, ""},
		{"half a surrogate pair", "read", `{"path":"\ud800"}`, policy.Malformed, ""},
		{"validator fails", "read", `{"path":"error"}`, policy.Undecided, ""},
		{"validator panics", "read", `{"path":"panic"}`, policy.Undecided, ""},
		{"schema that can't be used", "broken", `{"path":"a"}`, policy.SchemaUnusable, ""},
		{"nothing covers it", "stray", `{"path":"a"}`, policy.Unmapped, ""},
		{"with output schema", "sized", `{"path":"/etc/shadow"}`, policy.Denied, ""},
	}
	sized := tool("sized", openSchema)
	sized.RawOutputSchema = json.RawMessage(`{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"],"additionalProperties":false}`)
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			var s spy
			var log log
			g := adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow, "read", "broken", "sized")
			srv := newServer(server.WithOutputSchemaValidation(), mcpgo.WithGate(g, mcpgo.Options{Server: "files", Exact: exactly}))
			srv.AddTool(tool("read", pathSchema), s.handle)
			srv.AddTool(tool("broken", brokenSchema), s.handle)
			srv.AddTool(tool("stray", openSchema), s.handle)
			srv.AddTool(sized, s.handle)
			c := l.connect(t, srv)
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					log.Take()
					s.Take()
					r, err := call(c, tt.tool, tt.arguments)
					require.NoError(t, err)
					records := log.Take()
					require.Len(t, records, 1, "each call is decided once")
					require.Equal(t, tt.want, records[0].Decision.Code())
					require.Equal(t, "files", records[0].Decision.Server)
					if tt.want == "" {
						require.False(t, r.IsError)
						require.Equal(t, []string{tt.got}, s.Take())
						return
					}
					require.Equal(t, tt.want, codeOf(t, r))
					require.Equal(t, records[0].Decision.Text(), textOf(t, r))
					require.Empty(t, s.Take(), "the handler must not run")
					require.Equal(t, tt.tool != "sized", r.StructuredContent != nil)
				})
			}
			_, err := call(c, "Read", `{}`)
			require.ErrorContains(t, err, "not found")
			records := log.Take()
			require.Len(t, records, 1, "decided for the record")
			require.Equal(t, policy.UnknownTool, records[0].Decision.Code())
		})
	}
}

// What mcp-go makes of a message is what is decided, whatever else the message says.
func TestAmbiguousMessages(t *testing.T) {
	var s spy
	srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), mcpgo.Options{}))
	srv.AddTool(tool("read", pathSchema), s.handle)
	srv.AddTool(tool("free", openSchema), s.handle)
	for name, message := range map[string]string{
		"Name":            `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"free","Name":"read","arguments":{"path":"/etc/shadow"}}}`,
		"Method":          `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"read","arguments":{"path":"/etc/shadow"}}}`,
		"Arguments":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a"},"Arguments":{"path":"/etc/shadow"}}}`,
		"arguments twice": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a"},"arguments":{"path":"/etc/shadow"}}}`,
		"params twice":    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"free","arguments":{"path":"/etc/shadow"}},"params":{"name":"read"}}`,
		"Params":          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"free","arguments":{"path":"a"}},"Params":{"name":"read","arguments":{"path":"/etc/shadow"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			a := raw(t, srv, message)
			require.NotNil(t, a.Result)
			require.True(t, a.Result.IsError)
			require.Equal(t, "complete", a.Result.ResultType)
			require.Equal(t, "1", string(a.ID))
			require.Empty(t, s.Take())
		})
	}
	require.Nil(t, raw(t, srv, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).Error)
	require.False(t, raw(t, srv, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a"}}}`).Result.IsError)
	require.Len(t, s.Take(), 1)
}

// GetInt and its like read float64. BindArguments reads the bytes.
func TestANumberThatMCPGoRoundsIsRefused(t *testing.T) {
	var log log
	var got []int64
	o := mcpgo.Options{Exact: func(name string) bool { return name == "bound" }}
	srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), o))
	srv.AddTool(tool("got", openSchema), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got = append(got, int64(req.GetInt("n", 0)))
		return mcp.NewToolResultText("ran"), nil
	})
	type in struct {
		N int64 `json:"n"`
	}
	srv.AddTool(tool("bound", openSchema), mcp.NewTypedToolHandler(func(_ context.Context, _ mcp.CallToolRequest, v in) (*mcp.CallToolResult, error) {
		got = append(got, v.N)
		return mcp.NewToolResultText("ran"), nil
	}))
	c := inProcess(modern)(t, srv)
	r, err := call(c, "got", `{"n":9007199254740993}`)
	require.NoError(t, err)
	require.Equal(t, policy.Undecided, codeOf(t, r))
	require.ErrorContains(t, log.Take()[0].Decision.Err, "BindArguments")
	_, err = call(c, "got", `{"n":9007199254740992}`)
	require.NoError(t, err)
	_, err = call(c, "bound", `{"n":9007199254740993}`)
	require.NoError(t, err)
	require.Equal(t, []int64{9007199254740992, 9007199254740993}, got)
}

func TestToolsThatComeLaterAreSeenAsTheyAre(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			var s spy
			srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), mcpgo.Options{}), server.WithPaginationLimit(1), server.WithToolCapabilities(true))
			c := l.connect(t, srv)
			_, err := call(c, "later", `{"path":"a"}`)
			require.Error(t, err)
			srv.AddTool(tool("later", pathSchema), s.handle)
			for arguments, want := range map[string]bool{`{"path":"a"}`: false, `{"path":"/etc/shadow"}`: true, `{"other":1}`: true} {
				r, err := call(c, "later", arguments)
				require.NoError(t, err)
				require.Equal(t, want, r.IsError, arguments)
			}
			srv.AddTool(tool("later", `{"type":"object","required":["other"]}`), s.handle)
			r, err := call(c, "later", `{"path":"a"}`)
			require.NoError(t, err)
			require.Equal(t, policy.SchemaViolation, codeOf(t, r))
			srv.DeleteTools("later")
			_, err = call(c, "later", `{"other":1}`)
			require.Error(t, err)
			require.Equal(t, []string{`{"path":"a"}`}, s.Take())
		})
	}
}

// A session's own tool hides the server's of the same name, for mcp-go and the gate.
func TestASessionsOwnToolCounts(t *testing.T) {
	var s spy
	srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), mcpgo.Options{}))
	srv.AddTool(tool("read", openSchema), s.handle)
	session := &withTools{tools: map[string]server.ServerTool{"read": {Tool: tool("read", pathSchema), Handler: s.handle}}}
	ctx := srv.WithContext(context.Background(), session)
	message := json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}`)
	out, err := json.Marshal(srv.HandleMessage(ctx, message))
	require.NoError(t, err)
	require.Contains(t, string(out), "schema_violation")
	require.Empty(t, s.Take())
	out, err = json.Marshal(srv.HandleMessage(context.Background(), message))
	require.NoError(t, err)
	require.Contains(t, string(out), `"ran"`)
}

type withTools struct{ tools map[string]server.ServerTool }

func (*withTools) Initialize()                                         {}
func (*withTools) Initialized() bool                                   { return true }
func (*withTools) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }
func (*withTools) SessionID() string                                   { return "s" }
func (w *withTools) GetSessionTools() map[string]server.ServerTool     { return w.tools }
func (w *withTools) SetSessionTools(t map[string]server.ServerTool)    { w.tools = t }

func TestWhatIsChangedBeforeTheGateHasToBeWhole(t *testing.T) {
	var s spy
	var log log
	var change func(*mcp.CallToolParams)
	outside := server.WithToolHandlerMiddleware(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			change(&req.Params)
			return next(ctx, req)
		}
	})
	srv := newServer(outside, mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), mcpgo.Options{}))
	srv.AddTool(tool("read", openSchema), s.handle)
	c := inProcess(legacy)(t, srv)
	tests := map[string]struct {
		change func(*mcp.CallToolParams)
		want   policy.Code
	}{
		"nothing": {func(*mcp.CallToolParams) {}, ""},
		"both": {func(p *mcp.CallToolParams) {
			p.RawArguments, p.Arguments = json.RawMessage(`{"path":"/etc/shadow"}`), map[string]any{"path": "/etc/shadow"}
		}, policy.Denied},
		"decoded only": {func(p *mcp.CallToolParams) { p.Arguments = map[string]any{"path": "/etc/shadow"} }, policy.Undecided},
		"bytes only":   {func(p *mcp.CallToolParams) { p.RawArguments = json.RawMessage(`{"path":"b"}`) }, policy.Undecided},
		"bytes lost":   {func(p *mcp.CallToolParams) { p.RawArguments = nil }, policy.Undecided},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			change = tt.change
			r, err := call(c, "read", `{"path":"a"}`)
			require.NoError(t, err)
			if tt.want == "" {
				require.False(t, r.IsError)
				require.Len(t, s.Take(), 1)
				return
			}
			require.Equal(t, tt.want, codeOf(t, r))
			require.Empty(t, s.Take())
			if tt.want == policy.Undecided {
				records := log.Take()
				require.ErrorContains(t, records[len(records)-1].Decision.Err, "RawArguments")
			}
		})
	}
}

func TestWhoCalls(t *testing.T) {
	var who atomic.Value
	g := adaptertest.NewGate(t, policy.Options{}, func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		who.Store([]string{in.Caller().Subject, in.Call().Transport})
		return nil, nil
	})
	fromHeader := func(r *http.Request) (policy.Caller, error) {
		switch user := r.Header.Get("X-User"); user {
		case "":
			return policy.Caller{}, errors.New("no user")
		case "panic":
			panic("boom")
		default:
			return policy.Caller{Subject: user}, nil
		}
	}
	for _, version := range []string{legacy, modern} {
		var s spy
		srv := newServer(mcpgo.WithGate(g, mcpgo.Options{}))
		srv.AddTool(tool("read", openSchema), s.handle)
		srv.AddTaskTool(tool("report", openSchema, mcp.WithTaskSupport(mcp.TaskSupportRequired)), s.task)
		url := serveHTTP(t, srv, server.WithHTTPContextFunc(mcpgo.HTTPCaller(fromHeader)))
		r, err := call(dial(t, url, version, map[string]string{"X-User": "alice"}), "read", `{}`)
		require.NoError(t, err)
		require.False(t, r.IsError)
		require.Equal(t, []string{"alice", "http"}, who.Load())
		s.Take()
		for _, bad := range []string{"", "panic"} {
			c := dial(t, url, version, map[string]string{"X-User": bad})
			r, err = call(c, "read", `{}`)
			require.NoError(t, err)
			require.Equal(t, policy.Undecided, codeOf(t, r))
			req := mcp.CallToolRequest{}
			req.Params.Name, req.Params.Task = "report", &mcp.TaskParams{}
			_, err = c.CallTool(context.Background(), req)
			require.ErrorContains(t, err, "(undecided)")
		}
		require.Empty(t, s.Take())
		// The application's own way, without HTTPCaller.
		url = serveHTTP(t, srv, server.WithHTTPContextFunc(func(ctx context.Context, _ *http.Request) context.Context {
			return policy.WithCaller(ctx, policy.Caller{Subject: "bob"})
		}))
		_, err = call(dial(t, url, version, nil), "read", `{}`)
		require.NoError(t, err)
		require.Equal(t, []string{"bob", "http"}, who.Load())
	}
}

// confirming is a tool that asks its user before it does anything.
func confirming(runs *[]string, mu *sync.Mutex) server.ToolHandlerFunc {
	return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		answer := server.ElicitationResponse(req.Params.InputResponses, "confirm")
		if answer == nil {
			*runs = append(*runs, "asked")
			return server.NewInputRequestBuilder("s1").Elicit("confirm", mcp.ElicitationParams{Message: "sure?", RequestedSchema: map[string]any{"type": "object"}}).ToolResult(), nil
		}
		*runs = append(*runs, string(answer.Action))
		return mcp.NewToolResultText("done"), nil
	}
}

type elicits mcp.ElicitationResponseAction

func (e elicits) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseAction(e)}}, nil
}

// Each time that mcp-go runs the handler with a client's answers, in either era, the
// call is decided anew.
func TestRetriesAreDecidedAnew(t *testing.T) {
	for _, l := range links[:2] {
		for _, action := range []string{"accept", "decline"} {
			t.Run(l.name+", "+action, func(t *testing.T) {
				var mu sync.Mutex
				var seen, runs []string
				g := adaptertest.NewGate(t, policy.Options{}, func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
					mu.Lock()
					defer mu.Unlock()
					confirm, ok := in.Call().Responses["confirm"].(map[string]any)
					if !ok {
						seen = append(seen, "first")
						return nil, nil
					}
					action, _ := confirm["action"].(string)
					if seen = append(seen, action); action != "accept" {
						return []policy.Refusal{{Message: "the user said no"}}, nil
					}
					return nil, nil
				})
				srv := newServer(mcpgo.WithGate(g, mcpgo.Options{}), server.WithElicitation())
				srv.AddTool(tool("send", openSchema), confirming(&runs, &mu))
				r, err := call(l.connect(t, srv, client.WithElicitationHandler(elicits(action))), "send", `{}`)
				require.NoError(t, err)
				require.Equal(t, []string{"first", action}, seen)
				if action == "accept" {
					require.False(t, r.IsError)
					require.Equal(t, []string{"asked", "accept"}, runs)
				} else {
					require.Equal(t, policy.Denied, codeOf(t, r))
					require.Equal(t, []string{"asked"}, runs)
				}
			})
		}
	}
}

func TestNobodyToAsk(t *testing.T) {
	var none *policy.Gate
	for _, d := range []decorator.Decider{nil, none} {
		require.ErrorContains(t, mcpgo.Install(newServer(), d, mcpgo.Options{}), "mcpgo.Install: the decider is nil")
		_, err := mcpgo.New(d, mcpgo.Options{})
		require.ErrorContains(t, err, "mcpgo.New: the decider is nil")
		var s spy
		srv := newServer(mcpgo.WithGate(d, mcpgo.Options{}))
		srv.AddTool(tool("read", openSchema), s.handle)
		r, err := call(inProcess(legacy)(t, srv), "read", `{}`)
		require.NoError(t, err)
		require.Equal(t, policy.NotReady, codeOf(t, r))
		require.NotNil(t, raw(t, srv, taskCall(1, "read", `{}`)).Error)
		require.Empty(t, s.Take())
	}
	require.ErrorContains(t, mcpgo.Install(nil, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), mcpgo.Options{}), "server is nil")
}

func TestWithNoRulesNothingChanges(t *testing.T) {
	s := spy{ran: make(chan struct{}, 9)}
	srv := newServer(mcpgo.WithGate(policy.NewNoopGate(), mcpgo.Options{}))
	require.Nil(t, srv.GetHooks())
	srv.AddTool(tool("read", brokenSchema), s.handle)
	srv.AddTaskTool(tool("report", brokenSchema, mcp.WithTaskSupport(mcp.TaskSupportRequired)), s.task)
	r, err := call(inProcess(legacy)(t, srv), "read", `{"a":1,"a":2}`)
	require.NoError(t, err)
	require.False(t, r.IsError)
	s.wait(t, 1)
	require.Nil(t, raw(t, srv, taskCall(1, "report", `{"a":1,"a":2}`)).Error)
	s.wait(t, 1)
	require.Len(t, s.Take(), 2)
}

func TestShadowModeForwards(t *testing.T) {
	s := spy{ran: make(chan struct{}, 9)}
	srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{Mode: policy.Shadow}, adaptertest.DenyShadow), mcpgo.Options{}))
	srv.AddTool(tool("read", pathSchema), s.handle)
	srv.AddTaskTool(tool("report", pathSchema, mcp.WithTaskSupport(mcp.TaskSupportRequired)), s.task)
	for arguments, forwarded := range map[string]bool{`{"path":"/etc/shadow"}`: true, `{}`: true, `{"path":"a","path":"b"}`: false} {
		require.Equal(t, forwarded, !raw(t, srv, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":`+arguments+`}}`).Result.IsError, arguments)
		require.Equal(t, forwarded, raw(t, srv, taskCall(1, "report", arguments)).Error == nil, arguments)
		if forwarded {
			s.wait(t, 2)
		}
	}
	require.Len(t, s.Take(), 4)
}

func TestACallWhoseContextHasEndedIsRefused(t *testing.T) {
	var s spy
	srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), mcpgo.Options{}))
	srv.AddTool(tool("read", openSchema), s.handle)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out, err := json.Marshal(srv.HandleMessage(ctx, json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}`)))
	require.NoError(t, err)
	require.Contains(t, string(out), "(undecided)")
	out, err = json.Marshal(srv.HandleMessage(ctx, json.RawMessage(taskCall(1, "read", `{}`))))
	require.NoError(t, err)
	require.Contains(t, string(out), "(undecided)")
	require.Empty(t, s.Take())
}

// panicking is a decider with a mistake.
type panicking struct{ decorator.Decider }

func (panicking) Decide(context.Context, policy.Call) policy.Decision { panic("boom") }

func TestADeciderThatPanicsRefuses(t *testing.T) {
	var s spy
	srv := newServer()
	require.NoError(t, mcpgo.Install(srv, panicking{adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)}, mcpgo.Options{}))
	srv.AddTool(tool("read", openSchema), s.handle)
	r, err := call(inProcess(modern)(t, srv), "read", `{}`)
	require.NoError(t, err)
	require.Equal(t, policy.Undecided, codeOf(t, r))
	require.Contains(t, raw(t, srv, taskCall(1, "read", `{}`)).Error.Message, "(undecided)")
	require.Error(t, func() error { _, err := call(inProcess(modern)(t, srv), "unknown", `{}`); return err }())
	require.Empty(t, s.Take())
}

func TestConcurrentCallsAreDecidedEachByItself(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			var ran atomic.Int64
			srv := newServer(mcpgo.WithGate(adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), mcpgo.Options{}))
			srv.AddTool(tool("read", pathSchema), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				ran.Add(1)
				return mcp.NewToolResultText("ran"), nil
			})
			c := l.connect(t, srv)
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					path := []string{"/tmp/a", "/etc/shadow"}[i%2]
					if i%10 == 0 {
						srv.AddTool(tool("other", openSchema), (&spy{}).handle)
					}
					r, err := call(c, "read", `{"path":"`+path+`"}`)
					if err != nil || r.IsError != (i%2 == 1) {
						t.Errorf("%s: %v, %v", path, r, err)
					}
				})
			}
			wg.Wait()
			require.EqualValues(t, 20, ran.Load())
		})
	}
}
