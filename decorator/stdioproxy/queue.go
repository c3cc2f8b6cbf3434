package stdioproxy

import (
	"slices"
	"sync"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/decorator/internal/toolbox"
)

// An item is a message of the client that waits for its turn.
type item struct {
	line     []byte
	message  *mcpwire.Message
	question *toolbox.Question // of a call whose tool wasn't known when it came
	deadline time.Time
	gone     chan struct{} // closed when the item was cancelled
}

// itemOverhead is what a short item takes in memory beside its line.
const itemOverhead = 512

// size is what the item counts for in a queue.
func (it *item) size() int { return len(it.line) + itemOverhead }

// A queue keeps the order of what can't go to the server at once. One goroutine adds
// (the client's reader), one takes (the forwarder).
type queue struct {
	limits Hold

	mu      sync.Mutex
	items   []*item
	calls   int
	bytes   int
	busy    string // IDKey of the request being processed, or "-"; "" when none is
	waiting bool   // the forwarder waits for the tools, not for the server
	closed  bool   // nothing will be added
	dropped bool   // nothing will be taken
	news    chan struct{}
}

func newQueue(h Hold) *queue { return &queue{limits: h, news: make(chan struct{})} }

func (q *queue) tell() {
	close(q.news)
	q.news = make(chan struct{})
}

// idle reports that nothing waits and nothing is being processed, so that whoever
// adds may process a message itself instead.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) == 0 && q.busy == "" && !q.dropped
}

// add puts it at the end. While the forwarder works off the queue, add waits for room;
// while it waits for the tools, there may be none, and add reports that.
func (q *queue) add(it *item) bool {
	if it.message.IsCall() && it.size() > q.limits.Bytes {
		return false
	}
	for {
		q.mu.Lock()
		if q.dropped || q.room(it) {
			if !q.dropped {
				q.items = append(q.items, it)
				q.count(it, +1)
				q.tell()
			}
			q.mu.Unlock()
			return true
		}
		full, news := q.waiting, q.news
		q.mu.Unlock()
		if full {
			return false
		}
		<-news
	}
}

// room reports whether it may be added now. Something larger than the whole queue may
// be on its way through it, but must not wait there.
func (q *queue) room(it *item) bool {
	switch {
	case it.message.IsCall() && q.calls >= q.limits.Calls:
		return false
	case it.size() > q.limits.Bytes:
		return len(q.items) == 0 && !q.waiting
	default:
		return q.bytes+it.size() <= q.limits.Bytes
	}
}

func (q *queue) count(it *item, n int) {
	q.bytes += n * it.size()
	if it.message.IsCall() {
		q.calls += n
	}
}

// cancel takes the waiting requests with that id out. handled reports that the
// cancellation is done with; otherwise later says that it has to keep the order.
func (q *queue) cancel(key string) (handled, later bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = slices.DeleteFunc(q.items, func(it *item) bool {
		if it.message.Kind != mcpwire.Request || mcpwire.IDKey(it.message.ID) != key {
			return false
		}
		handled = true
		q.count(it, -1)
		close(it.gone)
		return true
	})
	if handled {
		q.tell()
	}
	return handled, key != "" && q.busy == key
}

// head returns the first item, which stays where it is, or nil when there will be none.
func (q *queue) head() *item {
	for {
		q.mu.Lock()
		if len(q.items) > 0 && !q.dropped {
			it := q.items[0]
			q.mu.Unlock()
			return it
		}
		ended, news := q.closed || q.dropped, q.news
		q.mu.Unlock()
		if ended {
			return nil
		}
		<-news
	}
}

// take takes the first item out to be processed, unless it is gone.
func (q *queue) take(it *item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped || len(q.items) == 0 || q.items[0] != it {
		return false
	}
	q.items[0] = nil
	q.items = q.items[1:]
	q.count(it, -1)
	q.busy = "-"
	if it.message.Kind == mcpwire.Request {
		q.busy = mcpwire.IDKey(it.message.ID)
	}
	q.tell()
	return true
}

// processed ends what take began.
func (q *queue) processed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = ""
	q.tell()
}

// wait says whether the forwarder waits for the tools.
func (q *queue) wait(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting != on {
		q.waiting = on
		q.tell()
	}
}

// close says that nothing more will be added; drop, that nothing more will be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.tell()
}

func (q *queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped, q.items = true, nil
	q.tell()
}
