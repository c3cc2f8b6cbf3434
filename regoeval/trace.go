package regoeval

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regogate/regogate/policy"
)

// A Progress says how far one rule got on one or more evaluations.
type Progress struct {
	Fired bool // it held at least once
	// Passed is how many of its conditions held before one didn't, at the furthest;
	// meaningful when it didn't fire.
	Passed int
	// FailedAt is the line of that condition, 0 when the rule was never reached.
	FailedAt int
}

// A RuleTracer notes which rules hold, and how far the others get. It is safe for
// concurrent use and can be used for many evaluations.
type RuleTracer struct {
	mu       sync.Mutex
	open     map[uint64]*ast.Rule
	progress map[*ast.Rule]*Progress
}

var _ topdown.QueryTracer = (*RuleTracer)(nil)

// NewRuleTracer returns a tracer that has seen nothing.
func NewRuleTracer() *RuleTracer {
	return &RuleTracer{open: map[uint64]*ast.Rule{}, progress: map[*ast.Rule]*Progress{}}
}

// Enabled implements topdown.QueryTracer.
func (*RuleTracer) Enabled() bool { return true }

// Config implements topdown.QueryTracer.
func (*RuleTracer) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent implements topdown.QueryTracer.
func (t *RuleTracer) TraceEvent(e topdown.Event) {
	switch e.Op {
	case topdown.EnterOp, topdown.EvalOp, topdown.ExitOp:
	default:
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch node := e.Node.(type) {
	case *ast.Rule:
		if e.Op == topdown.EnterOp {
			t.open[e.QueryID] = node
			t.of(node)
		} else if e.Op == topdown.ExitOp {
			t.of(node).Fired = true
		}
	case *ast.Expr:
		rule, is := t.open[e.QueryID]
		if !is || e.Op != topdown.EvalOp || node.Location == nil || node.Location.File != rule.Loc().File {
			return
		}
		if p := t.of(rule); node.Index >= p.Passed {
			p.Passed, p.FailedAt = node.Index, node.Location.Row
		}
	default:
		if e.Op == topdown.EnterOp { // the number of a query that another evaluation had
			delete(t.open, e.QueryID)
		}
	}
}

func (t *RuleTracer) of(r *ast.Rule) *Progress {
	p, ok := t.progress[r]
	if !ok {
		p = &Progress{}
		t.progress[r] = p
	}
	return p
}

// Progress says how far a rule got.
func (t *RuleTracer) Progress(r *ast.Rule) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, ok := t.progress[r]; ok {
		return *p
	}
	return Progress{}
}

// A Traced is one rule of the deny or warn sets that were asked, and how far it got.
type Traced struct {
	Rule
	Progress
}

// Trace evaluates the sets that cover t on in once more, and says how far each of their
// rules got. It changes nothing and decides nothing; the error is the evaluation's.
func (r *Ruleset) Trace(ctx context.Context, t *policy.Tool, in policy.Input) ([]Traced, error) {
	cover := r.Cover(t)
	tracer := NewRuleTracer()
	var errs []error
	var packages []string
	for _, v := range []policy.Validator{cover.Deny, cover.Warn} {
		q, ok := v.(*query)
		if !ok {
			continue
		}
		packages = append(packages, q.paths...)
		doc := in.Document()
		if err := checkNumbers(doc); err != nil {
			return nil, err
		}
		input, err := ast.InterfaceToValue(doc)
		if err != nil {
			return nil, errors.New("the input document can't be converted")
		}
		_, err = r.evaluate(ctx, q.body, ast.NewTerm(input), tracer)
		errs = append(errs, err)
	}
	var out []Traced
	r.traced.Do(func() { r.rules = r.Rules(r.compiler) })
	for rule, info := range r.rules {
		if info.Decides && slices.Contains(packages, info.Package) {
			out = append(out, Traced{info, tracer.Progress(rule)})
		}
	}
	slices.SortFunc(out, func(a, b Traced) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
	})
	return out, errors.Join(errs...)
}
