package wire_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/test/wire"
)

// A lenient server keeps every request that it gets, to be read in every way later, and
// answers what it can.
type lenient struct {
	mu     sync.Mutex
	seen   []wire.Run
	gateID string
}

func (l *lenient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h := r.Header.Clone()
	for name, values := range r.Trailer {
		h[name] = append(h[name], values...)
	}
	l.take(h, body)
	w.Header().Set("Content-Type", "application/json")
	if answer := l.answer(body); answer != "" {
		_, _ = io.WriteString(w, answer)
	} else {
		w.WriteHeader(http.StatusAccepted)
	}
}

func (l *lenient) take(h http.Header, body []byte) {
	runs := wire.Readings(h, body)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, runs...)
}

func (l *lenient) answer(body []byte) string {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(body, &m) != nil || m.ID == nil || m.Method == "" {
		return ""
	}
	result := `{"resultType":"complete","content":[{"type":"text","text":"ran"}]}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"lenient","version":"1"}}`
	case "tools/list":
		result = fmt.Sprintf(`{"resultType":"complete","tools":[{"name":"safe","inputSchema":%s},{"name":"secret","inputSchema":%s}]}`, mirroredSchema, safeSchema)
		l.mu.Lock()
		if l.gateID == "" {
			_ = json.Unmarshal(m.ID, &l.gateID)
		}
		l.mu.Unlock()
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (l *lenient) saw([][]byte) []wire.Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := l.seen
	l.seen = nil
	return seen
}

func (l *lenient) id() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gateID
}

// TestHTTPInFrontOfALenientServer plays every trick over HTTP.
func TestHTTPInFrontOfALenientServer(t *testing.T) {
	for _, e := range eras {
		t.Run(string(e), func(t *testing.T) {
			l := &lenient{}
			upstream := httptest.NewServer(l)
			t.Cleanup(upstream.Close)
			x := target(front(t, upstream.URL, (*httptest.Server).Start), e)
			x.Saw, x.GateID, x.Strict, x.Mirrored = l.saw, l.id, true, true
			if e == wire.Sessions {
				x.Session = "s1"
			}
			wire.Play(t, x)
		})
	}
}

// The tricks are tricks: without a gate, some reader would run the hidden call.
func TestTheCasesHideSomething(t *testing.T) {
	cases, err := wire.Cases()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(cases), 300)
	names := map[string]bool{}
	hides := 0
	for _, c := range cases {
		require.False(t, names[c.Name], "%s: twice", c.Name)
		names[c.Name] = true
		if !c.Hides {
			continue
		}
		hides++
		headers, body, err := c.Sent(wire.DefaultNames(), wire.Sessions)
		require.NoError(t, err)
		runs := wire.Readings(headers, body)
		require.True(t, slices.ContainsFunc(runs, wire.Run.Hidden), "%s: nobody would run the hidden call: %.200q", c.Name, body)
	}
	require.Greater(t, hides, 200)
	t.Logf("%d cases, %d of them hide a call", len(cases), hides)
}

// An ordinary call is read as what it is, and as nothing that is hidden.
func TestReadingsOfAnOrdinaryCall(t *testing.T) {
	for _, e := range eras {
		runs := wire.Readings(http.Header{"Mcp-Name": {"safe"}, "Mcp-Param-Path": {"/ok"}},
			[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe","arguments":{"path":"/ok"}`+e.Meta()+`}}`))
		require.NotEmpty(t, runs)
		for _, r := range runs {
			require.Equal(t, "safe", r.Tool)
			require.False(t, r.Hidden())
			require.True(t, strings.Contains(r.Args, "/ok"), r.Args)
		}
	}
}
