package closures

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// target is the name by which OPA knows that a plan is wanted, and not an evaluation.
const target = "regogate/closures"

// The planner is internal to OPA. What is public is the plan that a target plug-in is
// given, and plug-ins are registered for the whole process. OPA reads that table without
// a lock, on every rego.New, so that it can only be written to before anything else
// runs.
var registered = func() bool { rego.RegisterPlugin(target, planner{}); return true }()

// planner hands the plan to whoever asked for it, through the context.
type planner struct{}

var errPlanned = errors.New("planned")

type planKey struct{}

// IsTarget implements rego.TargetPlugin.
func (planner) IsTarget(t string) bool { return t == target }

// PrepareForEval implements rego.TargetPlugin.
func (planner) PrepareForEval(ctx context.Context, p *ir.Policy, _ ...rego.PrepareOption) (rego.TargetPluginEval, error) {
	to, ok := ctx.Value(planKey{}).(**ir.Policy)
	if !ok {
		return nil, errors.New("this target only makes plans")
	}
	*to = p
	return nil, errPlanned
}

// An UnsupportedError says that something has to be evaluated by topdown.
type UnsupportedError struct{ What string }

// Error implements error.
func (e *UnsupportedError) Error() string { return e.What }

func unsupported(format string, args ...any) error {
	return &UnsupportedError{fmt.Sprintf(format, args...)}
}

// A Plan is OPA's plan of a query, and what it doesn't tell of the rules.
type Plan struct {
	policy *ir.Policy
	index  *planIndex
	// unplannable says why rules are left to topdown, by their paths.
	unplannable map[string]string
	more        map[string]*topdown.Builtin
}

// NewPlan has OPA plan a query against compiled modules. Whatever keeps OPA from it is
// an *UnsupportedError. more are built-ins beside OPA's own.
func NewPlan(ctx context.Context, c *ast.Compiler, query ast.Body, more map[string]*topdown.Builtin) (_ *Plan, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = unsupported("OPA's planner panicked: %v", x)
		}
	}()
	if !registered {
		return nil, unsupported("the target is not registered")
	}
	options := []func(*rego.Rego){rego.Compiler(c), rego.ParsedQuery(query), rego.Target(target)}
	for name, b := range more {
		options = append(options, rego.FunctionDyn(&rego.Function{Name: name, Decl: b.Decl.Decl}, nil))
	}
	var policy *ir.Policy
	_, err = rego.New(options...).PrepareForEval(context.WithValue(ctx, planKey{}, &policy))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case policy != nil && errors.Is(err, errPlanned):
		return &Plan{policy, newPlanIndex(policy), unplannable(c), more}, nil
	case err == nil:
		return nil, unsupported("OPA made no plan")
	default:
		return nil, unsupported("OPA's planner: %v", err)
	}
}

// A planIndex finds functions of a plan, which may be one of a thousand tools. Programs
// of one plan share it, so it never changes.
type planIndex struct {
	byName map[string]*ir.Func
	place  map[*ir.Func]int
}

func newPlanIndex(p *ir.Policy) *planIndex {
	x := &planIndex{make(map[string]*ir.Func, len(p.Funcs.Funcs)), make(map[*ir.Func]int, len(p.Funcs.Funcs))}
	for i, f := range p.Funcs.Funcs {
		x.byName[f.Name], x.place[f] = f, i
	}
	return x
}

// inOrder returns those of funcs that are the plan's, in its order.
func (x *planIndex) inOrder(funcs []*ir.Func) []*ir.Func {
	out := make([]*ir.Func, 0, len(funcs))
	for _, f := range funcs {
		if _, planned := x.place[f]; planned { // a query isn't
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *ir.Func) int { return x.place[a] - x.place[b] })
	return out
}
