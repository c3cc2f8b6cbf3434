package serve

import (
	"context"
	"net/http"
	"sync"
)

// A drain knows which requests are under way, and lets them end. Its zero value is ready.
type drain struct {
	mu       sync.Mutex
	draining bool
	calls    int           // requests under way but streams
	finished chan struct{} // closed when draining and there are none
	next     int
	open     map[int]opened
}

type opened struct {
	end    context.CancelFunc
	stream bool
}

// wrap counts the requests of next. While draining, new ones are answered 503.
func (d *drain) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		key, ok := d.enter(opened{cancel, isStream(r)})
		if !ok {
			h := w.Header()
			h.Set("Connection", "close")
			h.Set("Retry-After", "1")
			h.Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the gate is shutting down"}}`))
			return
		}
		defer d.leave(key)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// isStream reports whether a request asks for a stream that has no end of its own. What
// the header says is what the body says, or the proxy refuses it.
func isStream(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen"
}

func (d *drain) enter(o opened) (key int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return 0, false
	}
	if d.open == nil {
		d.open = map[int]opened{}
	}
	d.next++
	d.open[d.next] = o
	if !o.stream {
		d.calls++
	}
	return d.next, true
}

func (d *drain) leave(key int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.open[key].stream {
		d.calls--
	}
	delete(d.open, key)
	d.check()
}

// check says that the calls have finished. The lock is held.
func (d *drain) check() {
	if d.draining && d.calls == 0 && d.finished != nil {
		close(d.finished)
		d.finished = nil
	}
}

// begin refuses new requests. The channel is closed when no call is under way any more;
// streams may be.
func (d *drain) begin() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	finished := make(chan struct{})
	d.draining, d.finished = true, finished
	d.check()
	return finished
}

// end ends the streams, and everything else if all is set.
func (d *drain) end(all bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.open {
		if all || o.stream {
			o.end()
		}
	}
}

func (d *drain) isDraining() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.draining
}
