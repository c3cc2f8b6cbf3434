package closures

import (
	"context"
	"errors"
	"fmt"

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
		return &Plan{policy, unplannable(c), more}, nil
	case err == nil:
		return nil, unsupported("OPA made no plan")
	default:
		return nil, unsupported("OPA's planner: %v", err)
	}
}
