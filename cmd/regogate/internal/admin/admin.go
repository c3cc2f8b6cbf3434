// Package admin answers operators: a listener of its own, apart from the one that agents
// talk to, that says whether the gate lives, whether it is ready, what is in force and
// what was measured.
//
//	GET /healthz   200 while the process answers
//	GET /readyz    200 when a ruleset is in force, 503 with the reason when none is
//	GET /status    the start-up report as it is now, as JSON
//	GET /metrics   the measurements, for Prometheus
//
// Nothing can be changed through it, and it serves loopback only, unless that is said by
// name. On loopback the Host header has to name a loopback address, so that no web page
// reads it by a name that resolves there.
//
// # Limits
//
// It knows no users and no TLS: whoever reaches the address reads what it says.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Options say what to answer. All but Anywhere are required.
type Options struct {
	// Listen is HOST:PORT; port 0 takes any that is free.
	Listen string
	// Anywhere allows another host than loopback.
	Anywhere bool
	// Ready says why calls can't be decided; nil when they can. Its text is shown.
	Ready func() error
	// Status returns what is shown as JSON.
	Status func() any
	// Metrics answers for /metrics.
	Metrics http.Handler
}

// Bounds of one request and of all.
const (
	readTimeout  = 5 * time.Second
	writeTimeout = 15 * time.Second
	idleTimeout  = time.Minute
	headerBytes  = 16 << 10
	maxRequests  = 32
	closeTimeout = 2 * time.Second
)

// A Server is a listener that answers. Make it with [Listen] and close it.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan struct{}
}

// Listen starts to answer. The error says what is wrong with the address.
func Listen(o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(o.Listen)
	switch {
	case err != nil:
		return nil, fmt.Errorf("admin.listen: %q is no HOST:PORT: write 127.0.0.1:9400", o.Listen)
	case !o.Anywhere && !isLoopback(host):
		return nil, fmt.Errorf("admin.listen: %q is not a loopback address: write 127.0.0.1, [::1] or localhost, or allow it with admin.access: any", o.Listen)
	}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("admin.listen: %w: give it another address", err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); !o.Anywhere && (!ok || !at.IP.IsLoopback()) { // a localhost that isn't one
		return nil, errors.Join(fmt.Errorf("admin.listen: %q is at %s, which is not loopback", o.Listen, listener.Addr()), listener.Close())
	}
	s := &Server{listener: listener, done: make(chan struct{}), http: &http.Server{
		Handler:           Handler(o),
		ReadTimeout:       readTimeout,
		ReadHeaderTimeout: readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          log.New(io.Discard, "", 0), // what a stranger sends is no news
	}}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // ends when it is closed
	}()
	return s, nil
}

// Addr returns HOST:PORT as it is listened on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends it, after the requests under way, if they don't take long.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	<-s.done
}

// Handler is what a [Server] answers with.
func Handler(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := o.Ready(); err != nil {
			text(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
		text(w, http.StatusOK, "ready")
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.MarshalIndent(o.Status(), "", "  ")
		if err != nil {
			text(w, http.StatusInternalServerError, "the status can't be written")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(body, '\n'))
	})
	mux.Handle("/metrics", o.Metrics)
	slots := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			text(w, http.StatusMethodNotAllowed, "nothing can be changed here: use GET")
			return
		case !o.Anywhere && !loopbackHost(r.Host):
			text(w, http.StatusMisdirectedRequest, "the Host header names no loopback address")
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			mux.ServeHTTP(w, r)
		default:
			text(w, http.StatusServiceUnavailable, "too many requests at once")
		}
	})
}

func text(w http.ResponseWriter, status int, what string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, what+"\n")
}

// loopbackHost reports whether a Host header, with or without a port, names loopback.
func loopbackHost(header string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return isLoopback(host)
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
