package report

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// waiting is how many lines may wait for a slow reader of the log.
	waiting = 1024
	// patience is how long Close waits for that reader.
	patience = time.Second
)

// An Async writer never makes its callers wait: a log that nobody reads must not stop
// the calls that it is about. Lines that find no room are dropped, and counted in a
// line of their own.
type Async struct {
	json    bool
	lines   chan []byte
	dropped atomic.Int64
	closing sync.Once
	closed  chan struct{} // no more lines are taken
	done    chan struct{} // all lines are written
}

// NewAsync returns a writer that passes lines of JSON or of text on to w. Close it.
func NewAsync(w io.Writer, json bool) *Async {
	a := &Async{json: json, lines: make(chan []byte, waiting), closed: make(chan struct{}), done: make(chan struct{})}
	go a.run(w)
	return a
}

// Write takes one line. It always succeeds.
func (a *Async) Write(line []byte) (int, error) {
	select {
	case <-a.closed:
		return len(line), nil
	default:
	}
	select {
	case a.lines <- bytes.Clone(line):
	default:
		a.dropped.Add(1)
	}
	return len(line), nil
}

// Close writes what is waiting, if that doesn't take too long. Lines that come later
// are dropped.
func (a *Async) Close() {
	a.closing.Do(func() { close(a.closed) })
	select {
	case <-a.done:
	case <-time.After(patience):
	}
}

func (a *Async) run(w io.Writer) {
	defer close(a.done)
	for {
		select {
		case line := <-a.lines:
			a.write(w, line)
		case <-a.closed:
			for {
				select {
				case line := <-a.lines:
					a.write(w, line)
				default:
					return
				}
			}
		}
	}
}

func (a *Async) write(w io.Writer, line []byte) {
	if n := a.dropped.Swap(0); n > 0 {
		slog.New(handler(w, a.json)).Error("lines of the log were dropped, because nobody read them in time", "lines", n)
	}
	_, _ = w.Write(line) // there is nobody to tell
}
