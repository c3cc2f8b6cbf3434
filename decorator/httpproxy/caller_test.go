package httpproxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

// A knowing transport is a server that says what it was asked, and by whom.
type knowing struct {
	mu    sync.Mutex
	asked []string
}

func (k *knowing) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	c := policy.CallerFrom(r.Context())
	k.mu.Lock()
	k.asked = append(k.asked, m.Method+" "+c.Subject+"@"+c.Tenant)
	k.mu.Unlock()
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", jsonType)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"tools":[{"name":"read","inputSchema":%s}]}}`, m.ID, adaptertest.PathSchema)
	res := w.Result()
	res.Request = r
	return res, nil
}

func (k *knowing) take() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	asked := k.asked
	k.asked = nil
	return asked
}

// A transport is told who makes a request, also of the gate's own question, which is put
// once for each of them.
func TestTransportKnowsTheCaller(t *testing.T) {
	k := &knowing{}
	p, err := httpproxy.New(httpproxy.Options{
		Gate: adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), Transport: k,
		Caller: func(r *http.Request) (policy.Caller, error) {
			return policy.Caller{Subject: r.Header.Get("User-Agent"), Tenant: "t"}, nil // no header that tells the server who asks
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	ask := func(subject string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(call))
		for name, value := range map[string]string{"Content-Type": jsonType, "Mcp-Session-Id": "s", "User-Agent": subject} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		require.Contains(t, w.Body.String(), `"content":[]`)
	}
	ask("ann")
	require.Equal(t, []string{"tools/list ann@t", "tools/call ann@t"}, k.take())
	ask("bob")
	require.Equal(t, []string{"tools/list bob@t", "tools/call bob@t"}, k.take())
	ask("ann")
	require.Equal(t, []string{"tools/call ann@t"}, k.take())
}
