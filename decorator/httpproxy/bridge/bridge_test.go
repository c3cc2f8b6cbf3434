package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func newBridge(t *testing.T, kind string, change func(*Options)) *Bridge {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	o := Options{Command: []string{self}, Env: append(os.Environ(), serverEnv+"="+kind), Grace: 5 * time.Second}
	if change != nil {
		change(&o)
	}
	b, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, b.Close())
		require.Zero(t, b.Processes())
	})
	return b
}

// An answer is a response that was read to its end.
type answer struct {
	status   int
	header   http.Header
	stream   bool
	messages []string
}

func request(ctx context.Context, method, session, body string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, "http://gate.example/mcp", strings.NewReader(body))
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	if session != "" {
		r.Header.Set(sessionHeader, session)
	}
	return r
}

func do(t *testing.T, b *Bridge, r *http.Request) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	resp, err := b.RoundTrip(r.WithContext(ctx))
	require.NoError(t, err)
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header, stream: resp.Header.Get("Content-Type") == "text/event-stream"}
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if !a.stream {
		if len(data) > 0 {
			require.True(t, json.Valid(data), "%s", data)
			a.messages = []string{string(data)}
		}
		return a
	}
	for event := range strings.SplitSeq(string(data), "\n\n") {
		if m, ok := strings.CutPrefix(event, "event: message\ndata: "); ok {
			a.messages = append(a.messages, m)
		}
	}
	return a
}

func post(t *testing.T, b *Bridge, session, body string) answer {
	t.Helper()
	return do(t, b, request(context.Background(), http.MethodPost, session, body))
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func begin(t *testing.T, b *Bridge) (session string) {
	t.Helper()
	a := post(t, b, "", hello)
	require.Equal(t, 200, a.status, "%v", a.messages)
	require.Equal(t, []string{`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`}, a.messages)
	session = a.header.Get(sessionHeader)
	require.NotEmpty(t, session)
	require.Equal(t, 202, post(t, b, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`).status)
	return session
}

func echo(id string) string {
	return `{"jsonrpc":"2.0", "id":` + id + ` ,"method":"resources/read","params":{"uri":"x:\u0041","n":9007199254740993}}`
}

// A session has a process of its own, which gets the very bytes, and which DELETE ends.
func TestSession(t *testing.T) {
	b := newBridge(t, "good", nil)
	one, two := begin(t, b), begin(t, b)
	require.NotEqual(t, one, two)
	require.Equal(t, 2, b.Processes())
	var pids [2]int
	for i, session := range []string{one, two} {
		a := post(t, b, session, strings.Replace(echo(`"a\u0062"`), ", ", ",\n ", 1))
		require.Equal(t, 200, a.status)
		require.False(t, a.stream)
		var got struct {
			ID     json.RawMessage
			Result struct {
				PID  int
				Line string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(a.messages[0]), &got))
		require.Equal(t, `"a\u0062"`, string(got.ID))
		require.Equal(t, strings.Replace(echo(`"a\u0062"`), ", ", ",  ", 1), got.Result.Line)
		pids[i] = got.Result.PID
	}
	require.NotEqual(t, pids[0], pids[1])
	require.Equal(t, 204, do(t, b, request(context.Background(), http.MethodDelete, one, "")).status)
	require.Equal(t, 404, post(t, b, one, echo("1")).status)
	require.Equal(t, 404, do(t, b, request(context.Background(), http.MethodDelete, one, "")).status)
	require.Equal(t, 404, do(t, b, request(context.Background(), http.MethodGet, one, "")).status)
	require.Equal(t, 200, post(t, b, two, echo("1")).status)
	require.Eventually(t, func() bool { return b.Processes() == 1 }, 20*time.Second, time.Millisecond)
}

// A listener reads the messages of a stream as they come.
type listener struct {
	body io.ReadCloser
	r    *bufio.Reader
}

func listen(t *testing.T, b *Bridge, r *http.Request) *listener {
	t.Helper()
	resp, err := b.RoundTrip(r)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &listener{resp.Body, bufio.NewReader(resp.Body)}
}

func (l *listener) next(t *testing.T) string {
	t.Helper()
	for {
		line, err := l.r.ReadString('\n')
		require.NoError(t, err)
		if m, ok := strings.CutPrefix(line, "data: "); ok {
			return strings.TrimSuffix(m, "\n")
		}
	}
}

// What the server asks goes to the GET stream, and to the request's own without one.
func TestServerAsks(t *testing.T) {
	b := newBridge(t, "good", nil)
	for _, withGET := range []bool{true, false} {
		session := begin(t, b)
		var get *listener
		if withGET {
			get = listen(t, b, request(t.Context(), http.MethodGet, session, ""))
		}
		answered := make(chan answer, 1)
		if withGET {
			go func() {
				answered <- post(t, b, session, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
			}()
			require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, get.next(t))
		} else {
			get = listen(t, b, request(t.Context(), http.MethodPost, session, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`))
			require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, get.next(t))
		}
		require.Equal(t, 202, post(t, b, session, `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`).status)
		const want = `{"jsonrpc":"2.0","id":7,"result":{"heard":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}"}}`
		if withGET {
			require.Equal(t, want, (<-answered).messages[0])
		} else {
			require.Equal(t, want, get.next(t))
		}
	}
}

// What nobody can be told waits for somebody who can; what the gate asks for itself
// carries nothing of it. A second GET takes over from the first.
func TestMessagesWait(t *testing.T) {
	b := newBridge(t, "good", nil)
	session := begin(t, b)
	r := request(context.Background(), http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
	r.Header.Set("Accept", "application/json")
	require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}, do(t, b, r).messages)
	require.Equal(t, []string{`{"jsonrpc":"2.0","id":"regogate-x-1","result":{}}`},
		post(t, b, session, `{"jsonrpc":"2.0","id":"regogate-x-1","method":"resources/list"}`).messages)
	first := listen(t, b, request(t.Context(), http.MethodGet, session, ""))
	for range 2 {
		require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, first.next(t))
	}
	second := listen(t, b, request(t.Context(), http.MethodGet, session, ""))
	rest, err := io.ReadAll(first.r)
	require.NoError(t, err)
	require.NotContains(t, string(rest), "data:")
	require.NoError(t, first.body.Close())
	require.Equal(t, 200, post(t, b, session, `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`).status)
	require.Contains(t, second.next(t), "list_changed")
}

func TestProgress(t *testing.T) {
	b := newBridge(t, "good", nil)
	session := begin(t, b)
	for name, s := range map[string]string{"session": session, "pool": ""} {
		for _, token := range []string{`"t"`, "7", `"\u0074"`} {
			a := post(t, b, s, `{"jsonrpc":"2.0","id":"x","method":"prompts/get","params":{"n":3,"_meta":{"progressToken":`+token+modern+`}}}`)
			require.True(t, a.stream, name)
			require.Len(t, a.messages, 4)
			for i := range 3 {
				require.Equal(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, i), a.messages[i])
			}
			require.Equal(t, `{"jsonrpc":"2.0","id":"x","result":{}}`, a.messages[3])
		}
	}
}

// modern are members of _meta by which a request is one of the stateless era.
const modern = `,"io.modelcontextprotocol/protocolVersion":"2026-07-28"`

// Clients who share processes and use the same ids get their own answers.
func TestPool(t *testing.T) {
	b := newBridge(t, "good", func(o *Options) { o.Pool = 2 })
	var wg sync.WaitGroup
	for client := range 40 {
		wg.Go(func() {
			for i := range 10 {
				own := fmt.Sprintf(`"uri":"client-%d-%d"`, client, i)
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{%s,"_meta":{"progressToken":1%s}}}`, i, own, modern)
				a := post(t, b, "", body)
				if len(a.messages) != 1 || !strings.HasPrefix(a.messages[0], fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, i)) ||
					!strings.Contains(a.messages[0], strings.ReplaceAll(own, `"`, `\"`)) {
					t.Errorf("client %d: %v", client, a)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, b.Processes(), 2)
}

// A message is a line without blanks around it, whatever is around it as a body: the Go
// SDK's server for one takes none after a message, and ends.
func TestBlanksAroundMessages(t *testing.T) {
	b := newBridge(t, "good", func(o *Options) { o.Pool = 1 })
	session := begin(t, b)
	for _, around := range [][2]string{{"", "\r\n"}, {"", " "}, {"\n\n", ""}, {" \t\n", "\n\t \n"}} {
		line, err := json.Marshal(echo("1"))
		require.NoError(t, err)
		a := post(t, b, session, around[0]+echo("1")+around[1])
		require.Contains(t, a.messages[0], `"line":`+string(line)+`}`, "%q", around)
	}
}

// Closing a stateless request's stream cancels it, under the id that the server knows.
func TestPoolCancel(t *testing.T) {
	b := newBridge(t, "good", func(o *Options) { o.Pool = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	l := listen(t, b, request(ctx, http.MethodPost, "", `{"jsonrpc":"2.0","id":"s1","method":"subscriptions/listen","params":{"_meta":{"a":1`+modern+`}}}`))
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s1"}}}`, l.next(t))
	state := func() string {
		return post(t, b, "", `{"jsonrpc":"2.0","id":"s1","method":"prompts/list","params":{"_meta":{"a":1`+modern+`}}}`).messages[0]
	}
	require.Contains(t, state(), `"slow":true`)
	// Another client's cancellation of the same id is no concern of this one.
	require.Equal(t, 202, post(t, b, "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s1","_meta":{"a":1`+modern+`}}}`).status)
	require.Contains(t, state(), `"slow":true`)
	cancel()
	require.Eventually(t, func() bool { return strings.Contains(state(), `"slow":false`) }, 20*time.Second, 10*time.Millisecond)
}

// What a pooled process says to nobody in particular reaches nobody else.
func TestPoolKeepsMessagesApart(t *testing.T) {
	b := newBridge(t, "good", func(o *Options) { o.Pool = 1 })
	l := listen(t, b, request(t.Context(), http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"a":1`+modern+`}}}`))
	l.next(t)
	ask := func(method string) answer {
		return post(t, b, "", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"_meta":{"a":1`+modern+`}}}`)
	}
	require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}, ask("resources/list").messages)
	a := ask("tools/list") // the server asks, and is told that it can't
	require.Contains(t, a.messages[0], "-32601")
	require.NoError(t, l.body.Close())
	require.Equal(t, 400, post(t, b, "", `{"jsonrpc":"2.0","id":1,"result":{}}`).status)
}

// A server that rounds the ids of requests has answered them all the same, and no answer
// goes to another request: two that it would take for one don't wait at the same time.
func TestServersThatRoundIDs(t *testing.T) {
	b := newBridge(t, "good", func(o *Options) { o.Pool = 1 })
	session := begin(t, b)
	ask := func(session, id, meta string) answer {
		return post(t, b, session, `{"jsonrpc":"2.0","id":`+id+`,"method":"prompts/rounded","params":{"_meta":{"progressToken":`+id+meta+`}}}`)
	}
	a := ask(session, "9007199254740993", "")
	require.Len(t, a.messages, 2)
	require.Contains(t, a.messages[0], `"progressToken":9007199254740992`)
	require.Equal(t, `{"jsonrpc":"2.0","id":9007199254740992,"result":{}}`, a.messages[1], "as it is")
	// In the pool the server sees the bridge's ids, so that the client gets its own back.
	a = ask("", "9007199254740993", modern)
	require.Equal(t, `{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`, a.messages[len(a.messages)-1])

	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		if resp, err := b.RoundTrip(request(ctx, http.MethodPost, session, `{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}`)); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	require.Eventually(t, func() bool {
		s := b.session(request(context.Background(), http.MethodGet, session, ""))
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.exchanges) == 1
	}, 20*time.Second, time.Millisecond)
	for _, id := range []string{"9007199254740993", "9007199254740992.0", "9007199254740992"} {
		require.Equal(t, 400, ask(session, id, "").status, id)
	}
	require.Equal(t, 200, ask(session, "9007199254740994", "").status)
	cancel()
	<-waiting
}

// A process that ends is answered for, and its session is gone. The next one starts.
func TestCrash(t *testing.T) {
	b := newBridge(t, "good", nil)
	session := begin(t, b)
	get := listen(t, b, request(t.Context(), http.MethodGet, session, ""))
	waiting := make(chan answer, 1)
	go func() { waiting <- post(t, b, session, `{"jsonrpc":"2.0","id":"w","method":"ping"}`) }()
	require.Eventually(t, func() bool {
		s := b.session(request(context.Background(), http.MethodGet, session, ""))
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.exchanges) == 1
	}, 20*time.Second, time.Millisecond)
	const want = `{"jsonrpc":"2.0","id":"%s","error":{"code":-32603,"message":"the server has ended"}}`
	a := post(t, b, session, `{"jsonrpc":"2.0","id":"c","method":"completion/complete"}`)
	require.Equal(t, []string{fmt.Sprintf(want, "c")}, a.messages)
	require.Equal(t, 200, a.status)
	require.Equal(t, []string{fmt.Sprintf(want, "w")}, (<-waiting).messages)
	_, err := get.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 404, post(t, b, session, echo("1")).status)

	a = post(t, b, "", `{"jsonrpc":"2.0","id":"c","method":"completion/complete","params":{"_meta":{"a":1`+modern+`}}}`)
	require.Equal(t, []string{fmt.Sprintf(want, "c")}, a.messages)
	// That process ended without having said anything, so there may be a pause.
	require.Eventually(t, func() bool { return post(t, b, "", hello).status == 200 }, 20*time.Second, 10*time.Millisecond)
}

// A server that can't be started, or ends at once, is not started over and over.
func TestPauseBetweenFailures(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"dies":    func(o *Options) { o.Pause = time.Hour },
		"missing": func(o *Options) { o.Pause, o.Command = time.Hour, []string{"/nowhere/server"} },
	} {
		b := newBridge(t, "dies", change)
		var last answer
		require.Eventually(t, func() bool {
			last = post(t, b, "", hello)
			require.Contains(t, last.messages[0], `"code":-32603`)
			require.Contains(t, last.messages[0], `"id":0`)
			require.Empty(t, last.header.Get(sessionHeader))
			return last.status == 503
		}, 20*time.Second, time.Millisecond, name)
		require.NotEmpty(t, last.header.Get("Retry-After"))
		b.mu.Lock()
		failures := b.failures
		b.mu.Unlock()
		require.Positive(t, failures)
	}
}

func TestNoMoreProcessesThanAllowed(t *testing.T) {
	b := newBridge(t, "good", func(o *Options) { o.Processes = 2 })
	one := begin(t, b)
	begin(t, b)
	a := post(t, b, "", hello)
	require.Equal(t, 503, a.status)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Equal(t, 503, post(t, b, "", `{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{"_meta":{"a":1`+modern+`}}}`).status)
	require.Equal(t, 204, do(t, b, request(context.Background(), http.MethodDelete, one, "")).status)
	require.Eventually(t, func() bool { return post(t, b, "", hello).status == 200 }, 20*time.Second, 10*time.Millisecond)
}

// An idle process is ended, one with an open stream isn't.
func TestIdle(t *testing.T) {
	b := newBridge(t, "good", func(o *Options) { o.Idle = 3 * time.Second })
	kept := begin(t, b)
	listen(t, b, request(t.Context(), http.MethodGet, kept, ""))
	idle := begin(t, b)
	require.Equal(t, 200, post(t, b, "", `{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{"_meta":{"a":1`+modern+`}}}`).status)
	require.Eventually(t, func() bool { return b.Processes() == 1 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 404, post(t, b, idle, echo("1")).status)
	require.Equal(t, 200, post(t, b, kept, echo("1")).status)
}

// A session is its owner's: another caller gets the answer of one that isn't there.
func TestSessionsBelongToTheirCaller(t *testing.T) {
	b := newBridge(t, "good", nil)
	as := func(subject, session, body string) answer {
		ctx := policy.WithCaller(context.Background(), policy.Caller{Subject: subject})
		return do(t, b, request(ctx, http.MethodPost, session, body))
	}
	session := as("ann", "", hello).header.Get(sessionHeader)
	require.Equal(t, 200, as("ann", session, echo("1")).status)
	require.Equal(t, 404, as("bob", session, echo("1")).status)
	require.Equal(t, 404, post(t, b, session, echo("1")).status)
}

func TestInitializeFails(t *testing.T) {
	b := newBridge(t, "good", func(o *Options) { o.Start = 500 * time.Millisecond })
	for _, how := range []string{"refuse", "hang"} {
		a := post(t, b, "", strings.Replace(hello, `"t"`, `"`+how+`"`, 1))
		require.Equal(t, 200, a.status)
		require.Contains(t, a.messages[0], `"id":0,"error":`)
		require.Empty(t, a.header.Get(sessionHeader))
	}
	require.Eventually(t, func() bool { return b.Processes() == 0 }, 20*time.Second, time.Millisecond)
}

// A server's noise harms nobody, and its batches are taken apart.
func TestNoise(t *testing.T) {
	b := newBridge(t, "good", nil)
	a := post(t, b, begin(t, b), `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}`)
	require.Equal(t, []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`}, a.messages)
}

// What waits for a listener is bounded, and a question that finds no room is answered.
func TestBacklogIsBounded(t *testing.T) {
	b := newBridge(t, "good", nil)
	session := begin(t, b)
	ask := func(id int, method string) answer {
		r := request(context.Background(), http.MethodPost, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method))
		r.Header.Set("Accept", "application/json")
		return do(t, b, r)
	}
	for i := range backlog + 10 {
		require.Equal(t, 200, ask(i, "resources/list").status)
	}
	require.Contains(t, ask(1, "tools/list").messages[0], "doesn't listen")
	s := b.session(request(context.Background(), http.MethodGet, session, ""))
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(t, s.waiting, backlog)
}

// A request that is cancelled ends, though its server says nothing more of it.
func TestCancelledRequestEnds(t *testing.T) {
	b := newBridge(t, "good", nil)
	session := begin(t, b)
	l := listen(t, b, request(t.Context(), http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	require.Equal(t, 202, post(t, b, session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.0}}`).status)
	rest, err := io.ReadAll(l.r)
	require.NoError(t, err)
	require.NotContains(t, string(rest), "data:")
}

func TestBadRequests(t *testing.T) {
	b := newBridge(t, "good", func(o *Options) { o.MessageBytes = 1 << 10 })
	session := begin(t, b)
	for name, tc := range map[string]struct {
		method, session, body string
		status                int
	}{
		"no JSON":            {"POST", session, "x", 400},
		"nothing":            {"POST", session, "", 400},
		"a batch":            {"POST", session, "[" + echo("1") + "]", 400},
		"too large":          {"POST", session, strings.Repeat(" ", 2<<10), 413},
		"no session":         {"POST", "", echo("1"), 400},
		"an unknown session": {"POST", "x", echo("1"), 404},
		"GET, no session":    {"GET", "", "", 400},
		"DELETE, no session": {"DELETE", "", "", 400},
		"PUT":                {"PUT", session, echo("1"), 405},
		"HEAD":               {"HEAD", session, "", 405},
	} {
		a := do(t, b, request(context.Background(), tc.method, tc.session, tc.body))
		require.Equal(t, tc.status, a.status, name)
		require.Contains(t, a.messages[0], `"error":`, name)
	}
	r := request(context.Background(), http.MethodPost, session, echo("1"))
	r.Header.Set("Accept", "text/plain")
	require.Equal(t, 406, do(t, b, r).status)
	r = request(context.Background(), http.MethodPost, session, echo("1"))
	r.Header.Add(sessionHeader, session)
	require.Equal(t, 404, do(t, b, r).status)
	r = request(context.Background(), http.MethodGet, "", "")
	r.Header.Set(versionHeader, "2026-07-28")
	require.Equal(t, 405, do(t, b, r).status)
	// An id that is still waited for can't be used again.
	listen(t, b, request(t.Context(), http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	require.Equal(t, 400, post(t, b, session, echo("1.0")).status)
	_, err := New(Options{})
	require.ErrorContains(t, err, "Command")
	_, err = New(Options{Command: []string{"x"}, Pool: -1})
	require.ErrorContains(t, err, "Pool")
}

// A client that goes away while it waits leaves nothing behind.
func TestClientGoesAway(t *testing.T) {
	b := newBridge(t, "good", nil)
	session := begin(t, b)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := b.RoundTrip(request(ctx, http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 200, post(t, b, session, echo("1")).status)
}

// Close ends everything, what is open too, and a server that ignores the end of its input.
func TestClose(t *testing.T) {
	b := newBridge(t, "good", nil)
	session := begin(t, b)
	get := listen(t, b, request(t.Context(), http.MethodGet, session, ""))
	require.NoError(t, b.Close())
	_, err := get.r.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 503, post(t, b, "", hello).status)
	require.Equal(t, 404, post(t, b, session, echo("1")).status)

	deaf := newBridge(t, "deaf", func(o *Options) { o.Grace = 100 * time.Millisecond; o.Start = 100 * time.Millisecond })
	require.Contains(t, post(t, deaf, "", hello).messages[0], "in time")
	require.NoError(t, deaf.Close())
}

func TestHandler(t *testing.T) {
	b := newBridge(t, "good", nil)
	server := httptest.NewServer(b)
	defer server.Close()
	r, err := http.NewRequest(http.MethodPost, server.URL, bytes.NewBufferString(hello))
	require.NoError(t, err)
	r.Header.Set("Accept", "application/json, text/event-stream")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	r, err = http.NewRequest(http.MethodPost, server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"n":2,"_meta":{"progressToken":1}}}`))
	require.NoError(t, err)
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(sessionHeader, resp.Header.Get(sessionHeader))
	stream, err := client.Do(r)
	require.NoError(t, err)
	defer stream.Body.Close()
	data, err := io.ReadAll(stream.Body)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(data), "event: message\n"))
}
