package inputschema

import (
	"runtime"
	"sync/atomic"
)

// maxEngines bounds the copies of one schema. A check keeps a processor busy, so more
// copies than processors would not make anything faster.
const maxEngines = 16

// A pool holds the compiled copies of a schema that no check is using, and makes
// further ones when there is none, up to a bound. Beyond it a check waits for another
// to end, which is soon: each is bounded itself.
type pool struct {
	free  chan *engine
	made  atomic.Int32
	build func() (*engine, error)
}

// newPool returns a pool with its first engine.
func newPool(first *engine, build func() (*engine, error)) *pool {
	p := &pool{free: make(chan *engine, min(max(2, runtime.GOMAXPROCS(0)), maxEngines)), build: build}
	p.made.Add(1)
	p.free <- first
	return p
}

// take returns an engine for one check, to be given back with give.
func (p *pool) take() (*engine, error) {
	select {
	case e := <-p.free:
		return e, nil
	default:
	}
	if int(p.made.Add(1)) > cap(p.free) {
		p.made.Add(-1)
		return <-p.free, nil
	}
	e, err := p.build()
	if err != nil {
		p.made.Add(-1)
		return nil, err
	}
	return e, nil
}

// give takes an engine back, whatever became of the check: nothing of a check is left
// in an engine but its count, which begins anew.
func (p *pool) give(e *engine) { p.free <- e }
