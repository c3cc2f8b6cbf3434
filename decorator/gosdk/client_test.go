//lint:file-ignore SA1019 a server may still ask for what a later version of the protocol drops

package gosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

// counted counts a server's requests by method.
type counted struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counted) on(s *mcp.Server) *counted {
	c.n = map[string]int{}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			c.mu.Lock()
			c.n[method]++
			c.mu.Unlock()
			return next(ctx, method, req)
		}
	})
	return c
}

func (c *counted) take(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n[method]
	c.n[method] = 0
	return n
}

func gatedClient(t testing.TB, g *policy.Gate, o gosdk.ClientOptions, co *mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c := newClient(co)
	require.NoError(t, gosdk.GateClient(c, g, o))
	return c
}

func TestAClientSendsOnlyWhatIsLetThrough(t *testing.T) {
	type in struct {
		Path string `json:"path"`
		N    int64  `json:"n,omitempty"`
	}
	tests := []struct {
		name, tool string
		arguments  any
		want       policy.Code
		got        string
	}{
		{"allowed", "read", map[string]any{"path": "<a>"}, "", `{"path":"<a>"}`},
		{"a struct, a large integer", "read", in{"/tmp/a", 9007199254740993}, "", `{"path":"/tmp/a","n":9007199254740993}`},
		{"raw bytes", "read", json.RawMessage(`{"path": "\u0061", "n": 1e2}`), "", `{"path":"\u0061","n":1e2}`},
		{"denied", "read", in{Path: "/etc/shadow"}, policy.Denied, ""},
		{"schema", "read", map[string]any{"path": 1}, policy.SchemaViolation, ""},
		{"no arguments", "read", nil, policy.SchemaViolation, ""},
		{"name twice", "read", json.RawMessage(`{"path":"a","path":"/etc/shadow"}`), policy.Malformed, ""},
		{"array", "read", []string{"a"}, policy.Malformed, ""},
		{"undecided", "read", in{Path: "panic"}, policy.Undecided, ""},
		{"schema that can't be used", "broken", in{Path: "a"}, policy.SchemaUnusable, ""},
		{"schema that the SDK rounds", "large", in{Path: "a"}, policy.SchemaUnusable, ""},
		{"nothing covers it", "stray", in{Path: "a"}, policy.Unmapped, ""},
		{"with output schema", "sized", in{Path: "/etc/shadow"}, policy.Denied, ""},
	}
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			var s spy
			var log log
			server := newServer(&mcp.ServerOptions{PageSize: 2})
			server.AddTool(tool("read", pathSchema), s.handle)
			server.AddTool(tool("broken", brokenSchema), s.handle)
			server.AddTool(tool("large", `{"type":"object","properties":{"n":{"maximum":9007199254740993}}}`), s.handle)
			server.AddTool(tool("stray", openSchema), s.handle)
			server.AddTool(withOut("sized"), s.handle)
			count := new(counted).on(server)
			g := adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow, "read", "broken", "large", "sized")
			cs := l.connect(t, server, gatedClient(t, g, gosdk.ClientOptions{Server: "remote"}, nil))
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					s.Take()
					log.Take()
					count.take("tools/call")
					r, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: tt.tool, Arguments: tt.arguments})
					require.NoError(t, err)
					records := log.Take()
					require.Len(t, records, 1)
					require.Equal(t, tt.want, records[0].Decision.Code())
					require.Equal(t, "remote", records[0].Decision.Server)
					if tt.want == "" {
						require.False(t, r.IsError)
						require.Equal(t, []string{tt.got}, s.Take())
						require.JSONEq(t, tt.got, string(records[0].Input.Arguments().Raw()))
						return
					}
					require.Equal(t, tt.want, codeOf(t, r))
					require.Zero(t, count.take("tools/call"), "nothing is sent")
					require.Equal(t, tt.tool != "sized", r.StructuredContent != nil)
				})
			}
			_, err := call(t, cs, "unknown", `{}`)
			var failure *jsonrpc.Error
			require.ErrorAs(t, err, &failure)
			require.EqualValues(t, -32602, failure.Code)
			require.Contains(t, string(failure.Data), "unknown_tool")
			require.Zero(t, count.take("tools/call"))
		})
	}
}

// A value may encode differently each time. What was decided is what is sent.
type fickle struct{ n *atomic.Int64 }

func (f fickle) MarshalJSON() ([]byte, error) {
	if f.n.Add(1) == 1 {
		return []byte(`{"path":"/tmp/a"}`), nil
	}
	return []byte(`{"path":"/etc/shadow"}`), nil
}

type badly struct{ panics bool }

func (b badly) MarshalJSON() ([]byte, error) {
	if b.panics {
		panic("boom")
	}
	return nil, errors.New("no")
}

func TestArgumentsAreEncodedOnce(t *testing.T) {
	var s spy
	server := newServer(nil)
	server.AddTool(tool("read", pathSchema), s.handle)
	cs := inMemory(modern)(t, server, gatedClient(t, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.ClientOptions{}, nil))
	p := &mcp.CallToolParams{Name: "read", Arguments: fickle{new(atomic.Int64)}}
	_, err := cs.CallTool(context.Background(), p)
	require.NoError(t, err)
	require.Equal(t, []string{`{"path":"/tmp/a"}`}, s.Take())
	require.IsType(t, fickle{}, p.Arguments, "the application's own params stay as they are")
	for _, bad := range []badly{{false}, {true}} {
		_, err = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "read", Arguments: bad})
		require.ErrorContains(t, err, "can't be encoded")
	}
	require.Empty(t, s.Take())
}

func TestAClientLearnsToolsWhenItHasTo(t *testing.T) {
	for _, version := range []string{legacy, modern} {
		t.Run(version, func(t *testing.T) {
			var s spy
			var changed atomic.Int64
			server := newServer(&mcp.ServerOptions{PageSize: 1})
			server.AddTool(tool("a", openSchema), s.handle)
			server.AddTool(tool("b", openSchema), s.handle)
			count := new(counted).on(server)
			co := &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed.Add(1) }}
			cs := inMemory(version)(t, server, gatedClient(t, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.ClientOptions{}, co))
			for range 3 {
				for _, name := range []string{"a", "b"} {
					_, err := call(t, cs, name, `{}`)
					require.NoError(t, err)
				}
			}
			require.Equal(t, 2, count.take("tools/list"), "one list of two pages serves all calls")
			_, err := call(t, cs, "c", `{}`)
			require.Error(t, err)
			require.Equal(t, 2, count.take("tools/list"), "an unknown tool is looked for again, once")
			server.AddTool(tool("c", openSchema), s.handle)
			_, err = call(t, cs, "c", `{}`) // before or after the notification
			require.NoError(t, err)
			require.Eventually(t, func() bool { return changed.Load() == 1 }, 5*time.Second, time.Millisecond)
			s.Take()
			server.AddTool(tool("a", pathSchema), s.handle) // now with another schema
			require.Eventually(t, func() bool { return changed.Load() == 2 }, 5*time.Second, time.Millisecond)
			r, err := call(t, cs, "a", `{}`)
			require.NoError(t, err)
			require.Equal(t, policy.SchemaViolation, codeOf(t, r))
			require.Empty(t, s.Take())
		})
	}
}

// In the stateless era a client may hear of no changes. Its list grows old.
func TestAListOfTheStatelessEraExpires(t *testing.T) {
	server := newServer(&mcp.ServerOptions{SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.TTLMs = 1 }})
	server.AddTool(tool("a", openSchema), (&spy{}).handle)
	count := new(counted).on(server)
	g := adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
	client := newClient(nil)
	expire := gosdk.GateAndExpire(client, g)
	cs := inMemory(modern)(t, server, client)
	for range 3 {
		_, err := call(t, cs, "a", `{}`)
		require.NoError(t, err)
	}
	require.Equal(t, 1, count.take("tools/list"))
	expire(t)
	_, err := call(t, cs, "a", `{}`)
	require.NoError(t, err)
	require.Equal(t, 1, count.take("tools/list"))
}

func TestAServerThatCanNotBeAskedRefuses(t *testing.T) {
	var s spy
	var broken atomic.Bool
	broken.Store(true)
	server := newServer(nil)
	server.AddTool(tool("read", openSchema), s.handle)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" && broken.Load() {
				return nil, errors.New("down")
			}
			return next(ctx, method, req)
		}
	})
	var reported []error
	o := gosdk.ClientOptions{Report: func(err error) { reported = append(reported, err) }}
	cs := inMemory(legacy)(t, server, gatedClient(t, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), o, nil))
	r, err := call(t, cs, "read", `{}`)
	require.NoError(t, err)
	require.Equal(t, policy.NotReady, codeOf(t, r))
	require.Empty(t, s.Take())
	require.Len(t, reported, 1)
	require.ErrorContains(t, reported[0], "can't be listed")
	broken.Store(false)
	r, err = call(t, cs, "read", `{}`)
	require.NoError(t, err)
	require.False(t, r.IsError)
}

// A call that is cancelled while it waits for the list leaves, and the others go on.
func TestWaitingForTheListEndsWithTheCall(t *testing.T) {
	release := make(chan struct{})
	server := newServer(nil)
	server.AddTool(tool("read", openSchema), (&spy{}).handle)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				<-release
			}
			return next(ctx, method, req)
		}
	})
	cs := inMemory(legacy)(t, server, gatedClient(t, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.ClientOptions{}, nil))
	var wg sync.WaitGroup
	wg.Go(func() {
		r, err := call(t, cs, "read", `{}`)
		if err != nil || r.IsError {
			t.Errorf("%v, %v", r, err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	r, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "read"})
	require.NoError(t, err)
	require.True(t, r.IsError)
	close(release)
	wg.Wait()
}

func TestAClientsRetriesAreDecidedAnew(t *testing.T) {
	for _, l := range links {
		for _, action := range []string{"accept", "decline"} {
			t.Run(l.name+", "+action, func(t *testing.T) {
				var mu sync.Mutex
				var seen, runs []string
				server := newServer(nil)
				server.AddTool(tool("send", openSchema), asking(&runs, &mu))
				g := adaptertest.NewGate(t, policy.Options{}, declining(&seen, &mu))
				cs := l.connect(t, server, gatedClient(t, g, gosdk.ClientOptions{}, elicit(action)))
				p := &mcp.CallToolParams{Name: "send", Arguments: map[string]any{}}
				if l.name == "HTTP, older client of a stateless server" {
					return // the server has no way to ask such a client anything
				}
				r, err := cs.CallTool(context.Background(), p)
				require.NoError(t, err)
				require.Nil(t, p.InputResponses, "the application's own params stay as they are")
				if cs.InitializeResult().ProtocolVersion == modern {
					require.Equal(t, action == "decline", r.IsError)
					require.Equal(t, []string{"first", action}, seen)
				} else { // the server asks, within the one call
					require.Equal(t, []string{"first"}, seen)
				}
			})
		}
	}
}

func TestEveryKindOfInputIsAnswered(t *testing.T) {
	server := newServer(nil)
	server.AddTool(tool("ask", openSchema), func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
				"form":  &mcp.ElicitParams{Message: "who?"},
				"roots": &mcp.ListRootsParams{},
				"model": &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}},
			}}, nil
		}
		roots := req.Params.InputResponses["roots"].(*mcp.ListRootsResult)
		model := req.Params.InputResponses["model"].(*mcp.CreateMessageWithToolsResult)
		form := req.Params.InputResponses["form"].(*mcp.ElicitResult)
		return text(fmt.Sprintf("%d %s %s", len(roots.Roots), model.Model, form.Action)), nil
	})
	co := elicit("accept")
	co.CreateMessageHandler = func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Model: req.Params.Messages[0].Content.(*mcp.TextContent).Text, Role: "assistant", Content: &mcp.TextContent{Text: "x"}}, nil
	}
	client := gatedClient(t, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.ClientOptions{}, co)
	client.AddRoots(&mcp.Root{URI: "file:///a"})
	cs := inMemory(modern)(t, server, client)
	r, err := call(t, cs, "ask", `{}`)
	require.NoError(t, err)
	require.Equal(t, "1 hi accept", textOf(t, r))
}

func TestRetriesAreBounded(t *testing.T) {
	for name, requests := range map[string]mcp.InputRequestMap{"asks for ever": {"a": &mcp.ElicitParams{Message: "again?"}}, "always busy": {}} {
		t.Run(name, func(t *testing.T) {
			var runs atomic.Int64
			server := newServer(nil)
			server.AddTool(tool("ask", openSchema), func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				runs.Add(1)
				return &mcp.CallToolResult{InputRequests: requests}, nil
			})
			cs := inMemory(modern)(t, server, gatedClient(t, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.ClientOptions{}, elicit("accept")))
			_, err := call(t, cs, "ask", `{}`)
			require.Error(t, err)
			require.EqualValues(t, map[string]int{"asks for ever": 10, "always busy": 3}[name], runs.Load())
		})
	}
}

func TestAnApplicationMayAnswerItself(t *testing.T) {
	var mu sync.Mutex
	var seen, runs []string
	server := newServer(nil)
	server.AddTool(tool("send", openSchema), asking(&runs, &mu))
	co := &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}}
	g := adaptertest.NewGate(t, policy.Options{}, declining(&seen, &mu))
	cs := inMemory(modern)(t, server, gatedClient(t, g, gosdk.ClientOptions{ManualRoundTrips: true}, co))
	r, err := call(t, cs, "send", `{}`)
	require.NoError(t, err)
	require.True(t, r.NeedsInput())
	r, err = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "send", InputResponses: mcp.InputResponseMap{"confirm": &mcp.ElicitResult{Action: "decline"}}, RequestState: "s1"})
	require.NoError(t, err)
	require.Equal(t, policy.Denied, codeOf(t, r))
	require.Equal(t, []string{"first", "decline"}, seen)
	require.Equal(t, []string{"asked"}, runs)
}

func TestOneClientOfSeveralServers(t *testing.T) {
	var who atomic.Value
	g := adaptertest.NewGate(t, policy.Options{}, func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		who.Store(in.Tool().Server + " " + in.Caller().Subject)
		return nil, nil
	})
	names := map[*mcp.ClientSession]string{}
	var mu sync.Mutex
	client := gatedClient(t, g, gosdk.ClientOptions{ServerOf: func(cs *mcp.ClientSession) string {
		mu.Lock()
		defer mu.Unlock()
		return names[cs]
	}}, nil)
	for _, name := range []string{"one", "two"} {
		server := newServer(nil)
		server.AddTool(tool("only_"+name, openSchema), (&spy{}).handle)
		cs := inMemory(modern)(t, server, client)
		mu.Lock()
		names[cs] = name
		mu.Unlock()
		ctx := policy.WithCaller(context.Background(), policy.Caller{Subject: "agent"})
		r, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "only_" + name})
		require.NoError(t, err)
		require.False(t, r.IsError)
		require.Equal(t, name+" agent", who.Load())
		_, err = call(t, cs, map[string]string{"one": "only_two", "two": "only_one"}[name], `{}`)
		require.Error(t, err)
	}
}

// x-mcp-header: the SDK puts arguments into headers, from what is sent.
func TestArgumentsInHeadersStillFit(t *testing.T) {
	var s spy
	server := newServer(nil)
	server.AddTool(tool("read", `{"type":"object","properties":{"path":{"type":"string","x-mcp-header":"Path"}}}`), s.handle)
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}))
	cs := overHTTP(modern, &mcp.StreamableHTTPOptions{Stateless: true})(t, server, gatedClient(t, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.ClientOptions{}, nil))
	_, err := cs.ListTools(context.Background(), nil)
	require.NoError(t, err)
	r, err := call(t, cs, "read", `{"path":"/tmp/a"}`)
	require.NoError(t, err)
	require.False(t, r.IsError, "%v", r)
	require.Len(t, s.Take(), 1)
}

func TestSessionsAreForgotten(t *testing.T) {
	client := newClient(nil)
	count, err := gosdk.GateAndCount(client, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow))
	require.NoError(t, err)
	server := newServer(nil)
	server.AddTool(tool("read", openSchema), (&spy{}).handle)
	func() {
		near, far := mcp.NewInMemoryTransports()
		ss, err := server.Connect(context.Background(), far, nil)
		require.NoError(t, err)
		cs, err := client.Connect(context.Background(), near, nil)
		require.NoError(t, err)
		_, err = call(t, cs, "read", `{}`)
		require.NoError(t, err)
		require.Equal(t, 1, count())
		require.NoError(t, cs.Close())
		require.NoError(t, ss.Wait())
	}()
	require.Eventually(t, func() bool { runtime.GC(); return count() == 0 }, 5*time.Second, 10*time.Millisecond)
}
