package decisionlog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Sink is where records go. Its methods are called by one goroutine at a time.
type Sink interface {
	// Name tells operators which sink it is.
	Name() string
	// Write takes records, each a line of JSON with its line feed. It may take its time,
	// and comes back when ctx ends. With an error it says how many of them, from the
	// front, it has taken: the others are lost. The lines are its own to keep.
	Write(ctx context.Context, lines [][]byte) (taken int, err error)
	// Close releases what the sink holds.
	Close() error
}

// A Lingerer is a Sink that would rather get many records at once.
type Lingerer interface {
	// Linger says how long to collect records, and how many bytes are enough.
	Linger() (time.Duration, int64)
}

// maxBatch is how many bytes of records a sink gets at once.
const maxBatch = 1 << 20

// A pipe is the bounded way to one sink, so that one that hangs doesn't stop the others.
type pipe struct {
	sink      Sink
	log       *slog.Logger
	max       int64
	wait      time.Duration
	enough    int64
	discarded atomic.Int64

	mu     sync.Mutex
	lines  [][]byte
	bytes  int64 // of lines and of those being written
	full   bool  // a line found no room, and the sink has taken none since
	closed bool

	more  chan struct{} // something was put, or the pipe closed
	ended chan struct{}
	ctx   context.Context // ends when the sink has to give up
	stop  context.CancelFunc
}

func newPipe(s Sink, max int64, log *slog.Logger) *pipe {
	p := &pipe{sink: s, log: log, max: max, more: make(chan struct{}, 1), ended: make(chan struct{})}
	if l, ok := s.(Lingerer); ok {
		p.wait, p.enough = l.Linger()
		p.enough = min(p.enough, max/2)
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	go p.run()
	return p
}

// overhead is what a line takes beside its bytes.
const overhead = 64

// put adds a line unless there is no room for it.
func (p *pipe) put(line []byte) bool {
	size := int64(len(line)) + overhead
	p.mu.Lock()
	room := !p.closed && p.bytes+size <= p.max
	if room {
		p.lines = append(p.lines, line)
		p.bytes += size
	}
	p.full = p.full || !room && p.bytes > 0 // and not for a line that never has room
	p.mu.Unlock()
	if room {
		p.wake()
	}
	return room
}

// hasRoom reports whether it is worth while to make another line.
func (p *pipe) hasRoom() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.full && !p.closed
}

func (p *pipe) wake() {
	select {
	case p.more <- struct{}{}:
	default:
	}
}

func (p *pipe) run() {
	defer close(p.ended)
	for range p.more {
		p.linger()
		for {
			batch, size, closed := p.take()
			if len(batch) > 0 {
				p.write(batch, size)
				continue
			}
			if closed {
				return
			}
			break
		}
	}
}

// linger waits until there is enough, or for as long as the sink likes.
func (p *pipe) linger() {
	if p.wait <= 0 {
		return
	}
	t := time.NewTimer(p.wait)
	defer t.Stop()
	for {
		p.mu.Lock()
		full := p.closed || p.bytes >= p.enough
		p.mu.Unlock()
		if full {
			p.wake()
			return
		}
		select {
		case <-p.more:
		case <-t.C:
			return
		}
	}
}

// take removes the next batch.
func (p *pipe) take() (batch [][]byte, size int64, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.lines) && (n == 0 || size < maxBatch) {
		size += int64(len(p.lines[n])) + overhead
		n++
	}
	batch = slices.Clone(p.lines[:n])
	clear(p.lines[:n]) // what was taken isn't kept in memory by what wasn't
	if p.lines = p.lines[n:]; len(p.lines) == 0 {
		p.lines = nil
	}
	return batch, size, p.closed
}

func (p *pipe) write(batch [][]byte, size int64) {
	taken, err := p.deliver(batch)
	if err != nil {
		lost := int64(len(batch) - taken)
		p.discarded.Add(lost)
		p.log.Error("decision log: a sink has trouble", "sink", p.sink.Name(), "lost_records", lost, "why", err.Error())
	}
	p.mu.Lock()
	p.bytes -= size
	p.full = false
	p.mu.Unlock()
}

func (p *pipe) deliver(batch [][]byte) (taken int, err error) {
	defer func() {
		if r := recover(); r != nil {
			taken, err = 0, fmt.Errorf("panic: %v", r)
		}
	}()
	return p.sink.Write(p.ctx, batch)
}

// close lets the sink take what is waiting, until ctx ends.
func (p *pipe) close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.wake()
	select {
	case <-p.ended:
		p.stop()
		return p.sink.Close()
	case <-ctx.Done():
	}
	p.stop()
	p.mu.Lock()
	left := len(p.lines)
	p.mu.Unlock()
	select { // a sink that heeds its context ends now
	case <-p.ended:
	case <-time.After(time.Second):
	}
	return fmt.Errorf("decision log: %s: gave up with at least %d records waiting", p.sink.Name(), left)
}
