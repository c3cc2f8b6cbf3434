package httpproxy_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	slowest = 2 * time.Second // that the server may be
	within  = 2 * time.Minute // on a machine that does other things, too
	ask     = `{"jsonrpc":"2.0","id":"q","method":"resources/list"}`
	call    = `{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"read","arguments":{"path":"/a"}}}`
)

// A garbler answers what its test says, and ordinary requests of the gate.
type garbler struct {
	answer func(w http.ResponseWriter, r *http.Request)
	end    chan struct{} // closed with the test: for answers that never end
}

func (g *garbler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(body, &m) == nil && m.Method == "tools/list" {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"read","inputSchema":%s}]}}`, m.ID, adaptertest.PathSchema)
		return
	}
	if strings.Contains(string(body), `"fine"`) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"fine","result":{}}`)
		return
	}
	g.answer(w, r)
}

// newFront puts a gate in front of a server.
func newFront(t *testing.T, upstream string, o httpproxy.Options) string {
	t.Helper()
	u, err := url.Parse(upstream)
	require.NoError(t, err)
	o.Gate, o.Upstream = adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), u
	if o.ResponseTimeout == 0 {
		o.ResponseTimeout = slowest
	}
	o.LearnTimeout, o.Hold.Timeout = slowest, slowest
	_, endpoint := serveProxy(t, o)
	return endpoint
}

func garbled(t *testing.T, answer func(g *garbler, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	return garbledWith(t, httpproxy.Options{}, answer)
}

func garbledWith(t *testing.T, o httpproxy.Options, answer func(g *garbler, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	g := &garbler{end: make(chan struct{})}
	g.answer = func(w http.ResponseWriter, r *http.Request) { answer(g, w, r) }
	upstream := httptest.NewServer(g)
	t.Cleanup(func() {
		close(g.end)
		upstream.Close()
	})
	return newFront(t, upstream.URL, o)
}

// send posts a message and returns the HTTP status and the whole body, or what there
// was of it and why there is no more.
func send(t *testing.T, endpoint, message string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(message))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	c := http.Client{Timeout: within, Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	res, err := c.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}

// lastError returns the code of the JSON-RPC error that a client gets for the request
// "q": the body, or the last event of a stream.
func lastError(t *testing.T, body string) float64 {
	t.Helper()
	if i := strings.LastIndex(body, "data: "); i >= 0 {
		require.True(t, strings.HasSuffix(body, "\n\n"), "the event has an end: %.300q", body)
		body = body[i+len("data: "):]
	}
	var m struct {
		JSONRPC, ID string
		Error       struct {
			Code    float64
			Message string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &m), "%.300q", body)
	require.Equal(t, "2.0", m.JSONRPC)
	require.Equal(t, "q", m.ID)
	require.NotEmpty(t, m.Error.Message)
	return m.Error.Code
}

func write(status int, kind, body string) func(*garbler, http.ResponseWriter, *http.Request) {
	return func(_ *garbler, w http.ResponseWriter, _ *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// endless writes something again and again, until nobody wants it.
func endless(kind, first, again string) func(*garbler, http.ResponseWriter, *http.Request) {
	return func(g *garbler, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, err := io.WriteString(w, first)
		for err == nil {
			select {
			case <-g.end:
				return
			case <-r.Context().Done():
				return
			default:
				_, err = io.WriteString(w, again)
			}
		}
	}
}

// cut breaks the connection off after something.
func cut(kind, body string, missing int) func(*garbler, http.ResponseWriter, *http.Request) {
	return func(_ *garbler, w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		length := ""
		if missing > 0 {
			length = "Content-Length: " + strconv.Itoa(len(body)+missing) + "\r\n"
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: "+kind+"\r\n"+length+"Connection: close\r\n\r\n"+body)
		_ = conn.Close()
	}
}

// hang answers nothing more.
func hang(kind, body string) func(*garbler, http.ResponseWriter, *http.Request) {
	return func(g *garbler, w http.ResponseWriter, r *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-g.end:
		case <-r.Context().Done():
		}
	}
}

func bomb(kind string) func(*garbler, http.ResponseWriter, *http.Request) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(bytes.Repeat([]byte("0"), 100<<20))
	_ = w.Close()
	return func(_ *garbler, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(b.Bytes())
	}
}

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
	badGateway = http.StatusBadGateway
	note       = "event: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":{"error":"x","result":1}}}` + "\n\n"
	others     = `{"jsonrpc":"2.0","id":"other","result":{}}`
	asks       = "data: " + `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"result":1}}` + "\n\n"
)

// Whatever a server answers, the client gets a JSON-RPC error for its request in time,
// and the next request is served.
func TestGarbage(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*garbler, http.ResponseWriter, *http.Request)
		status int
	}{
		"HTML":                       {write(200, "text/html", "<html>"), badGateway},
		"HTML, an error":             {write(503, "text/html", "<html>"), badGateway},
		"HTML that says it's JSON":   {write(200, jsonType, "<html>"), badGateway},
		"no media type":              {write(200, "", ask), badGateway},
		"nothing":                    {write(200, jsonType, ""), badGateway},
		"nothing, and no more to be": {write(204, "", ""), badGateway},
		"accepted, as no request is": {write(202, "", ""), badGateway},
		"half JSON":                  {write(200, jsonType, `{"jsonrpc":"2.0","id":"q","result":{`), badGateway},
		"two values":                 {write(200, jsonType, others+others), badGateway},
		"JSON, and no JSON-RPC":      {write(200, jsonType, `{"message":"ok"}`), badGateway},
		"JSON, and an error":         {write(500, jsonType, `{"message":"oh"}`), badGateway},
		"null":                       {write(200, jsonType, `null`), badGateway},
		"another id":                 {write(200, jsonType, others), badGateway},
		"an error for another id":    {write(200, jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`), badGateway},
		"a request with that id":     {write(200, jsonType, `{"jsonrpc":"2.0","id":"q","method":"ping","result":{}}`), badGateway},
		"another id of a batch":      {write(200, jsonType, "["+others+"]"), badGateway},
		"a redirect":                 {write(302, jsonType, ask), badGateway},
		"gzip that nobody asked for": {bomb(jsonType), badGateway},
		"gzip in a stream":           {bomb(streamType), badGateway},
		"cut off":                    {cut(jsonType, `{"jsonrpc":"2.0","id":"q",`, 100), badGateway},
		"cut off before its length":  {cut(jsonType, `{"jsonrpc":"2.0","id":"q","result":{}}`, 10), badGateway},
		"silence":                    {hang("", ""), http.StatusGatewayTimeout},
		"silence in the middle":      {hang(jsonType, `{"jsonrpc":`), http.StatusGatewayTimeout},

		"a stream without events":           {write(200, streamType, ""), 200},
		"a stream cut off":                  {cut(streamType, note, 100), 200},
		"a stream cut off in an event":      {cut(streamType, note+`data: {"jsonrpc":"2.0","id":"q"`, 100), 200},
		"a stream of HTML":                  {write(200, streamType, "<html>\n\n"), 200},
		"a stream of half JSON":             {write(200, streamType, "data: {\"result\"\n\n"), 200},
		"a stream that answers another":     {write(200, streamType, note+"data: "+others+"\n\n"), 200},
		"a stream that asks with that id":   {write(200, streamType, asks), 200},
		"a stream cut off in a long event":  {cut(streamType, "data: {"+strings.Repeat(" ", 3<<20), 100), 200},
		"a stream that ends in a long line": {write(200, streamType, "data: {"+strings.Repeat(" ", 3<<20)), 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := garbled(t, c.answer)
			for _, message := range []string{ask, call} {
				began := time.Now()
				status, body, err := send(t, endpoint, message)
				require.NoError(t, err)
				require.Equal(t, c.status, status, "%.300q", body)
				require.InDelta(t, -32603, lastError(t, body), 0)
				require.Less(t, time.Since(began), within)
			}
			status, body, err := send(t, endpoint, `{"jsonrpc":"2.0","id":"fine","method":"ping"}`)
			require.NoError(t, err)
			require.Equal(t, 200, status)
			require.Contains(t, body, `"fine"`)
		})
	}
}

// What has no end is passed on in bounded memory, and cut off where it is to have one.
func TestEndless(t *testing.T) {
	megabyte := strings.Repeat(" ", 1<<20)
	for name, answer := range map[string]func(*garbler, http.ResponseWriter, *http.Request){
		"JSON":         endless(jsonType, `{"jsonrpc":"2.0","id":"q","result":{`, megabyte),
		"JSON, slowly": hang(jsonType, "{"+strings.Repeat(" ", 17<<20)),
		"not found": func(g *garbler, w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
			hang("text/html", "<html>")(g, w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := garbled(t, answer)
			began := time.Now()
			c := http.Client{Timeout: within, Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := c.Post(endpoint, jsonType, strings.NewReader(ask))
			require.NoError(t, err)
			n, err := io.Copy(io.Discard, resp.Body)
			if resp.StatusCode != http.StatusGatewayTimeout { // which says the same, on a slow machine
				require.Error(t, err, "the client is told that it isn't whole")
			}
			require.NoError(t, resp.Body.Close())
			require.Less(t, time.Since(began), within)
			t.Logf("cut off after %d MiB", n>>20)
			_, body, err := send(t, endpoint, `{"jsonrpc":"2.0","id":"fine","method":"ping"}`)
			require.NoError(t, err)
			require.Contains(t, body, `"fine"`)
		})
	}
}

// A line of 100 MB is passed on, and what follows it.
func TestLongLine(t *testing.T) {
	answer := `{"jsonrpc":"2.0","id":"q","result":{"x":"` + strings.Repeat("x", 100<<20) + `"}}`
	for kind, text := range map[string]string{jsonType: answer, streamType: note + "data: " + answer + "\n\n" + note} {
		status, body, err := send(t, garbledWith(t, httpproxy.Options{ResponseTimeout: time.Minute}, write(200, kind, text)), ask)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.True(t, body == text, kind)
	}
}

// What may be an answer is one: ids that were rounded, errors that name nobody.
func TestAnswersThatPass(t *testing.T) {
	for _, c := range []struct {
		kind, answer, id string
		status           int
	}{
		{jsonType, `{"jsonrpc":"2.0","id":9007199254740992,"result":{}}`, "9007199254740993", 200},
		{jsonType, `{"jsonrpc":"2.0","id":1,"result":{}}`, "1.0", 200},
		{jsonType, `{"jsonrpc":"2.0","id":"\u0071","result":{}}`, `"q"`, 200},
		{jsonType, `[` + others + `,{"jsonrpc":"2.0","id":"q","result":{}}]`, `"q"`, 200},
		{jsonType, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`, `"q"`, 200},
		{jsonType, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"x"}}`, `"q"`, 500},
		{jsonType, `{"message":"x"}`, `"q"`, 404},
		{"text/plain", `no such session`, `"q"`, 404},
		{streamType, "data:{\"jsonrpc\":\"2.0\",\rdata: \"id\":\"q\",\rdata:\"r\\u0065sult\":{}}\r\r", `"q"`, 200},
		{streamType, "\ufeffdata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{}}\n\n", `"q"`, 200},
		{streamType, "id: 1\ndata: \n\n", `"q"`, 200}, // the client can ask for the rest
	} {
		status, body, err := send(t, garbled(t, write(c.status, c.kind, c.answer)), `{"jsonrpc":"2.0","id":`+c.id+`,"method":"resources/list"}`)
		require.NoError(t, err)
		require.Equal(t, c.status, status)
		require.Equal(t, c.answer, body)
	}
}

// A server that isn't there, or that breaks off before it says anything, is answered for,
// and a call to it is refused.
func TestDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	breaks := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(breaks.Close)
	for _, upstream := range []string{nobody, breaks.URL} {
		endpoint := newFront(t, upstream, httpproxy.Options{})
		status, body, err := send(t, endpoint, ask)
		require.NoError(t, err)
		require.Equal(t, badGateway, status)
		require.InDelta(t, -32603, lastError(t, body), 0)
		status, body, err = send(t, endpoint, call)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Contains(t, body, `"isError":true`)
		require.Contains(t, body, `not_ready`)
	}
}
