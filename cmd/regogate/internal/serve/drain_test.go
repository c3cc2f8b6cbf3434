package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Streams without an end don't hold a drain up, calls do, and new requests are refused.
func TestDrainWaitsForCallsOnly(t *testing.T) {
	var d drain
	entered, release := make(chan struct{}), make(chan struct{})
	h := d.wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		if isStream(r) {
			<-r.Context().Done()
			return
		}
		<-release
	}))
	begin := func(method, mcpMethod string) (done <-chan struct{}) {
		r := httptest.NewRequestWithContext(context.Background(), method, "/mcp", http.NoBody)
		r.Header.Set("Mcp-Method", mcpMethod)
		over := make(chan struct{})
		go func() {
			defer close(over)
			h.ServeHTTP(httptest.NewRecorder(), r)
		}()
		<-entered
		return over
	}
	get, listen, call := begin(http.MethodGet, ""), begin(http.MethodPost, "subscriptions/listen"), begin(http.MethodPost, "tools/call")
	finished := d.begin()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody))
	require.Equal(t, 503, w.Code)
	require.Equal(t, "close", w.Header().Get("Connection"))
	select {
	case <-finished:
		t.Fatal("a call is under way")
	default:
	}
	close(release)
	<-call
	<-finished // while the streams are open
	d.end(false)
	<-get
	<-listen
}
