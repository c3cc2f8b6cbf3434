package httpproxy

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

const eventBytes = 1 << 20 // longer events are passed on in pieces, and not looked at

// A stream is the body of an event stream, as the client gets it: what the server sent,
// and an error of the gate's if the server ends it without the answer that it owes.
type stream struct {
	x      *exchange
	body   io.ReadCloser
	events *events

	ready     []byte
	err       error // after ready
	answered  bool
	resumable bool // the client can ask for what is missing
}

func newStream(x *exchange, body io.ReadCloser) *stream {
	return &stream{x: x, body: body, events: newEvents(body, eventBytes)}
}

// Read implements io.Reader. It returns whole events.
func (s *stream) Read(b []byte) (int, error) {
	for len(s.ready) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		ready, err := s.events.next(s.event)
		s.ready = ready
		if err != nil {
			s.finish(err)
		}
	}
	n := copy(b, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *stream) Close() error { return s.body.Close() }

// event looks at one event.
func (s *stream) event(event []byte) {
	if event == nil {
		s.answered = true // nobody knows; it is long enough
		return
	}
	s.resumable = s.resumable || hasField(event, "id")
	s.answered = s.answered || s.owes() && s.x.answeredBy(eventData(event), false)
	if bytes.Contains(event, []byte("list_changed")) {
		s.x.heard(eventData(event))
	}
}

// owes reports whether the stream is to have an answer.
func (s *stream) owes() bool { return s.x.m != nil && s.x.m.Kind == mcpwire.Request }

// finish decides how the stream ends.
func (s *stream) finish(err error) {
	rest := s.events.rest()
	gone := s.x.r.Context().Err() != nil && !errors.Is(context.Cause(s.x.r.Context()), errClosed)
	s.err = err
	if s.owes() && !s.answered && !gone && !s.resumable {
		// What is left of an event would only spoil what comes now, and what was passed on
		// of one has to end before that.
		end := ""
		if s.events.over {
			end = "\n\n"
		}
		s.x.p.o.Logger.Warn("the server ended its stream without an answer", "server", s.x.p.o.Server, "error", err)
		message := mcpwire.ErrorResponse(s.x.m.ID, mcpwire.CodeInternal, "the server's answer ended before it was complete", nil)
		s.ready = append(bytes.Clone(s.ready), end+"event: message\ndata: "+string(message)+"\n\n"...)
		s.err = io.EOF
		return
	}
	s.ready = append(bytes.Clone(s.ready), rest...)
}
