package bridge

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// An owner is who began a session. Nobody else may use it, whoever knows its id.
type owner struct{ subject, tenant string }

const (
	// backlog is how many messages wait for somebody who can be told.
	backlog = 256
	// pending is how many requests of one session may wait for an answer.
	pending = 1024
)

// A session is one client and the process that serves it.
type session struct {
	b     *Bridge
	id    string
	owner owner
	p     *process

	mu        sync.Mutex
	ended     bool
	exchanges []*exchange // in the order in which they came
	listening *stream     // of the GET that is open; nil when none is
	waiting   []mcpwire.ServerMessage
	held      int       // bytes of what waits
	busy      int       // streams and exchanges that are open
	used      time.Time // when something was open last
}

// heard passes on what the server says. Only one call is made at a time.
func (s *session) heard(m mcpwire.ServerMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.IsResponse():
		s.answered(m)
	case m.Method == "notifications/progress":
		switch e := s.progressOf(m.Raw); {
		case e == nil: // of a task, whose request has been answered
			s.tell(m)
		case e.carries():
			e.events.put(m.Raw)
		}
	case m.Method != "":
		s.tell(m)
	default:
		s.b.o.Logger.Warn("a server process answered no request", "pid", s.p.cmd.Process.Pid)
	}
}

// answered gives an answer to the request that it is for. The lock is held.
func (s *session) answered(m mcpwire.ServerMessage) {
	// Two that wait never have ids that a server which rounds takes for one, see enter.
	i := slices.IndexFunc(s.exchanges, func(e *exchange) bool { return mcpwire.SameID(e.message.ID, m.ID) })
	if i < 0 {
		s.b.o.Logger.Info("an answer comes too late for its request, and is dropped")
		return
	}
	e := s.exchanges[i]
	if e.message.Method == mcpwire.Initialize {
		if m.Error != nil { // there is no session then
			e.void.Store(true)
			go s.end()
		}
	}
	e.answer(m.Raw)
}

// progressOf returns the request that a progress notification is about, nil when
// that can't be told. The lock is held.
func (s *session) progressOf(message []byte) *exchange {
	places, err := find(message)
	if err != nil {
		return nil
	}
	said, found := places[atToken].of(message), (*exchange)(nil)
	for _, e := range s.exchanges {
		switch token := e.message.Meta("progressToken"); {
		case token == nil || !mcpwire.SameID(token, said):
		case found != nil:
			return nil // of one of two, and whoever is meant can't be told
		default:
			found = e
		}
	}
	return found
}

// tell passes on a message that belongs to no request: to the GET stream, to the
// youngest request that can carry it, or to whichever of these comes next. The lock is held.
func (s *session) tell(m mcpwire.ServerMessage) {
	if s.listening != nil && s.listening.put(m.Raw) {
		return
	}
	for _, e := range slices.Backward(s.exchanges) {
		if e.carries() && e.events.put(m.Raw) {
			return
		}
	}
	if len(s.waiting) < backlog && s.held+len(m.Raw) <= s.b.o.MessageBytes {
		s.waiting = append(s.waiting, m)
		s.held += len(m.Raw)
		return
	}
	s.b.o.Logger.Warn("nobody listens to a server process: what it says is dropped")
	if m.ID != nil {
		id := m.ID
		go func() {
			_ = s.p.write(mcpwire.ErrorResponse(id, mcpwire.CodeInternal, "the client doesn't listen", nil))
		}()
	}
}

// flush gives what waits to somebody new. The lock is held.
func (s *session) flush() {
	waiting := s.waiting
	s.waiting, s.held = nil, 0
	for _, m := range waiting {
		s.tell(m)
	}
}

// post handles one message of the client.
func (s *session) post(r *http.Request, m *mcpwire.Message, body []byte) (*http.Response, error) {
	if m.Kind != mcpwire.Request {
		s.touch(0)
		if err := s.p.write(body); err != nil {
			return s.b.gone(r, nil), nil
		}
		if m.Method == mcpwire.Cancelled {
			s.cancelled(m.Param("requestId"))
		}
		return empty(r, http.StatusAccepted), nil
	}
	e, ok := newExchange(m, r, s.b.o.MessageBytes)
	if !ok {
		return notAcceptable(r), nil
	}
	if m.Method == mcpwire.Initialize {
		e.start = s.b.o.Start
		e.header.Set(sessionHeader, s.id)
	}
	if why := s.enter(e); why != "" {
		return problem(r, http.StatusBadRequest, m.ID, mcpwire.CodeInvalidRequest, why), nil
	}
	if err := s.p.write(body); err != nil {
		e.fail(mcpwire.CodeInternal, err.Error())
	}
	return e.await(r)
}

// enter makes an exchange wait for its answer, or says why it may not.
func (s *session) enter(e *exchange) (why string) {
	var once sync.Once
	e.forgotten = func() { once.Do(func() { s.leave(e) }) }
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.exchanges {
		if mcpwire.SameID(other.message.ID, e.message.ID) {
			return "the id is that of a request that hasn't been answered yet, or one that a server which rounds takes for it"
		}
	}
	if len(s.exchanges) >= pending {
		return "too many requests wait for an answer"
	}
	s.exchanges = append(s.exchanges, e)
	s.busy++
	if s.ended {
		e.fail(mcpwire.CodeInternal, errEnded.Error())
	}
	s.flush()
	return ""
}

func (s *session) leave(e *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exchanges = slices.DeleteFunc(s.exchanges, func(o *exchange) bool { return o == e })
	s.busy--
	s.used = time.Now()
}

// cancelled ends the stream of a request that its client doesn't want answered any
// more, unless the server answers it all the same.
func (s *session) cancelled(id json.RawMessage) {
	key := mcpwire.IDKey(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.exchanges {
		if mcpwire.IDKey(e.message.ID) == key && e.message.Method != mcpwire.Initialize {
			time.AfterFunc(plainWait, e.events.end)
		}
	}
}

// listen handles a GET. It takes over from another one: a client that has lost its
// connection comes back before that is noticed here.
func (s *session) listen(r *http.Request) *http.Response {
	l := newStream(s.b.o.MessageBytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return s.b.gone(r, nil)
	}
	if s.listening != nil {
		s.listening.end()
	}
	s.listening = l
	s.busy++
	s.flush()
	return streamed(r, http.Header{}, newEvents(r.Context(), l, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.listening == l {
			s.listening = nil
		}
		s.busy--
		s.used = time.Now()
		// What it hasn't read is lost, as it would be on any broken connection.
	}))
}

// touch notes that the session is used.
func (s *session) touch(open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += open
	s.used = time.Now()
}

// idle reports whether nothing has been open for longer than d.
func (s *session) idle(d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy == 0 && time.Since(s.used) > d
}

// end ends the session and its process.
func (s *session) end() {
	s.b.forget(s)
	s.p.end()
}

// gone answers for a process that has ended.
func (s *session) gone(*process) {
	s.b.forget(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, e := range s.exchanges {
		e.void.Store(true)
		e.fail(mcpwire.CodeInternal, errEnded.Error())
	}
	if s.listening != nil {
		s.listening.end()
	}
}
