package bridge

import (
	"io"
	"maps"
	"net/http"
)

// ServeHTTP implements [net/http.Handler], for a server that stands behind no proxy.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resp, err := b.RoundTrip(r)
	if err != nil {
		return // the client has gone
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	if resp.ContentLength >= 0 {
		_, _ = io.Copy(w, resp.Body) // whether the client reads it changes nothing
		return
	}
	flush := http.NewResponseController(w).Flush
	buffer := make([]byte, 32<<10)
	for failed := flush(); failed == nil; failed = flush() {
		n, err := resp.Body.Read(buffer)
		if _, gone := w.Write(buffer[:n]); err != nil || gone != nil {
			return
		}
	}
}
