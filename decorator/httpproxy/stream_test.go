package httpproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/httpproxy"
)

// open sends a request and returns the answer with its body unread, and what hangs up.
func open(t *testing.T, endpoint string, q request) (*http.Response, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	res, err := transport.RoundTrip(q.on(t, endpoint).WithContext(ctx))
	require.NoError(t, err)
	t.Cleanup(func() {
		cancel()
		_ = res.Body.Close()
		transport.CloseIdleConnections()
	})
	return res, cancel
}

// event reads the next event of a stream.
func event(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var all strings.Builder
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		all.WriteString(line)
		if line == "\n" {
			return all.String()
		}
	}
}

// Events reach the client while the server has yet to write the next, on the stream of a
// call and on that of a GET.
func TestEventsAreNotHeldBack(t *testing.T) {
	next := make(chan string)
	b := &backend{list: always(tools("", "x"))}
	b.other = func(w http.ResponseWriter, r *http.Request, a asked) bool {
		if a.tool == "" && a.http != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Type", streamType)
		_ = http.NewResponseController(w).Flush()
		for e := range next {
			if e == "" {
				return true
			}
			_, _ = io.WriteString(w, e)
			_ = http.NewResponseController(w).Flush()
		}
		return true
	}
	endpoint := newBackend(t, b, httpproxy.Options{})
	for name, q := range map[string]request{
		"POST": inSession("x", "s"),
		"GET":  {method: http.MethodGet, headers: []string{"Mcp-Session-Id", "s"}},
	} {
		t.Run(name, func(t *testing.T) {
			res, _ := open(t, endpoint, q)
			require.Equal(t, streamType, res.Header.Get("Content-Type"))
			require.Equal(t, "no", res.Header.Get("X-Accel-Buffering"))
			r := bufio.NewReader(res.Body)
			for i := range 3 {
				e := fmt.Sprintf("id: %d\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":%d}}\n\n", i, i)
				next <- e
				require.Equal(t, e, event(t, r))
			}
			next <- "" // a stream with ids may end: the client asks for the rest
			rest, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Empty(t, rest)
		})
	}
}

// A GET goes on with what it says of the session and of what was seen last, and so does a
// DELETE; neither takes a body along.
func TestWithoutABody(t *testing.T) {
	b := &backend{list: always(tools("", "x"))}
	b.other = func(w http.ResponseWriter, _ *http.Request, a asked) bool {
		if a.http == http.MethodPost {
			return false
		}
		w.Header().Set("Mcp-Session-Id", "s")
		w.Header().Set("Content-Type", streamType)
		w.WriteHeader(map[string]int{http.MethodGet: 200, http.MethodDelete: 204}[a.http])
		if a.http == http.MethodGet {
			_, _ = io.WriteString(w, "id: 8\ndata: {}\n\n")
		}
		return true
	}
	endpoint := newBackend(t, b, httpproxy.Options{})
	require.Equal(t, "ran", inSession("x", "s").outcome(t, endpoint))
	b.take()
	res, body := request{method: http.MethodGet, headers: []string{"Mcp-Session-Id", "s", "Last-Event-Id", "7", "Mcp-Protocol-Version", "2025-11-25"}}.do(t, endpoint)
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "s", res.Header.Get("Mcp-Session-Id"))
	require.Equal(t, "id: 8\ndata: {}\n\n", body)
	res, _ = request{method: http.MethodDelete, headers: []string{"Mcp-Session-Id", "s"}}.do(t, endpoint)
	require.Equal(t, 204, res.StatusCode)
	got := b.take()
	require.Equal(t, []string{"GET", "DELETE"}, methods(got))
	require.Equal(t, "7", got[0].header.Get("Last-Event-Id"))
	require.Equal(t, "s", got[0].header.Get("Mcp-Session-Id"))
	require.Equal(t, "2025-11-25", got[0].header.Get("Mcp-Protocol-Version"))
	require.Empty(t, got[0].body+got[1].body)
	require.Equal(t, "ran", inSession("x", "s").outcome(t, endpoint))
	require.Equal(t, []string{"tools/list", "x"}, methods(b.take()), "the list ended with the session")
}

// A client that hangs up ends the server's work: on a call that is answered at once, on a
// stream, and on a GET.
func TestHangingUpCancelsTheServer(t *testing.T) {
	began, ended := make(chan string, 1), make(chan string, 1)
	b := &backend{list: always(tools("", "plain", "stream"))}
	b.other = func(w http.ResponseWriter, r *http.Request, a asked) bool {
		what := a.tool + a.http
		if a.tool == "" && a.http != http.MethodGet {
			return false
		}
		if a.tool != "plain" {
			w.Header().Set("Content-Type", streamType)
			_ = http.NewResponseController(w).Flush()
		}
		began <- what
		select {
		case <-r.Context().Done():
			ended <- what
		case <-time.After(20 * time.Second):
			ended <- "nothing"
		}
		return true
	}
	endpoint := newBackend(t, b, httpproxy.Options{})
	for want, q := range map[string]request{
		"plainPOST":  inSession("plain", "s"),
		"streamPOST": modern("stream"),
		"GET":        {method: http.MethodGet, headers: []string{"Mcp-Session-Id", "s"}},
	} {
		t.Run(want, func(t *testing.T) {
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			done := make(chan struct{})
			go func() {
				defer close(done)
				transport := &http.Transport{DisableKeepAlives: true}
				res, err := transport.RoundTrip(q.on(t, endpoint).WithContext(ctx))
				if err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			}()
			require.Equal(t, want, <-began)
			hangUp()
			require.Equal(t, want, <-ended)
			<-done
		})
	}
}

// The gate's end is the end of its streams, and what comes later is told so.
func TestCloseEndsStreams(t *testing.T) {
	b := &backend{list: always(tools("", "x"))}
	b.other = func(w http.ResponseWriter, r *http.Request, a asked) bool {
		if a.http != http.MethodGet {
			return false
		}
		w.Header().Set("Content-Type", streamType)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	}
	p, front := newProxy(t, b, httpproxy.Options{})
	res, _ := open(t, front, request{method: http.MethodGet, headers: []string{"Mcp-Session-Id", "s"}})
	require.NoError(t, p.Close())
	_, _ = io.Copy(io.Discard, res.Body) // ends, or breaks off: what counts is that it doesn't go on
	require.Equal(t, "503 -32600", inSession("x", "s").outcome(t, front))
}

// What a server asks within a stream reaches the client, and the client's answer the
// server, as they are.
func TestServerAsksTheClient(t *testing.T) {
	const ask = "data: {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"sure?\"}}\n\n"
	const reply = `{"jsonrpc":"2.0", "id":"s1","result":{"action":"accept", "content":{"n":12345678901234567890}}}`
	replied := make(chan string, 1)
	b := &backend{list: always(tools("", "x"))}
	b.other = func(w http.ResponseWriter, r *http.Request, a asked) bool {
		switch {
		case a.tool != "":
			w.Header().Set("Content-Type", streamType)
			_, _ = io.WriteString(w, ask)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-replied:
			case <-r.Context().Done():
				return true
			}
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{}}\n\n")
			return true
		case a.method == "" && a.http == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
			replied <- a.body
			return true
		}
		return false
	}
	endpoint := newBackend(t, b, httpproxy.Options{})
	res, _ := open(t, endpoint, inSession("x", "s"))
	r := bufio.NewReader(res.Body)
	require.Equal(t, ask, event(t, r))
	got, _ := request{body: reply, headers: []string{"Mcp-Session-Id", "s"}}.do(t, endpoint)
	require.Equal(t, 202, got.StatusCode)
	require.Contains(t, event(t, r), `"id":"q"`)
	var bodies []string
	for _, a := range b.take() {
		bodies = append(bodies, a.body)
	}
	require.Contains(t, bodies, reply)
}

// A call is sent once: also over a connection that was used before, which the server closes
// without a word, and also where the client says that a request may be repeated.
func TestCallsAreSentOnce(t *testing.T) {
	b := &backend{list: always(tools("", "x"))}
	b.other = func(w http.ResponseWriter, _ *http.Request, a asked) bool {
		if a.tool != "x" {
			return false
		}
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
		return true
	}
	endpoint := newBackend(t, b, httpproxy.Options{})
	for _, header := range []string{"X-Nothing", "Idempotency-Key", "X-Idempotency-Key"} {
		res, _ := request{body: `{"jsonrpc":"2.0","id":"q","method":"ping"}`, headers: []string{"Mcp-Session-Id", "s"}}.do(t, endpoint)
		require.Equal(t, 200, res.StatusCode)
		b.take()
		res, body := inSession("x", "s", header, "1").do(t, endpoint)
		require.Equal(t, 502, res.StatusCode)
		require.InDelta(t, -32603, lastError(t, body), 0)
		require.Equal(t, 1, strings.Count(strings.Join(methods(b.take()), " "), "x"), header)
	}
}
