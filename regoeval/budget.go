package regoeval

import "sync/atomic"

// A budget stops an evaluation after a number of steps. topdown asks it once per
// expression, on one goroutine, so the count is the same on every run and every
// machine; stopping from outside, by the deadline, is the only thing that crosses
// goroutines.
type budget struct {
	left    int64
	stopped atomic.Bool
}

// Cancel implements topdown.Cancel.
func (b *budget) Cancel() { b.stopped.Store(true) }

// Cancelled implements topdown.Cancel and takes one step.
func (b *budget) Cancelled() bool {
	b.left--
	return b.left < 0 || b.stopped.Load()
}

func (b *budget) exhausted() bool { return b.left < 0 }
