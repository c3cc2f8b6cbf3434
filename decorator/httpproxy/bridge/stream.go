package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// keepAlive is how often a stream on which nothing happens is given a comment, so that
// nobody between takes it for dead.
const keepAlive = 15 * time.Second

// A stream is the messages for one HTTP answer, from whoever has them to whoever reads
// the answer. It never makes a server wait: a client that reads too slowly loses it.
type stream struct {
	most    int           // bytes that may wait
	changed chan struct{} // has an element when something happened
	mu      sync.Mutex
	waiting [][]byte
	size    int
	ended   bool
}

func newStream(most int) *stream { return &stream{most: most, changed: make(chan struct{}, 1)} }

// put adds a message, and reports whether somebody may read it.
func (s *stream) put(message []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	if s.size += len(message); s.size > s.most && len(s.waiting) > 0 {
		s.ended, s.waiting = true, nil
		s.signal()
		return false
	}
	s.waiting = append(s.waiting, message)
	s.signal()
	return true
}

// end says that nothing more will come.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.signal()
}

func (s *stream) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// take returns what waits, and whether nothing more will come.
func (s *stream) take() (messages [][]byte, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	messages, s.waiting, s.size = s.waiting, nil, 0
	return messages, s.ended
}

// only returns the last message when it is the only one there was or will be.
func (s *stream) only() (message []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended || len(s.waiting) != 1 {
		return nil, false
	}
	return s.waiting[0], true
}

// something reports whether a message waits or nothing will come.
func (s *stream) something() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended || len(s.waiting) > 0
}

// events reads a stream as server-sent events. Close says that nobody reads any more.
type events struct {
	s      *stream
	ctx    context.Context
	cancel context.CancelFunc
	buffer bytes.Buffer
	stop   func() bool
	close  func()
	once   sync.Once
}

// newEvents returns a body that ends with ctx. closed is called once, at the end.
func newEvents(ctx context.Context, s *stream, closed func()) *events {
	e := &events{s: s, close: closed}
	e.ctx, e.cancel = context.WithCancel(ctx)
	e.stop = context.AfterFunc(e.ctx, e.finish)
	return e
}

var errBodyClosed = errors.New("bridge: read of a closed body")

// Read implements io.Reader. It returns each message as soon as it is there.
func (e *events) Read(p []byte) (int, error) {
	for e.buffer.Len() == 0 {
		messages, ended := e.s.take()
		for _, m := range messages {
			writeEvent(&e.buffer, m)
		}
		if e.buffer.Len() > 0 {
			break
		}
		if ended {
			return 0, io.EOF
		}
		timer := time.NewTimer(keepAlive)
		select {
		case <-e.s.changed:
		case <-timer.C:
			e.buffer.WriteString(": still here\n\n")
		case <-e.ctx.Done():
			timer.Stop()
			return 0, errBodyClosed
		}
		timer.Stop()
	}
	return e.buffer.Read(p)
}

// Close implements io.Closer.
func (e *events) Close() error {
	e.finish()
	e.cancel()
	e.stop()
	return nil
}

func (e *events) finish() {
	e.once.Do(func() {
		e.s.end()
		e.close()
	})
}

// writeEvent writes a message as one event. A carriage return would end its line, and
// can only be white space between tokens.
func writeEvent(b *bytes.Buffer, message []byte) {
	b.WriteString("event: message\ndata: ")
	b.Write(bytes.ReplaceAll(bytes.ReplaceAll(message, []byte{'\r'}, []byte{' '}), []byte{'\n'}, []byte{' '}))
	b.WriteString("\n\n")
}
