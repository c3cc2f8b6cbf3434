package closures

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown/cache"
	"github.com/open-policy-agent/opa/v1/topdown/print"
)

// A Document is an input document that is read member by member, as far as rules look
// into it. It must not change while it is evaluated.
type Document interface {
	// Member returns a member's value: decoded JSON, never changed by its reader.
	Member(name string) (any, bool)
	// Whole returns all members in a map of the caller's own.
	Whole() map[string]any
}

// Options bound and observe one evaluation. The zero value has no step budget and
// collects errors.
type Options struct {
	// Steps is how many calls and iterations may run. 0 means no bound.
	Steps int64
	// FirstError ends the evaluation at the first error of a built-in.
	FirstError bool
	// Values caches compiled patterns between evaluations; nil for none.
	Values cache.InterQueryValueCache
	// Print gets what rules print; nil for nobody.
	Print print.Hook
}

var (
	// ErrBudget ends an evaluation that takes more steps than it may.
	ErrBudget = errors.New("the evaluation took more steps than it may")
	// ErrTooMany ends an evaluation in which too many built-ins failed.
	ErrTooMany = errors.New("too many built-ins failed")
	// ErrUnsure ends an evaluation where the plan is known to differ from topdown.
	ErrUnsure = errors.New("what the plan says here is not what topdown says")
)

// maxErrors is how many failed built-ins are collected.
const maxErrors = 100

// A Result is what one evaluation came to.
type Result struct {
	// Value is the rule's value, nil where it is undefined. It may share memory with
	// the input.
	Value ast.Value
	// Rows are the results of a query, one object each.
	Rows []ast.Value
	// Steps is how many it took.
	Steps int64
	// Errors are those of built-ins, in the order in which they came.
	Errors []error
	// Err ended the evaluation: a conflict, the budget, the deadline, a panic.
	Err error
}

// Clean reports whether nothing failed.
func (r *Result) Clean() bool { return r.Err == nil && len(r.Errors) == 0 }

// A Program is compiled rules. It never changes and is safe for concurrent use.
type Program struct {
	main      *function
	funcs     []*function
	slots     []slotPlan
	addresses []int // slots that are read as addresses
	constants []any // some of those that the rules mention, as decoded JSON
	data      val
	idle      sync.Pool
}

// A function is one planned function: a rule document, or a function of the policy.
type function struct {
	name   string
	index  int
	params []int // the locals of input, data and the arguments
	ret    int
	locals int
	// document says that it has no arguments: it is evaluated once for an input.
	document bool
	blocks   []block
	dispatch *dispatcher
}

// Undefined as input says that there is no input document.
var Undefined any = noInput{}

type noInput struct{}

// Eval runs the program. input is decoded JSON, a Document, an ast.Value or Undefined.
func (p *Program) Eval(ctx context.Context, input any, o Options) (r Result) {
	e := p.begin(ctx, input, o)
	defer p.end(e)
	defer func() {
		if x := recover(); x != nil {
			r = Result{Errors: r.Errors, Err: panicError{x}}
		}
	}()
	f := &e.frames[p.main.index]
	f.in, f.data = &e.in, &e.data
	if p.main.document {
		from := frame{eval: e, in: &e.in, data: &e.data}
		if v := e.call(p.main, &from, nil); v.defined() && e.fatal == nil {
			r.Value = v.toTerm(e)
		}
	} else {
		p.main.run(f)
		r.Rows = e.rows
	}
	r.Errors, r.Err, r.Steps = e.errs, e.fatal, e.first-e.left
	if r.Err != nil {
		r.Value, r.Rows = nil, nil
	}
	return r
}

// A panicError is a panic of a built-in, or of this package.
type panicError struct{ value any }

// Error says what kind of value it was. The value itself may hold an argument.
func (p panicError) Error() string { return fmt.Sprintf("the evaluation panicked: %T", p.value) }

func (p *Program) begin(ctx context.Context, input any, o Options) *evaluation {
	e, _ := p.idle.Get().(*evaluation)
	if e == nil {
		e = newEvaluation(p)
	}
	e.ctx, e.options, e.left = ctx, o, o.Steps
	if o.Steps <= 0 {
		e.left = 1<<63 - 1
	}
	e.first = e.left
	e.data.val = p.data
	e.in.data = &e.data
	switch x := input.(type) {
	case noInput:
	case Document:
		e.in.val = val{kind: document, other: x}
	default:
		e.in.val = e.fromJSON(input)
	}
	return e
}

func (p *Program) end(e *evaluation) {
	e.clear()
	p.idle.Put(e)
}
