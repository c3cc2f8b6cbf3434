package policy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// A Recorder is told what was decided. It is called once per decision, after it, and
// can't change it. Record must return at once and must not keep the Input's caller waiting.
type Recorder interface {
	Record(ctx context.Context, r Record)
}

// An Admitter is a Recorder without whose consent nothing is forwarded: an audit that
// has to be complete. Its Admit is called in place of Record. An error refuses the call,
// in shadow mode as well, as undecided; Record is then told of that decision.
type Admitter interface {
	Recorder
	// Admit records r, or says why it can't be recorded.
	Admit(ctx context.Context, r Record) error
}

// A Record is one decision and what it was about. It may be kept, and read by another
// goroutine, after Record has returned: all but the exact bytes of the arguments, which
// may belong to the next call by then.
type Record struct {
	Decision Decision
	// Mode is the mode in force.
	Mode Mode
	// Rules are those that decided; nil when none were in force.
	Rules Ruleset
	// Input is what was decided. Its arguments and responses are meaningful only when Parsed.
	Input Input
	// Parsed reports that the arguments were one unambiguous JSON object.
	Parsed  bool
	Elapsed time.Duration // of the whole decision
	Phases  Phases        // of its parts
}

// Recorders returns one Recorder that tells all of rs, in this order; nil ones are left
// out. A panic of one doesn't keep the others from being told. It returns nil when there
// is nobody to tell.
func Recorders(rs ...Recorder) Recorder {
	var all recorders
	for _, r := range rs {
		if r != nil {
			all = append(all, r)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	default:
		return all
	}
}

type recorders []Recorder

// Record implements Recorder.
func (all recorders) Record(ctx context.Context, r Record) {
	for _, one := range all {
		tell(ctx, one, r)
	}
}

// Admit implements Admitter. Those who have no say are told once all others consent.
func (all recorders) Admit(ctx context.Context, r Record) error {
	var errs []error
	for _, one := range all {
		if a, ok := one.(Admitter); ok {
			errs = append(errs, admit(ctx, a, r))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, one := range all {
		if _, ok := one.(Admitter); !ok {
			tell(ctx, one, r)
		}
	}
	return nil
}

// tell tells a recorder. Whatever it does, the decision stands.
func tell(ctx context.Context, to Recorder, r Record) {
	defer func() { _ = recover() }()
	to.Record(ctx, r)
}

func admit(ctx context.Context, a Admitter, r Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return a.Admit(ctx, r)
}

// record tells the recorder. It can't change the decision, unless the recorder is an
// Admitter that refuses to record what would be forwarded: d is undecided then.
func (g *Gate) record(ctx context.Context, r Record, d *Decision) {
	if g.options.Recorder == nil {
		return
	}
	if a, ok := g.options.Recorder.(Admitter); ok {
		ctx, cancel := context.WithTimeout(ctx, g.options.Timeout)
		defer cancel()
		err := admit(ctx, a, r)
		if err == nil {
			return
		}
		if d.Effective {
			d.Allowed, d.Effective = false, false
			d.fail(fmt.Errorf("the decision could not be recorded: %w", err))
			r.Decision = *d
		}
	}
	tell(ctx, g.options.Recorder, r)
}
