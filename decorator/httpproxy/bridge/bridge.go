package bridge

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	// stateless is the first version without sessions.
	stateless = "2026-07-28"
	// firstPause is that after the first failure in a row.
	firstPause = 200 * time.Millisecond
)

// A Bridge serves HTTP requests by server processes. Make one with [New], and close it.
// It is safe for concurrent use.
type Bridge struct {
	o    Options
	stop chan struct{}
	wg   sync.WaitGroup // processes, and who sweeps them

	mu        sync.Mutex
	closed    bool
	sessions  map[string]*session
	workers   []*worker
	processes int // that run
	failures  int // of starts, in a row
	notBefore time.Time
}

// New returns a Bridge. No process is started before it is needed. The error names
// each option that is missing or has no meaning.
func New(o Options) (*Bridge, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	b := &Bridge{o: o, stop: make(chan struct{}), sessions: map[string]*session{}}
	b.wg.Go(b.sweep)
	return b, nil
}

// Close ends all processes and waits for them. Requests that are open are answered
// with an error, and so is every one after it.
func (b *Bridge) Close() error {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.stop)
	}
	sessions, workers := b.all()
	b.mu.Unlock()
	for _, s := range sessions {
		s.end()
	}
	for _, w := range workers {
		w.end()
	}
	b.wg.Wait()
	return nil
}

// all returns what there is. The lock is held.
func (b *Bridge) all() (sessions []*session, workers []*worker) {
	for _, s := range b.sessions {
		sessions = append(sessions, s)
	}
	return sessions, append(workers, b.workers...)
}

// Processes returns how many server processes run, those included that are ending.
func (b *Bridge) Processes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.processes
}

// sweep ends what has been idle for too long.
func (b *Bridge) sweep() {
	ticker := time.NewTicker(min(max(b.o.Idle/4, 10*time.Millisecond), time.Minute))
	defer ticker.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-ticker.C:
		}
		b.mu.Lock()
		sessions, workers := b.all()
		b.mu.Unlock()
		for _, s := range sessions {
			if s.idle(b.o.Idle) {
				s.end()
			}
		}
		for _, w := range workers {
			if w.idle(b.o.Idle) {
				w.end()
			}
		}
	}
}

// RoundTrip implements [net/http.RoundTripper]. Only the request's method, headers and
// body are looked at. The error is that of the request's context, or nil.
func (b *Bridge) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	switch r.Method {
	case http.MethodPost:
		return b.post(r)
	case http.MethodGet, http.MethodDelete:
	default:
		return notAllowed(r), nil
	}
	id := r.Header.Get(sessionHeader)
	switch s := b.session(r); {
	case id == "" && r.Header.Get(versionHeader) >= stateless:
		return notAllowed(r), nil
	case id == "":
		return problem(r, http.StatusBadRequest, nil, mcpwire.CodeInvalidRequest, "the request names no session"), nil
	case s == nil:
		return b.gone(r, nil), nil
	case r.Method == http.MethodDelete:
		s.end()
		return empty(r, http.StatusNoContent), nil
	case !strings.Contains(strings.ToLower(strings.Join(r.Header.Values("Accept"), ",")), "text/event-stream"):
		return notAcceptable(r), nil
	default:
		return s.listen(r), nil
	}
}

func (b *Bridge) post(r *http.Request) (*http.Response, error) {
	body, err := read(r, b.o.MessageBytes)
	if errors.Is(err, errTooLarge) {
		return problem(r, http.StatusRequestEntityTooLarge, nil, mcpwire.CodeInvalidRequest, "the message is too large"), nil
	} else if err != nil {
		return nil, err
	}
	m, fault := mcpwire.Read(body, mcpwire.Limits{Bytes: b.o.MessageBytes, Multiline: true})
	if fault != nil {
		return plain(r, http.StatusBadRequest, http.Header{}, fault.Answer()), nil
	}
	hasSession := r.Header.Get(sessionHeader) != ""
	modern := m.Meta(mcpwire.MetaProtocolVersion) != nil || r.Header.Get(versionHeader) >= stateless
	switch {
	case hasSession:
		if s := b.session(r); s != nil {
			return s.post(r, m, body)
		}
		return b.gone(r, m.ID), nil
	case m.Kind == mcpwire.Request && m.Method == mcpwire.Initialize:
		return b.begin(r, m, body)
	case !modern:
		return problem(r, http.StatusBadRequest, m.ID, mcpwire.CodeInvalidRequest, "the request names no session"), nil
	case m.Kind == mcpwire.Notification:
		return empty(r, http.StatusAccepted), nil // of no request that could be told from others
	case m.Kind != mcpwire.Request:
		return problem(r, http.StatusBadRequest, nil, mcpwire.CodeInvalidRequest, "a stateless client was asked nothing"), nil
	}
	w, wait, err := b.worker()
	if err != nil {
		return unavailable(r, m.ID, wait, err), nil
	}
	return w.post(r, m, body)
}

var errTooLarge = errors.New("too large")

func read(r *http.Request, most int) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	if err == nil && len(body) > most {
		err = errTooLarge
	}
	return body, err
}

func ownerOf(r *http.Request) owner {
	c := policy.CallerFrom(r.Context())
	return owner{c.Subject, c.Tenant}
}

// session returns the one that a request names, nil when it isn't there, or somebody else's.
func (b *Bridge) session(r *http.Request) *session {
	ids := r.Header.Values(sessionHeader)
	if len(ids) != 1 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sessions[ids[0]]; s != nil && s.owner == ownerOf(r) {
		return s
	}
	return nil
}

// begin starts a session.
func (b *Bridge) begin(r *http.Request, m *mcpwire.Message, body []byte) (*http.Response, error) {
	s := &session{b: b, id: rand.Text(), owner: ownerOf(r), used: time.Now()}
	s.mu.Lock()
	p, wait, err := b.launch(s.heard, s.gone, func(p *process) {
		s.p = p
		b.sessions[s.id] = s
	})
	s.mu.Unlock()
	if err != nil {
		return unavailable(r, m.ID, wait, err), nil
	}
	resp, err := s.post(r, m, body)
	if err != nil || resp.Header.Get(sessionHeader) == "" {
		p.end() // nobody knows of it
	}
	return resp, err
}

func (b *Bridge) forget(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sessions, s.id)
}

func (b *Bridge) dismiss(w *worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.workers {
		if other == w {
			b.workers = append(b.workers[:i:i], b.workers[i+1:]...)
			return
		}
	}
}

// gone is the answer to a request of a session that isn't there (any more).
func (b *Bridge) gone(r *http.Request, id json.RawMessage) *http.Response {
	return problem(r, http.StatusNotFound, id, mcpwire.CodeInvalidRequest, "there is no such session")
}

func unavailable(r *http.Request, id json.RawMessage, wait time.Duration, err error) *http.Response {
	resp := problem(r, http.StatusServiceUnavailable, id, mcpwire.CodeInternal, err.Error())
	resp.Header.Set("Retry-After", strconv.Itoa(int(max(wait.Seconds(), 0))+1))
	return resp
}

func notAllowed(r *http.Request) *http.Response {
	resp := problem(r, http.StatusMethodNotAllowed, nil, mcpwire.CodeInvalidRequest, "this method is not for this endpoint")
	resp.Header.Set("Allow", "GET, POST, DELETE")
	return resp
}

func notAcceptable(r *http.Request) *http.Response {
	return problem(r, http.StatusNotAcceptable, nil, mcpwire.CodeInvalidRequest, "accept application/json and text/event-stream")
}
