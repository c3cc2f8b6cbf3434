package bridge

import (
	"errors"
	"math"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// worker returns the process of the pool that has least to do.
func (b *Bridge) worker() (*worker, time.Duration, error) {
	b.mu.Lock()
	var best *worker
	least := math.MaxInt
	for _, w := range b.workers {
		if n := w.load(); n < least {
			best, least = w, n
		}
	}
	full := len(b.workers) >= b.o.Pool || b.processes >= b.o.Processes || time.Now().Before(b.notBefore)
	b.mu.Unlock()
	if best != nil && (least == 0 || full) {
		return best, 0, nil
	}
	w := &worker{b: b, exchanges: map[string]*pooled{}, used: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, wait, err := b.launch(w.heard, w.gone, func(p *process) {
		w.p = p
		b.workers = append(b.workers, w)
	})
	if err != nil && best != nil {
		return best, 0, nil
	}
	return w, wait, err
}

var (
	errBusy    = errors.New("too many server processes run")
	errFailing = errors.New("the server can't be started")
	errClosed  = errors.New("the gate is shutting down")
)

// launch starts a process, if one more may run, and enters it. The error may be shown;
// wait is after how long it makes sense to try again.
func (b *Bridge) launch(heard func(mcpwire.ServerMessage), gone func(*process), enter func(*process)) (p *process, wait time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch pause := time.Until(b.notBefore); {
	case b.closed:
		return nil, 0, errClosed
	case pause > 0:
		return nil, pause, errFailing
	case b.processes >= b.o.Processes:
		return nil, time.Second, errBusy
	}
	b.processes++
	b.wg.Add(1)
	p, err = start(&b.o, heard, func(p *process) {
		gone(p)
		b.over(p.spoke.Load() || p.ending.Load())
	})
	if err != nil {
		b.o.Logger.Error("a server process can't be started", "error", err)
		b.processes--
		b.wg.Done()
		b.failed()
		return nil, time.Until(b.notBefore), errFailing
	}
	enter(p)
	return p, 0, nil
}

// over notes that a process has ended, and whether it was any good.
func (b *Bridge) over(good bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.processes--
	b.wg.Done()
	if good {
		b.failures = 0
	} else {
		b.failed()
	}
}

// failed makes the next start wait. The lock is held.
func (b *Bridge) failed() {
	b.notBefore = time.Now().Add(min(firstPause<<min(b.failures, 16), b.o.Pause))
	b.failures++
}
