package httpproxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// An asked is a request that a backend got.
type asked struct {
	http   string // its method
	header http.Header
	body   string
	method string // of the message
	tool   string
	cursor string
}

// A backend is a server whose tools depend on who asks.
type backend struct {
	// list returns the result of tools/list.
	list func(r asked) string
	// other answers everything else, and reports whether it did.
	other func(w http.ResponseWriter, r *http.Request, a asked) bool

	mu  sync.Mutex
	got []asked
}

// ServeHTTP implements http.Handler.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name, Cursor string }
	}
	_ = json.Unmarshal(body, &m) // a GET has none
	a := asked{r.Method, r.Header.Clone(), string(body), m.Method, m.Params.Name, m.Params.Cursor}
	b.mu.Lock()
	b.got = append(b.got, a)
	list, other := b.list, b.other
	b.mu.Unlock()
	if m.Method != "tools/list" && other != nil && other(w, r, a) {
		return
	}
	result := `{"resultType":"complete","content":[{"type":"text","text":"ran"}]}`
	if m.Method == "tools/list" {
		result = list(a)
	}
	if m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// take returns what was got since it was called last.
func (b *backend) take() []asked {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.got
	b.got = nil
	return got
}

// set changes what the backend says.
func (b *backend) set(list func(asked) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = list
}

// methods are those of messages, and of tools/call the tool.
func methods(got []asked) (all []string) {
	for _, a := range got {
		what := a.method
		if a.tool != "" {
			what = a.tool
		}
		if what == "" {
			what = a.http
		}
		all = append(all, what)
	}
	return all
}

// tools is a list of tools with an open schema, and what is beside it.
func tools(beside string, names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, name, adaptertest.OpenSchema))
	}
	return `{"resultType":"complete"` + beside + `,"tools":[` + strings.Join(all, ",") + `]}`
}

func always(list string) func(asked) string { return func(asked) string { return list } }

// newBackend starts one behind a gate, and returns the gate's endpoint.
func newBackend(t *testing.T, b *backend, o httpproxy.Options) string {
	t.Helper()
	_, endpoint := newProxy(t, b, o)
	return endpoint
}

func newProxy(t *testing.T, b *backend, o httpproxy.Options) (*httpproxy.Proxy, string) {
	t.Helper()
	upstream := httptest.NewServer(b)
	t.Cleanup(func() {
		upstream.CloseClientConnections()
		upstream.Close()
	})
	u, err := url.Parse(upstream.URL)
	require.NoError(t, err)
	o.Upstream = u
	if o.Gate == nil {
		o.Gate = adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
	}
	return serveProxy(t, o)
}

// serveProxy has a gate serve until the test ends, and returns its endpoint as well.
func serveProxy(t *testing.T, o httpproxy.Options) (*httpproxy.Proxy, string) {
	t.Helper()
	p, err := httpproxy.New(o)
	require.NoError(t, err)
	front := httptest.NewServer(p)
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		front.Close()
	})
	return p, front.URL + "/mcp"
}

// A request is one to a gate. Headers are names and values, "" stands for one that is not there.
type request struct {
	method  string // "" is POST
	body    string
	headers []string
}

// modern is a call of the stateless era.
func modern(tool string, headers ...string) request {
	return request{
		body:    `{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"` + tool + `",` + modernMeta + `}}`,
		headers: append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}, headers...),
	}
}

// inSession is a call of the era of sessions.
func inSession(tool, session string, headers ...string) request {
	return request{
		body:    `{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"` + tool + `"}}`,
		headers: append([]string{"Mcp-Protocol-Version", "2025-11-25", "Mcp-Session-Id", session}, headers...),
	}
}

func (q request) on(t *testing.T, endpoint string) *http.Request {
	t.Helper()
	method := q.method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, endpoint, strings.NewReader(q.body))
	require.NoError(t, err)
	if q.body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	} else if !slices.Contains(q.headers, "Content-Type") {
		r.Header.Set("Content-Type", jsonType)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(q.headers); i += 2 {
		switch name, value := q.headers[i], q.headers[i+1]; {
		case value == "":
		case name == "Host":
			r.Host = value
		default:
			r.Header.Add(name, value)
		}
	}
	return r
}

// do sends a request and reads the answer.
func (q request) do(t *testing.T, endpoint string) (*http.Response, string) {
	t.Helper()
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	c := http.Client{Timeout: within, Transport: transport}
	res, err := c.Do(q.on(t, endpoint))
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, string(body)
}

// outcome is "ran", or the code with which a call was refused.
func (q request) outcome(t *testing.T, endpoint string) string {
	t.Helper()
	res, body := q.do(t, endpoint)
	if strings.Contains(body, `"text":"ran"`) {
		return "ran"
	}
	var m struct {
		Error *struct {
			Code int
			Data struct{ Code string }
		}
		Result struct {
			Meta map[string]struct{ Refusals []struct{ Code string } } `json:"_meta"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &m), body)
	if m.Error != nil {
		return strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", m.Error.Code, " ", m.Error.Data.Code))
	}
	for _, r := range m.Result.Meta["io.regogate/decision"].Refusals {
		return r.Code
	}
	return body
}

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}
