package httpproxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

// An unhurried reader says its text slowly, or not to the end.
type unhurried struct {
	text string
	ctx  context.Context
}

func (u *unhurried) Read(b []byte) (int, error) {
	if u.text == "" {
		<-u.ctx.Done()
		return 0, u.ctx.Err()
	}
	n := copy(b, u.text)
	u.text = u.text[n:]
	return n, nil
}

// Whatever is no message of the protocol is told so with the right HTTP status, as a
// JSON-RPC error, and the server hears nothing of it.
func TestRequestsThatAreRefused(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":"q","method":"ping"}`
	post := func(body string, headers ...string) request { return request{body: body, headers: headers} }
	b := &backend{list: always(tools("", "x"))}
	endpoint := newBackend(t, b, httpproxy.Options{
		MessageBytes: 4 << 10, PendingBytes: 64 << 10, AllowedOrigins: []string{"https://app.example"},
		Methods: []httpproxy.MethodRule{{Name: "prompts/list", Action: "refuse"}},
	})
	for name, c := range map[string]struct {
		q    request
		path string
		want string // HTTP status and JSON-RPC code
	}{
		"plain text":              {q: post(ping, "Content-Type", "text/plain"), want: "415 -32600"},
		"no media type":           {q: post(ping, "Content-Type", ""), want: "415 -32600"},
		"two media types":         {q: post(ping, "Content-Type", jsonType, "Content-Type", jsonType), want: "415 -32600"},
		"charset utf-16":          {q: post(ping, "Content-Type", jsonType+"; charset=utf-16"), want: "415 -32600"},
		"charset utf-7":           {q: post(ping, "Content-Type", jsonType+`; charset="utf-7"`), want: "415 -32600"},
		"gzip":                    {q: post(ping, "Content-Encoding", "gzip"), want: "415 -32600"},
		"identity":                {q: post(ping, "Content-Encoding", "identity"), want: "415 -32600"},
		"nothing":                 {q: post(" "), want: "400 -32700"},
		"no JSON":                 {q: post("{"), want: "400 -32700"},
		"two messages":            {q: post(ping + ping), want: "400 -32700"},
		"byte order mark":         {q: post("\ufeff" + ping), want: "400 -32700"},
		"batch":                   {q: post("[" + ping + "]"), want: "400 -32600"},
		"a folded name":           {q: post(`{"jsonrpc":"2.0","id":"q","method":"ping","Method":"tools/call"}`), want: "400 -32600"},
		"method and result":       {q: post(`{"jsonrpc":"2.0","id":"q","method":"ping","result":{}}`), want: "400 -32600"},
		"a call without an id":    {q: post(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}`), want: "400 -32601"},
		"an unknown method":       {q: post(`{"jsonrpc":"2.0","id":"q","method":"x/y"}`), want: "200 -32601"},
		"an unknown modern one":   {q: post(`{"jsonrpc":"2.0","id":"q","method":"x/y","params":{`+modernMeta+`}}`, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "x/y"), want: "404 -32601"},
		"a method that's refused": {q: post(`{"jsonrpc":"2.0","id":"q","method":"prompts/list"}`), want: "200 -32601"},
		"too long":                {q: post(`{"jsonrpc":"2.0","id":"q","method":"ping","params":{"x":"` + strings.Repeat("x", 4<<10) + `"}}`), want: "413 -32600"},
		"a PUT":                   {q: request{method: "PUT", body: ping}, want: "405 -32600"},
		"a HEAD's cousin":         {q: request{method: "OPTIONS"}, want: "405 -32600"},
		"another path":            {q: post(ping), path: "/", want: "404 -32600"},
		"an escaped path":         {q: post(ping), path: "/%6dcp", want: "404 -32600"},
		"a query":                 {q: post(ping), path: "/mcp?x=1", want: "400 -32600"},
		"a GET with a body":       {q: request{method: "GET", body: ping}, want: "400 -32600"},
		"another Host":            {q: post(ping, "Host", "evil.example"), want: "403 -32600"},
		"another Origin":          {q: post(ping, "Origin", "http://localhost"), want: "403 -32600"},
		"no Origin":               {q: post(ping, "Origin", "null"), want: "403 -32600"},
		"a GET of another Origin": {q: request{method: "GET", headers: []string{"Origin", "https://app.example:444"}}, want: "403 -32600"},
		"two sessions":            {q: request{method: "DELETE", headers: []string{"Mcp-Session-Id", "a", "Mcp-Session-Id", "b"}}, want: "400 -32600"},
		"Upgrade":                 {q: post(ping, "Upgrade", "websocket"), want: "400 -32600"},
		"a session with a _":      {q: request{method: "GET", headers: []string{"Mcp_Session_Id", "a"}}, want: "400 -32600"},
		// Headers that don't say what the body says.
		"Mcp-Method":           {q: post(ping, "Mcp-Method", "tools/call"), want: "400 -32020"},
		"Mcp-Method twice":     {q: post(ping, "Mcp-Method", "ping", "Mcp-Method", "tools/call"), want: "400 -32020"},
		"Mcp-Name":             {q: inSession("x", "s", "Mcp-Name", "y"), want: "400 -32020"},
		"Mcp-Name, modern":     {q: request{body: modern("x").body, headers: modern("y").headers}, want: "400 -32020"},
		"no Mcp-Name":          {q: request{body: modern("x").body, headers: modern("x").headers[:4]}, want: "400 -32020"},
		"no Mcp-Method":        {q: request{body: modern("x").body, headers: modern("x").headers[:2]}, want: "400 -32020"},
		"no version":           {q: request{body: modern("x").body, headers: modern("x").headers[2:]}, want: "400 -32020"},
		"another version":      {q: request{body: modern("x").body, headers: append([]string{"Mcp-Protocol-Version", "2025-11-25"}, modern("x").headers[2:]...)}, want: "400 -32020"},
		"a version, no _meta":  {q: request{body: inSession("x", "").body, headers: modern("x").headers}, want: "400 -32020"},
		"a name that's a URI":  {q: post(`{"jsonrpc":"2.0","id":"q","method":"resources/read","params":{"uri":"file:///a"}}`, "Mcp-Name", "file:///b"), want: "400 -32020"},
		"a name of a response": {q: post(`{"jsonrpc":"2.0","id":"q","result":{}}`, "Mcp-Name", "x"), want: "400 -32020"},
	} {
		t.Run(name, func(t *testing.T) {
			at := endpoint
			if c.path != "" {
				at = strings.TrimSuffix(endpoint, "/mcp") + c.path
			}
			require.Equal(t, c.want, c.q.outcome(t, at))
			for _, a := range b.take() {
				require.Equal(t, "tools/list", a.method, "it reached the server")
			}
		})
	}
	res, _ := request{method: "HEAD"}.do(t, endpoint)
	require.Equal(t, 405, res.StatusCode)
	require.Equal(t, "POST, GET, DELETE", res.Header.Get("Allow"))
	res, _ = request{body: ping, headers: []string{"Origin", "https://app.example"}}.do(t, endpoint)
	require.Equal(t, 200, res.StatusCode)
}

// A body of no known length is too long as soon as it is, one that doesn't come is waited
// for no longer than it may take, and all bodies together are bounded.
func TestBodiesAreBounded(t *testing.T) {
	b := &backend{list: always(tools("", "x"))}
	o := httpproxy.Options{MessageBytes: 100 << 10, PendingBytes: 200 << 10, BodyTimeout: within}
	endpoint := newBackend(t, b, o)
	o.BodyTimeout = time.Second
	impatient := newBackend(t, b, o)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	send := func(endpoint string, body io.Reader) (int, http.Header) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, body)
		require.NoError(t, err)
		r.Header.Set("Content-Type", jsonType)
		transport := &http.Transport{DisableKeepAlives: true}
		res, err := transport.RoundTrip(r)
		if err != nil {
			return 0, nil // who waits is ended in the end
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return res.StatusCode, res.Header
	}
	blank := func() io.Reader { return strings.NewReader(strings.Repeat(" ", 90<<10)) }
	status, _ := send(impatient, io.MultiReader(strings.NewReader(strings.Repeat(" ", 101<<10)), &unhurried{ctx: ctx}))
	require.Equal(t, 413, status)
	status, _ = send(impatient, &unhurried{`{"jsonrpc":`, ctx})
	require.Equal(t, 408, status)
	// Two that wait hold more than half each; a third finds no room.
	var waiting sync.WaitGroup
	for range 2 {
		waiting.Go(func() {
			for ctx.Err() == nil { // one that finds no room itself comes back
				send(endpoint, &unhurried{strings.Repeat(" ", 90<<10), ctx})
			}
		})
	}
	require.Eventually(t, func() bool {
		status, header := send(endpoint, blank())
		return status == 503 && header.Get("Retry-After") != ""
	}, within, time.Millisecond)
	end()
	waiting.Wait()
	ctx = t.Context() // nobody else uses it any more
	require.Eventually(t, func() bool {
		status, _ := send(endpoint, blank())
		return status == 400
	}, within, time.Millisecond, "what they held is given back")
	require.Empty(t, b.take())
}

// What goes on is what came, byte for byte, and so is the answer; headers that are about
// this hop or that could make another request of it stay.
func TestWhatGoesOn(t *testing.T) {
	const odd = "{ \"params\" : {\"arguments\":{\"n\":12345678901234567890.10, \"\\u0061\":\"\\u2028\"},\n \"name\":\"x\"},\t\"method\":\"tools\\/call\",\"id\":1.50,\"jsonrpc\":\"2.0\" }"
	const answer = "{\"id\":1.5, \"result\":{\"content\":[], \"n\":1e2},\"jsonrpc\":\"2.0\"}\n"
	b := &backend{list: always(tools("", "x"))}
	b.other = func(w http.ResponseWriter, _ *http.Request, a asked) bool {
		if a.tool == "x" {
			w.Header().Set("Content-Type", jsonType+"; charset=utf-8")
			w.Header().Set("Alt-Svc", `h3=":443"`)
			w.Header().Set("X-Server", "1")
			_, _ = io.WriteString(w, answer)
		}
		return a.tool == "x"
	}
	endpoint := newBackend(t, b, httpproxy.Options{})
	res, body := request{body: odd, headers: []string{
		"Mcp-Session-Id", "s", "Mcp-Param-Other", "kept", "X-Other", "kept", "User-Agent", "kept",
		"Authorization", "Bearer x", "X-Http-Method-Override", "DELETE", "X-Original-Url", "/admin", "Te", "trailers", "Origin", "http://localhost",
		"X-Forwarded-For", "10.0.0.1", "X-Forwarded-Prefix", "/admin", "X_HTTP_Method_Override", "DELETE", "X-Original-Method", "DELETE", "Proxy", "http://evil.example", "Accept-Encoding", "gzip",
	}}.do(t, endpoint)
	require.Equal(t, answer, body)
	require.Equal(t, "1", res.Header.Get("X-Server"))
	require.Empty(t, res.Header.Get("Alt-Svc"))
	got := b.take()
	call := got[len(got)-1]
	require.Equal(t, odd, call.body)
	for _, name := range []string{"Mcp-Param-Other", "X-Other", "User-Agent"} {
		require.Equal(t, "kept", call.header.Get(name))
	}
	for _, name := range []string{"Authorization", "X-Http-Method-Override", "X-Original-Url", "Te", "Origin", "X-Forwarded-For", "X-Forwarded-Prefix", "X_http_method_override", "X-Original-Method", "Proxy", "Transfer-Encoding", "Trailer"} {
		require.Empty(t, call.header.Values(name), name)
	}
	require.Equal(t, "identity", call.header.Get("Accept-Encoding"))
	// A stateless request has no session, and nobody is to think otherwise.
	modern("x", "Mcp-Session-Id", "s").do(t, endpoint)
	stateless := b.take()
	require.NotEmpty(t, stateless)
	for _, a := range stateless {
		require.Empty(t, a.header.Values("Mcp-Session-Id"))
	}
}

// A retry with what the client was asked for is a call like the first: it is decided anew,
// on its own arguments and on the answers that it carries.
func TestRetriesAreDecidedAnew(t *testing.T) {
	var decided []string
	gate := adaptertest.NewGate(t, policy.Options{}, func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		raw, err := json.Marshal([]any{in.Arguments().Object(), in.Call().Responses})
		if err != nil {
			return nil, err
		}
		decided = append(decided, string(raw))
		if strings.Contains(string(raw), "/etc/shadow") || strings.Contains(string(raw), "decline") {
			return []policy.Refusal{{Message: "no"}}, nil
		}
		return nil, nil
	})
	b := &backend{list: always(tools("", "x"))}
	endpoint := newBackend(t, b, httpproxy.Options{Gate: gate})
	retry := func(arguments, more string) request {
		q := modern("x")
		q.body = `{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"x","arguments":` + arguments + more + `,` + modernMeta + `}}`
		return q
	}
	const accept = `,"requestState":"abc","inputResponses":{"sure":{"action":"accept"}}`
	require.Equal(t, "ran", retry(`{"path":"/a"}`, "").outcome(t, endpoint))
	require.Equal(t, "ran", retry(`{"path":"/a"}`, accept).outcome(t, endpoint))
	require.Equal(t, "denied", retry(`{"path":"/etc/shadow"}`, accept).outcome(t, endpoint), "other arguments than were decided first")
	require.Equal(t, "denied", retry(`{"path":"/a"}`, `,"requestState":"abc","inputResponses":{"sure":{"action":"decline"}}`).outcome(t, endpoint))
	require.Equal(t, "malformed", retry(`{"path":"/a"}`, `,"inputResponses":{"sure":{"action":"decline"},"sure":{"action":"accept"}}`).outcome(t, endpoint))
	require.Equal(t, "malformed", retry(`{"path":"/a"}`, `,"inputResponses":["accept"]`).outcome(t, endpoint))
	require.Equal(t, []string{
		`[{"path":"/a"},{}]`, `[{"path":"/a"},{"sure":{"action":"accept"}}]`,
		`[{"path":"/etc/shadow"},{"sure":{"action":"accept"}}]`, `[{"path":"/a"},{"sure":{"action":"decline"}}]`,
	}, decided)
	var ran []string
	for _, a := range b.take() {
		if a.tool != "" {
			ran = append(ran, a.body)
		}
	}
	require.Len(t, ran, 2)
	require.Contains(t, ran[1], accept)
}

type unauthorized struct{ status int }

func (unauthorized) Error() string     { return "the token of ann has expired" }
func (u unauthorized) StatusCode() int { return u.status }
func (unauthorized) Challenge() string { return `Bearer error="invalid_token"` }

// A request whose caller can't be told goes no further, and the client is told no more
// than what it has to do.
func TestCallersThatCannotBeTold(t *testing.T) {
	for name, c := range map[string]struct {
		fail            func() error
		want, challenge string
	}{
		"an error":            {func() error { return errors.New("the token of ann has expired") }, "401 -32600", "Bearer"},
		"one with a status":   {func() error { return unauthorized{403} }, "403 -32600", `Bearer error="invalid_token"`},
		"one with a good one": {func() error { return unauthorized{200} }, "401 -32600", `Bearer error="invalid_token"`},
		"a panic":             {func() error { panic("ann") }, "500 -32600", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := &backend{list: always(tools("", "x"))}
			endpoint := newBackend(t, b, httpproxy.Options{Caller: func(*http.Request) (policy.Caller, error) { return policy.Caller{Subject: "root"}, c.fail() }})
			for _, q := range []request{inSession("x", "s"), {method: "GET"}, {method: "DELETE"}} {
				require.Equal(t, c.want, q.outcome(t, endpoint))
				res, body := q.do(t, endpoint)
				require.Equal(t, c.challenge, res.Header.Get("Www-Authenticate"))
				require.NotContains(t, body, "ann")
			}
			require.Empty(t, b.take())
		})
	}
}

// Options that can't work are errors that name them.
func TestOptions(t *testing.T) {
	good := func() httpproxy.Options {
		return httpproxy.Options{Gate: adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), Transport: direct{&backend{}}}
	}
	for want, change := range map[string]func(o *httpproxy.Options){
		"Gate: ":                  func(o *httpproxy.Options) { o.Gate = nil },
		"Upstream is missing":     func(o *httpproxy.Options) { o.Transport = nil },
		`scheme "ftp"`:            func(o *httpproxy.Options) { o.Upstream = mustURL("ftp://host/") },
		"not the URL":             func(o *httpproxy.Options) { o.Upstream = mustURL("http:host") },
		"Path":                    func(o *httpproxy.Options) { o.Path = "mcp" },
		"MessageBytes is neg":     func(o *httpproxy.Options) { o.MessageBytes = -1 },
		"Hold.Timeout is neg":     func(o *httpproxy.Options) { o.Hold.Timeout = -1 },
		"httpproxy: methods":      func(o *httpproxy.Options) { o.Methods = []httpproxy.MethodRule{{Name: "x", Action: "maybe"}} },
		"httpproxy: methods[0]: ": func(o *httpproxy.Options) { o.Methods = []httpproxy.MethodRule{{Name: "tools/call", Action: "pass"}} },
	} {
		o := good()
		change(&o)
		_, err := httpproxy.New(o)
		require.ErrorContains(t, err, want)
	}
	p, err := httpproxy.New(good())
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "twice")
}
