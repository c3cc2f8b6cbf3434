package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/regogate/regogate/policy"
)

// A Side decides: rules in force in a gate, and the tools that are known.
type Side struct {
	Gate  *policy.Gate
	Tools []policy.ToolSpec // their servers are those of the records
	// NoSchema says that there are no schemas to check: every tool exists.
	NoSchema bool
}

// Options say what to compare.
type Options struct {
	New Side
	// Old decides in place of what the records say; nil compares with the records.
	Old *Side
	// Progress is told, from time to time and from one goroutine, how many records were
	// read; nil is silent.
	Progress func(records int64)
}

const (
	// batchRecords and batchBytes bound what a worker gets at once.
	batchRecords = 256
	batchBytes   = 1 << 20
)

// Run replays a log. It ends early with ctx; the error says why the log could not be
// read to its end, and the report is about what was.
func Run(ctx context.Context, log io.Reader, o Options) (Report, error) {
	workers := runtime.GOMAXPROCS(0)
	batches := make(chan []line, workers)
	tallies := make([]*tally, workers)
	var read atomic.Int64
	var wg sync.WaitGroup
	for i := range workers {
		tallies[i] = newTally()
		w := worker{ctx: ctx, tally: tallies[i], new: newDecider(o.New)}
		if o.Old != nil {
			old := newDecider(*o.Old)
			w.old = &old
		}
		wg.Go(func() {
			for b := range batches {
				for _, l := range b {
					w.one(l)
				}
			}
		})
	}
	err := feed(ctx, log, batches, func(n int64) {
		if total := read.Add(n); o.Progress != nil {
			o.Progress(total)
		}
	})
	close(batches)
	wg.Wait()
	all := newTally()
	for _, t := range tallies {
		all.add(t)
	}
	return all.report(), err
}

// feed reads the log in batches.
func feed(ctx context.Context, log io.Reader, batches chan<- []line, told func(int64)) error {
	var batch []line
	size := 0
	send := func() bool {
		if len(batch) == 0 {
			return true
		}
		select {
		case batches <- batch:
			told(int64(len(batch)))
			batch, size = nil, 0
			return true
		case <-ctx.Done():
			return false
		}
	}
	err := lines(log, func(l line) bool {
		batch = append(batch, l)
		size += len(l.data)
		return len(batch) < batchRecords && size < batchBytes && ctx.Err() == nil || send()
	})
	if !send() || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	return err
}

// A worker decides records.
type worker struct {
	ctx   context.Context
	tally *tally
	new   decider
	old   *decider
}

func (w *worker) one(l line) {
	if w.ctx.Err() != nil {
		return
	}
	if l.err != nil {
		w.tally.broken(l, l.err)
		return
	}
	r, err := parse(l.data)
	if err != nil {
		w.tally.broken(l, err)
		return
	}
	w.tally.Records++
	if r.Reason == NoVerdict && w.old != nil {
		r.Reason = "" // nobody asks what the record says
	}
	if r.Reason != "" {
		w.tally.NotReplayable[r.Reason]++
		return
	}
	w.tally.Replayed++
	allowed, refusals := r.Allowed, r.Refusals
	if w.old != nil {
		d := w.old.decide(w.ctx, r)
		allowed, refusals = d.Allowed, d.Refusals
	}
	d := w.new.decide(w.ctx, r)
	switch {
	case d.Allowed == allowed:
		w.tally.Unchanged++
	case d.Allowed:
		w.tally.change(l, r, true, refusals)
	default:
		w.tally.change(l, r, false, d.Refusals)
	}
}

// maxMade bounds the tools that are kept ready.
const maxMade = 4096

// A decider is a Side for one goroutine.
type decider struct {
	side  Side
	specs map[string]policy.ToolSpec
	made  map[[2]string]*policy.Tool
}

func newDecider(s Side) decider {
	d := decider{side: s, specs: make(map[string]policy.ToolSpec, len(s.Tools)), made: map[[2]string]*policy.Tool{}}
	for _, spec := range s.Tools {
		d.specs[spec.Name] = spec
	}
	return d
}

func (d *decider) decide(ctx context.Context, r record) policy.Decision {
	call := r.Call
	call.Tool, call.Arguments = d.tool(r.Server, r.Tool), r.Arguments
	return d.side.Gate.Decide(policy.WithCaller(ctx, r.Caller), call)
}

func (d *decider) tool(server, name string) *policy.Tool {
	key := [2]string{server, name}
	if t, ok := d.made[key]; ok {
		return t
	}
	spec, declared := d.specs[name]
	switch {
	case declared:
	case d.side.NoSchema:
		spec = policy.ToolSpec{Name: name, NoSchema: true}
	default:
		return policy.UndeclaredTool(server, name)
	}
	spec.Server = server
	if len(d.made) >= maxMade {
		clear(d.made)
	}
	t := d.side.Gate.Tool(spec)
	d.made[key] = t
	return t
}

// Widens reports whether any call that was refused would be allowed.
func (r Report) Widens() bool { return r.RefuseToAllow > 0 }

// Summary is one line about the numbers.
func (r Report) Summary() string {
	skipped := int64(0)
	for _, n := range r.NotReplayable {
		skipped += n
	}
	return fmt.Sprintf("%d records: %d decided again, %d as before, %d refuse → allow, %d allow → refuse, %d not replayable; %d broken lines",
		r.Records, r.Replayed, r.Unchanged, r.RefuseToAllow, r.AllowToRefuse, skipped, r.Broken)
}
