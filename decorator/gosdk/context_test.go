package gosdk_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

// callers is a validator that keeps who called.
type callers struct {
	mu   sync.Mutex
	seen []policy.Caller
	info policy.CallInfo
}

func (c *callers) validate(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, in.Caller())
	c.info = in.Call()
	return nil, nil
}

func (c *callers) last() policy.Caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[len(c.seen)-1]
}

func verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	if token != "good" && token != "better" {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: "alice", Scopes: []string{token}, Extra: map[string]any{"org": "acme"}, Expiration: time.Now().Add(time.Hour)}, nil
}

func TestWhoCalls(t *testing.T) {
	fromHeader := func(_ context.Context, extra *mcp.RequestExtra) (policy.Caller, error) {
		tenant := extra.Header.Get("X-Tenant")
		if tenant == "" {
			return policy.Caller{}, errors.New("no tenant")
		}
		return policy.Caller{Subject: extra.TokenInfo.UserID, Tenant: tenant}, nil
	}
	tests := []struct {
		name    string
		o       gosdk.Options
		header  http.Header
		outside bool // middleware of the application puts a caller into the context
		want    policy.Caller
		code    policy.Code
	}{
		{name: "token", header: http.Header{"Authorization": {"Bearer good"}},
			want: policy.Caller{Subject: "alice", Scopes: []string{"good"}, Claims: map[string]any{"org": "acme"}}},
		{name: "token before context", header: http.Header{"Authorization": {"Bearer better"}}, outside: true,
			want: policy.Caller{Subject: "alice", Scopes: []string{"better"}, Claims: map[string]any{"org": "acme"}}},
		{name: "function", o: gosdk.Options{Caller: fromHeader}, header: http.Header{"Authorization": {"Bearer good"}, "X-Tenant": {"acme"}}, outside: true,
			want: policy.Caller{Subject: "alice", Tenant: "acme"}},
		{name: "function fails", o: gosdk.Options{Caller: fromHeader}, header: http.Header{"Authorization": {"Bearer good"}}, code: policy.Undecided},
		{name: "function panics", o: gosdk.Options{Caller: func(context.Context, *mcp.RequestExtra) (policy.Caller, error) { panic("boom") }},
			header: http.Header{"Authorization": {"Bearer good"}}, code: policy.Undecided},
	}
	for _, tt := range tests {
		for _, o := range []struct {
			version string
			o       *mcp.StreamableHTTPOptions
		}{{legacy, &mcp.StreamableHTTPOptions{}}, {modern, &mcp.StreamableHTTPOptions{Stateless: true}}} {
			t.Run(tt.name+", "+o.version, func(t *testing.T) {
				var s spy
				var who callers
				server := newServer(nil)
				server.AddTool(tool("read", openSchema), s.handle)
				require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, who.validate), tt.o))
				if tt.outside {
					server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
						return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
							return next(policy.WithCaller(ctx, policy.Caller{Subject: "mallory"}), method, req)
						}
					})
				}
				url := serveHTTP(t, server, o.o, auth.RequireBearerToken(verify, nil))
				r, err := call(t, dial(t, newClient(nil), url, o.version, tt.header), "read", `{}`)
				require.NoError(t, err)
				if tt.code != "" {
					require.Equal(t, tt.code, codeOf(t, r))
					require.Empty(t, s.Take())
					return
				}
				require.False(t, r.IsError)
				got := who.last()
				require.Equal(t, tt.want.Subject, got.Subject)
				require.Equal(t, tt.want.Tenant, got.Tenant)
				require.ElementsMatch(t, tt.want.Scopes, got.Scopes)
				require.Equal(t, len(tt.want.Claims), len(got.Claims))
				require.Equal(t, tt.want.Claims["org"], got.Claims["org"])
				require.Equal(t, "http", who.info.Transport)
				require.Equal(t, o.version == legacy, who.info.Session != "")
			})
		}
	}
}

// In a session, each request's token counts, and not that of the request that opened it.
func TestTheTokenOfEachRequestCounts(t *testing.T) {
	var who callers
	server := newServer(nil)
	server.AddTool(tool("read", openSchema), (&spy{}).handle)
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, who.validate), gosdk.Options{}))
	url := serveHTTP(t, server, &mcp.StreamableHTTPOptions{}, auth.RequireBearerToken(verify, nil))
	header := http.Header{"Authorization": {"Bearer good"}}
	var mu sync.Mutex
	hc := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		r.Header.Set("Authorization", header.Get("Authorization"))
		return http.DefaultTransport.RoundTrip(r)
	})}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	cs, err := newClient(nil).Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: hc, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: legacy})
	require.NoError(t, err)
	defer cs.Close()
	for _, token := range []string{"good", "better"} {
		mu.Lock()
		header.Set("Authorization", "Bearer "+token)
		mu.Unlock()
		_, err := call(t, cs, "read", `{}`)
		require.NoError(t, err)
		require.Equal(t, []string{token}, who.last().Scopes)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTheApplicationsCallerIsUsedWhereTheSDKKnowsNone(t *testing.T) {
	var who callers
	server := newServer(nil)
	server.AddTool(tool("read", openSchema), (&spy{}).handle)
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, who.validate), gosdk.Options{}))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(policy.WithCaller(ctx, policy.Caller{Subject: "bob"}), method, req)
		}
	})
	_, err := call(t, inMemory(modern)(t, server, newClient(nil)), "read", `{}`)
	require.NoError(t, err)
	require.Equal(t, "bob", who.last().Subject)
	require.Empty(t, who.info.Transport)
}

func TestACallWhoseContextHasEndedIsRefused(t *testing.T) {
	var s spy
	h, err := gosdk.Handler(adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), tool("read", openSchema), s.handle, gosdk.Options{})
	require.NoError(t, err)
	server := newServer(nil)
	server.AddTool(tool("read", openSchema), s.handle)
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}))
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" && string(req.GetParams().(*mcp.CallToolParamsRaw).Arguments) == `{"late":true}` {
				ended, cancel := context.WithCancel(ctx)
				cancel()
				ctx = ended
			}
			return next(ctx, method, req)
		}
	})
	cs := inMemory(legacy)(t, server, newClient(nil))
	r, err := call(t, cs, "read", `{"late":true}`)
	require.NoError(t, err)
	require.Equal(t, policy.Undecided, codeOf(t, r))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err = h(ctx, request("read", `{}`))
	require.NoError(t, err)
	require.Equal(t, policy.Undecided, codeOf(t, r))
	require.Empty(t, s.Take())
	r, err = call(t, cs, "read", `{"late":false}`)
	require.NoError(t, err)
	require.False(t, r.IsError)
}

// A broken decider has allowed nothing.
type panicking struct{ decorator.Decider }

func (panicking) Decide(context.Context, policy.Call) policy.Decision { panic("boom") }

func TestADeciderThatPanicsRefuses(t *testing.T) {
	var s spy
	server := newServer(nil)
	server.AddTool(tool("read", openSchema), s.handle)
	require.NoError(t, gosdk.GateServer(server, panicking{adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)}, gosdk.Options{}))
	r, err := call(t, inMemory(legacy)(t, server, newClient(nil)), "read", `{}`)
	require.NoError(t, err)
	require.Equal(t, policy.Undecided, codeOf(t, r))
	require.Empty(t, s.Take())
}

func TestNobodyToAsk(t *testing.T) {
	server, client := newServer(nil), newClient(nil)
	var none *policy.Gate
	for _, d := range []decorator.Decider{nil, none} {
		require.ErrorContains(t, gosdk.GateServer(server, d, gosdk.Options{}), "decider is nil")
		require.ErrorContains(t, gosdk.GateClient(client, d, gosdk.ClientOptions{}), "decider is nil")
		_, err := gosdk.Handler(d, tool("read", openSchema), (&spy{}).handle, gosdk.Options{})
		require.ErrorContains(t, err, "decider is nil")
	}
	require.ErrorContains(t, gosdk.GateServer(nil, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}), "server is nil")
	require.ErrorContains(t, gosdk.GateClient(nil, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.ClientOptions{}), "client is nil")

	var s spy
	server.AddTool(tool("read", openSchema), s.handle)
	server.AddReceivingMiddleware(gosdk.Middleware(nil, gosdk.Options{}))
	r, err := call(t, inMemory(legacy)(t, server, client), "read", `{}`)
	require.NoError(t, err)
	require.Equal(t, policy.NotReady, codeOf(t, r))
	require.Empty(t, s.Take())
}

func TestWithNoRulesNothingChanges(t *testing.T) {
	var s spy
	var lists atomic.Int64
	server := newServer(nil)
	server.AddTool(tool("read", brokenSchema), s.handle)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				lists.Add(1)
			}
			return next(ctx, method, req)
		}
	})
	g := policy.NewNoopGate()
	require.NoError(t, gosdk.GateServer(server, g, gosdk.Options{}))
	client := newClient(nil)
	require.NoError(t, gosdk.GateClient(client, g, gosdk.ClientOptions{}))
	h, err := gosdk.Handler(g, tool("two", brokenSchema), s.handle, gosdk.Options{})
	require.NoError(t, err)
	server.AddTool(tool("two", brokenSchema), h)
	cs := inMemory(legacy)(t, server, client)
	for _, name := range []string{"read", "two"} {
		r, err := call(t, cs, name, `{"a":1,"a":2}`)
		require.NoError(t, err)
		require.False(t, r.IsError)
		require.Equal(t, []string{`{"a":1,"a":2}`}, s.Take())
	}
	require.Zero(t, lists.Load())
}

func TestShadowModeForwards(t *testing.T) {
	var s spy
	server := newServer(nil)
	server.AddTool(tool("read", pathSchema), s.handle)
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{Mode: policy.Shadow}, adaptertest.DenyShadow), gosdk.Options{}))
	cs := inMemory(legacy)(t, server, newClient(nil))
	for arguments, forwarded := range map[string]bool{`{"path":"/etc/shadow"}`: true, `{}`: true, `{"path":"a","n":9007199254740993}`: true, `{"path":"a","path":"b"}`: false} {
		r, err := call(t, cs, "read", arguments)
		require.NoError(t, err)
		require.Equal(t, forwarded, !r.IsError, arguments)
		require.Len(t, s.Take(), map[bool]int{true: 1, false: 0}[forwarded], arguments)
	}
}

func TestConcurrentCallsAreDecidedEachByItself(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			var ran atomic.Int64
			server := newServer(nil)
			server.AddTool(tool("read", pathSchema), func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				ran.Add(1)
				return text(string(req.Params.Arguments)), nil
			})
			g := adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
			require.NoError(t, gosdk.GateServer(server, g, gosdk.Options{}))
			client := newClient(nil)
			require.NoError(t, gosdk.GateClient(client, g, gosdk.ClientOptions{}))
			cs := l.connect(t, server, client)
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					path := []string{"/tmp/a", "/etc/shadow"}[i%2]
					if i%10 == 0 {
						server.AddTool(tool("other", openSchema), (&spy{}).handle) // changes the list meanwhile
					}
					r, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "read", Arguments: map[string]any{"path": path}})
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
