package httpproxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

// byHeader has a tool for each value of a header: "for-" and the value.
func byHeader(name, beside string) func(asked) string {
	return func(a asked) string { return tools(beside, "common", "for-"+a.header.Get(name)) }
}

// What one caller may see is nothing that another's call is decided on: whatever header it
// is that tells the server who asks, in either era.
func TestListsAreKeptApart(t *testing.T) {
	const private = `,"ttlMs":600000,"cacheScope":"private"`
	for era, call := range map[string]func(tool string, headers ...string) request{
		"stateless": modern,
		"session":   func(tool string, headers ...string) request { return inSession(tool, "s1", headers...) },
		"neither": func(tool string, headers ...string) request {
			return inSession(tool, "", headers...)
		},
	} {
		for _, header := range []string{"Authorization", "Cookie", "X-User", "X-Forwarded-User", "X-Forwarded-Email", "X-Api-Key", "X-Auth-Request-Groups", "X-Forwarded-Access-Token"} {
			t.Run(era+", "+header, func(t *testing.T) {
				b := &backend{list: byHeader(header, private)}
				endpoint := newBackend(t, b, httpproxy.Options{ForwardAuthorization: true})
				require.Equal(t, "ran", call("for-ann", header, "ann").outcome(t, endpoint))
				require.Equal(t, []string{"tools/list", "for-ann"}, methods(b.take()))
				require.Equal(t, "200 -32602 unknown_tool", call("for-ann", header, "bob").outcome(t, endpoint))
				require.Equal(t, "ran", call("for-bob", header, "bob").outcome(t, endpoint))
				require.Equal(t, "200 -32602 unknown_tool", call("for-ann").outcome(t, endpoint))
				for _, a := range b.take() {
					require.NotEqual(t, "for-ann", a.tool)
				}
				require.Equal(t, "ran", call("for-ann", header, "ann").outcome(t, endpoint))
				require.Equal(t, []string{"for-ann"}, methods(b.take()), "the list is kept")
			})
		}
		t.Run(era+", not who asks", func(t *testing.T) {
			b := &backend{list: byHeader("X-User", private)}
			endpoint := newBackend(t, b, httpproxy.Options{})
			for i, header := range []string{"User-Agent", "Traceparent", "X-Forwarded-For", "X-Request-Id", "Accept-Language"} {
				require.Equal(t, "ran", call("common", header, fmt.Sprint(i)).outcome(t, endpoint))
			}
			require.Equal(t, 1, strings.Count(strings.Join(methods(b.take()), " "), "tools/list"))
		})
	}
}

// A client's token tells callers apart though the server never sees it.
func TestTokensThatStayHereKeepListsApart(t *testing.T) {
	b := &backend{list: always(tools(`,"cacheScope":"private","ttlMs":600000`, "common"))}
	endpoint := newBackend(t, b, httpproxy.Options{})
	for _, who := range []string{"ann", "bob", "ann", "bob"} {
		require.Equal(t, "ran", modern("common", "Authorization", "Bearer "+who).outcome(t, endpoint))
	}
	got := b.take()
	require.Equal(t, []string{"tools/list", "common", "tools/list", "common", "common", "common"}, methods(got))
	for _, a := range got {
		require.Empty(t, a.header.Values("Authorization"))
	}
}

// Only what the server calls public on every page is everybody's.
func TestPublicLists(t *testing.T) {
	const public, ttl = `,"cacheScope":"public"`, `,"ttlMs":600000`
	for name, c := range map[string]struct {
		list func(asked) string
		want int // lists that are asked for by two callers
	}{
		"public":          {always(tools(public+ttl, "common")), 1},
		"private":         {always(tools(`,"cacheScope":"private"`+ttl, "common")), 2},
		"nothing said":    {always(tools(ttl, "common")), 2},
		"another word":    {always(tools(`,"cacheScope":"PUBLIC"`+ttl, "common")), 2},
		"another name":    {always(tools(`,"CacheScope":"public"`+ttl, "common")), 2},
		"of another kind": {always(tools(`,"cacheScope":["public"]`+ttl, "common")), 2},
		"a private page": {func(a asked) string {
			if a.cursor == "" {
				return tools(public+ttl+`,"nextCursor":"2"`, "common")
			}
			return tools(`,"cacheScope":"private"`+ttl, "other")
		}, 4},
		"pages": {func(a asked) string {
			if a.cursor == "" {
				return tools(public+ttl+`,"nextCursor":"2"`, "common")
			}
			return tools(public+ttl, "other")
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := &backend{list: c.list}
			endpoint := newBackend(t, b, httpproxy.Options{})
			require.Equal(t, "ran", modern("common", "Authorization", "Bearer ann").outcome(t, endpoint))
			require.Equal(t, "ran", modern("common", "Authorization", "Bearer bob").outcome(t, endpoint))
			// What the second caller's own list is asked for in the background ends some time.
			lists := 0
			for _, a := range b.take() {
				if a.method == "tools/list" {
					lists++
				}
			}
			require.LessOrEqual(t, c.want-1, lists)
			if c.want > 1 && name != "pages" {
				require.Equal(t, c.want, lists)
			}
		})
	}
	t.Run("of sessions, never", func(t *testing.T) {
		b := &backend{list: func(a asked) string { return tools(public+ttl, "for-"+a.header.Get("Mcp-Session-Id")) }}
		endpoint := newBackend(t, b, httpproxy.Options{})
		require.Equal(t, "ran", inSession("for-a", "a").outcome(t, endpoint))
		require.Equal(t, "200 -32602 unknown_tool", inSession("for-a", "b").outcome(t, endpoint))
	})
}

// A tool that came without a word is asked for, a list of many pages is read to its end,
// and what a tool is not called by is never repeated.
func TestUnknownTools(t *testing.T) {
	for era, call := range map[string]func(string) request{
		"session":   func(tool string) request { return inSession(tool, "s") },
		"stateless": func(tool string) request { return modern(tool) },
	} {
		t.Run(era, func(t *testing.T) {
			b := &backend{list: always(tools("", "old"))}
			endpoint := newBackend(t, b, httpproxy.Options{})
			require.Equal(t, "ran", call("old").outcome(t, endpoint))
			require.Equal(t, "200 -32602 unknown_tool", call("new").outcome(t, endpoint))
			b.set(func(a asked) string {
				if n := len(a.cursor); n < 3 {
					return tools(`,"nextCursor":"`+strings.Repeat("x", n+1)+`"`, fmt.Sprint("page", n))
				}
				return tools("", "new")
			})
			require.Equal(t, "ran", call("new").outcome(t, endpoint))
			require.Equal(t, "200 -32602 unknown_tool", call("old").outcome(t, endpoint), "it is gone, and nobody has said so")
			b.take()
			_, body := call("zq-made-up").do(t, endpoint)
			require.NotContains(t, body, "zq-made-up")
			for _, a := range b.take() {
				require.Equal(t, "tools/list", a.method)
			}
		})
	}
}

// After a list_changed nothing is decided on the list from before: what the server said
// reaches the client later than the gate.
func TestListChanged(t *testing.T) {
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	for name, say := range map[string]func(w http.ResponseWriter, a asked){
		"in the stream of a call": func(w http.ResponseWriter, a asked) {
			w.Header().Set("Content-Type", streamType)
			fmt.Fprintf(w, "data: %s\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"ran\"}]}}\n\n", changed)
		},
		"beside a JSON answer": func(w http.ResponseWriter, a asked) {
			w.Header().Set("Content-Type", jsonType)
			fmt.Fprintf(w, `[%s,{"jsonrpc":"2.0","id":"q","result":{"resultType":"complete","content":[{"type":"text","text":"ran"}]}}]`, changed)
		},
	} {
		for era, call := range map[string]func(string) request{
			"session":   func(tool string) request { return inSession(tool, "s") },
			"stateless": func(tool string) request { return modern(tool) },
		} {
			t.Run(name+", "+era, func(t *testing.T) {
				b := &backend{list: always(tools(`,"ttlMs":600000`, "grow", "old"))}
				b.other = func(w http.ResponseWriter, _ *http.Request, a asked) bool {
					if a.tool != "grow" {
						return false
					}
					b.set(always(`{"resultType":"complete","tools":[{"name":"old","inputSchema":{"type":"object","required":["x"]}},{"name":"new","inputSchema":{"type":"object"}}]}`))
					say(w, a)
					return true
				}
				endpoint := newBackend(t, b, httpproxy.Options{})
				require.Equal(t, "ran", call("old").outcome(t, endpoint))
				require.Equal(t, "ran", call("grow").outcome(t, endpoint))
				require.Equal(t, "schema_violation", call("old").outcome(t, endpoint), "decided by the new schema")
				require.Equal(t, "ran", call("new").outcome(t, endpoint))
				require.Equal(t, "200 -32602 unknown_tool", call("grow").outcome(t, endpoint))
			})
		}
	}
}

// Lists expire: after what the server says, but not at once, and after a minute where
// nobody says anything and nothing would tell.
func TestListsExpire(t *testing.T) {
	for name, c := range map[string]struct {
		call   request
		beside string
		still  time.Duration
		gone   time.Duration
	}{
		"as the server says":    {modern("common"), `,"ttlMs":600000`, 10*time.Minute - time.Second, 10*time.Minute + time.Second},
		"at once, it says":      {modern("common"), `,"ttlMs":0`, 9 * time.Second, 11 * time.Second},
		"it says nothing":       {modern("common"), "", 9 * time.Second, 11 * time.Second},
		"nobody says anything":  {inSession("common", ""), "", 59 * time.Second, 61 * time.Second},
		"sessions that idle":    {inSession("common", "s"), "", 59 * time.Minute, 0},
		"for ever, in sessions": {inSession("common", "s"), `,"ttlMs":1`, 50 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{list: always(tools(c.beside, "common"))}
				p, err := httpproxy.New(httpproxy.Options{Gate: adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), Transport: direct{b}})
				require.NoError(t, err)
				defer func() { require.NoError(t, p.Close()) }()
				call := func() []string {
					w := httptest.NewRecorder()
					p.ServeHTTP(w, c.call.on(t, "http://localhost/mcp"))
					require.Contains(t, w.Body.String(), `"text":"ran"`)
					synctest.Wait()
					return methods(b.take())
				}
				require.Equal(t, []string{"tools/list", "common"}, call())
				time.Sleep(c.still)
				require.Equal(t, []string{"common"}, call())
				if c.gone > 0 {
					time.Sleep(c.gone - c.still)
					require.Equal(t, []string{"tools/list", "common"}, call())
				}
			})
		})
	}
}

// direct is a transport to a handler, without a network.
type direct struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	res := w.Result()
	res.Request = r
	return res, nil
}

// What the server answers to the gate's own question is for the client where it tells it
// to do something, and a refusal otherwise.
func TestToolsThatCannotBeLearned(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		call   request
		want   string
	}{
		"the session is gone": {404, inSession("x", "s"), "404 -32600"},
		"unauthorized":        {401, modern("x"), "401 -32600"},
		"forbidden":           {403, modern("x"), "403 -32600"},
		"no session is gone":  {404, modern("x"), "not_ready"},
		"a failure":           {500, modern("x"), "not_ready"},
		"a redirect":          {302, modern("x"), "not_ready"},
		"a refusal":           {400, inSession("x", "s"), "not_ready"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &backend{list: always(tools("", "x"))}
			endpoint := newBackend(t, b, httpproxy.Options{ModifyResponse: func(*http.Response) error { return nil }})
			refuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Www-Authenticate", "Bearer scope=x")
				w.WriteHeader(c.status)
			}))
			t.Cleanup(refuse.Close)
			require.Equal(t, c.want, c.call.outcome(t, newFront(t, refuse.URL, httpproxy.Options{})))
			require.Equal(t, "ran", c.call.outcome(t, endpoint), "it isn't for the call itself")
		})
	}
}

// Tools that many callers ask about at once are asked for once, and calls that wait are
// bounded.
func TestManyWait(t *testing.T) {
	release := make(chan struct{})
	b := &backend{list: func(asked) string {
		<-release
		return tools("", "x")
	}}
	endpoint := newBackend(t, b, httpproxy.Options{Hold: httpproxy.Hold{Calls: 4, Timeout: 20 * time.Second}})
	outcomes := make(chan string, 10)
	for range 10 {
		go func() { outcomes <- modern("x").outcome(t, endpoint) }()
	}
	var got []string
	for range 6 {
		got = append(got, <-outcomes)
	}
	require.Equal(t, slices.Repeat([]string{"not_ready"}, 6), got, "four wait, and no more")
	close(release)
	for range 4 {
		require.Equal(t, "ran", <-outcomes)
	}
	require.Equal(t, 1, strings.Count(strings.Join(methods(b.take()), " "), "tools/list"))
}
