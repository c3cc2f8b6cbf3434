package closures

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/netip"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
)

// An evaluation is the state of one. It is used again, cleared: nothing of one call may
// be seen by the next.
type evaluation struct {
	program *Program
	in      root
	frames  []frame // by function: Rego has no recursion
	state
}

// A state is what of an evaluation nothing is kept of.
type state struct {
	options Options
	ctx     context.Context
	data    root
	first   int64 // steps at the beginning
	left    int64 // steps still to go
	errs    []error
	fatal   error
	rows    []ast.Value
	now     *ast.Term
	cache   builtins.Cache
}

// A root is one version of the input or of the data document; `with` makes others.
type root struct {
	val   val
	slots []val
	addrs []netip.Addr // by number: a text in a slot that was parsed as an address
	memo  []val        // by function: what documents came to with this input
	data  *root        // the data that memo belongs to
}

// A frame is the state of one function.
type frame struct {
	locals []val
	in     *root
	data   *root
	eval   *evaluation
	saved  map[int]*root // by local: versions of input and data that `with` comes back to
}

func newEvaluation(p *Program) *evaluation {
	e := &evaluation{program: p, frames: make([]frame, len(p.funcs))}
	for i, f := range p.funcs {
		e.frames[i] = frame{locals: make([]val, f.locals), eval: e}
	}
	e.in = e.newInput()
	return e
}

func (e *evaluation) newInput() root {
	n := len(e.program.slots)
	return root{slots: make([]val, n), addrs: make([]netip.Addr, len(e.program.addresses)), memo: make([]val, len(e.program.funcs))}
}

func (e *evaluation) clear() {
	clear(e.in.slots)
	clear(e.in.addrs)
	clear(e.in.memo)
	e.in.val, e.in.data = val{}, nil
	for i := range e.frames {
		f := &e.frames[i]
		if f.in != nil {
			clear(f.locals)
			f.in, f.data, f.saved = nil, nil, nil
		}
	}
	e.state = state{}
}

// halt ends the evaluation; the first reason counts.
func (e *evaluation) halt(err error) {
	if e.fatal == nil {
		e.fatal = err
	}
}

// fail records that a built-in failed.
func (e *evaluation) fail(err error) {
	switch {
	case e.options.FirstError:
		e.errs = append(e.errs, err)
		e.halt(err)
	case len(e.errs) >= maxErrors:
		e.halt(ErrTooMany)
	default:
		e.errs = append(e.errs, err)
	}
}

// askedEvery is how many steps pass between two looks at the deadline.
const askedEvery = 1 << 8

// step counts one call or iteration and reports whether the evaluation goes on.
func (f *frame) step() bool {
	e := f.eval
	e.left--
	if e.left < 0 {
		e.halt(ErrBudget)
	} else if e.left%askedEvery == 0 && e.ctx.Err() != nil {
		e.halt(e.ctx.Err())
	}
	return e.fatal == nil
}

// A slotPlan is a constant path below the input, or something derived from one.
type slotPlan struct {
	parent int
	key    val
	derive func(*val) val // undefined: it doesn't cover the value
}

// slot returns what is at a constant path below the input, read at most once per
// version of the input. Slot 0 is the input.
func (e *evaluation) slot(in *root, i int) *val {
	s := &in.slots[i]
	if s.kind == unset {
		e.fill(in, i, s)
	}
	return s
}

func (e *evaluation) fill(in *root, i int, s *val) {
	p := &e.program.slots[i]
	if i == 0 {
		*s = in.val
	} else {
		switch from := e.slot(in, p.parent); {
		case p.derive != nil:
			if from.defined() {
				*s = p.derive(from)
			}
		case from.kind == record: // as get does, and most are
			if x, ok := from.other.(map[string]any)[p.key.s]; ok {
				e.setJSON(s, x)
			}
		default:
			*s = e.get(from, &p.key)
		}
	}
	if s.kind == unset {
		s.kind = absent
	}
}

// address parses the text in one of the program's slots for addresses as an IPv4
// address, once.
func (e *evaluation) address(in *root, i int) netip.Addr {
	a := in.addrs[i]
	if !a.IsValid() {
		if v := e.slot(in, e.program.addresses[i]); v.kind == text {
			if parsed, err := netip.ParseAddr(v.s); err == nil && parsed.Is4() {
				a = parsed
				in.addrs[i] = parsed
			}
		}
	}
	return a
}

// call runs a function; args come after input and data.
func (e *evaluation) call(fn *function, from *frame, args []operand) val {
	memo := fn.document && from.in.data == from.data && from.in.memo != nil
	if memo {
		if m := &from.in.memo[fn.index]; m.kind != unset {
			return *m
		}
	}
	f := &e.frames[fn.index]
	if f.in != nil { // it has run already
		clear(f.locals)
	}
	f.in, f.data = from.in, from.data
	for i := range args {
		f.locals[fn.params[2+i]] = *args[i].get(from)
	}
	fn.run(f)
	v := f.locals[fn.ret]
	v.freeze(e)
	if memo && e.fatal == nil {
		if v.kind == unset {
			v.kind = absent
		}
		from.in.memo[fn.index] = v
	}
	return v
}

// context is what a built-in is told about the evaluation.
func (e *evaluation) context(loc *ast.Location) topdown.BuiltinContext {
	if e.now == nil {
		e.now = ast.NewTerm(ast.Number(json.Number(strconv.FormatInt(time.Now().UnixNano(), 10))))
		e.cache = builtins.Cache{}
	}
	return topdown.BuiltinContext{
		Context: e.ctx, Seed: rand.Reader, Time: e.now, Cache: e.cache, Location: loc,
		Metrics: metrics.NoOp(), InterQueryBuiltinValueCache: e.options.Values, PrintHook: e.options.Print, Cancel: deadline{e},
	}
}

// deadline tells built-ins that take their time when to stop.
type deadline struct{ *evaluation }

func (d deadline) Cancel()         { d.halt(context.Canceled) }
func (d deadline) Cancelled() bool { return d.fatal != nil || d.ctx.Err() != nil }

// A builtin is one of OPA's built-ins, or of those that stand in for them.
type builtin struct {
	name     string
	run      topdown.BuiltinFunc
	relation bool
	loc      *ast.Location
}

// builtin calls OPA's own implementation: the meaning of every operand that no fast
// path covers, and of every error.
func (e *evaluation) builtin(b *builtin, f *frame, args []operand) (out val) {
	terms := make([]*ast.Term, len(args))
	for i := range args {
		v := args[i].get(f)
		if !v.defined() {
			return val{}
		}
		terms[i] = v.newTerm(e)
	}
	var rows []*ast.Term
	err := b.run(e.context(b.loc), terms, func(t *ast.Term) error {
		switch {
		case b.relation:
			rows = append(rows, t)
		case t == nil:
			out = boolVal(true)
		default:
			out = fromTerm(t.Value)
		}
		return nil
	})
	if err != nil {
		var halt topdown.Halt
		switch ended := e.ctx.Err(); {
		case ended != nil: // and a built-in that looks says so in its own words
			e.halt(ended)
		case errors.As(err, &halt):
			e.halt(halt.Err)
		default:
			e.fail(err)
		}
		return val{}
	}
	if b.relation {
		return val{kind: term, other: ast.NewArray(rows...)}
	}
	return out
}
