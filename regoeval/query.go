package regoeval

import (
	"context"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/internal/closures"
)

var errNoResult = errors.New("the query has 0 results, not one")

// bind returns `v = data.PACKAGE.name`: one expression that is undefined when the
// set is. Nothing in it needs compiling: the path is constant.
func bind(name string, e *entry) *ast.Expr {
	v := ast.VarTerm(name + "@" + e.ref.String()) // no Rego variable can be called so
	return ast.Equality.Expr(v, ast.NewTerm(e.rule(name)))
}

// A query evaluates the same set of several packages at once, so that what they
// compute from the same helper rules is computed once.
type query struct {
	rules *Ruleset
	name  string // deny or warn
	body  ast.Body
	vars  []ast.Var
	paths []string
	// programs are the same sets, compiled: nil where a package is topdown's, and no
	// programs at all where all are.
	programs []*closures.Program
	rest     ast.Body // the sets of packages that are topdown's
}

var _ policy.Validator = (*query)(nil)

func (r *Ruleset) query(name string, entries []*entry, compiled bool, expr func(*entry) *ast.Expr) *query {
	q := &query{rules: r, name: name}
	for _, e := range entries {
		x := expr(e)
		if x == nil {
			continue
		}
		x = x.Copy()
		x.Index = len(q.body)
		q.body = append(q.body, x)
		q.vars = append(q.vars, x.Operand(0).Value.(ast.Var))
		q.paths = append(q.paths, e.info.Path)
		if compiled {
			q.programs = append(q.programs, e.programs[name])
			if e.programs[name] == nil {
				y := x.Copy()
				y.Index = len(q.rest)
				q.rest = append(q.rest, y)
			}
		}
	}
	return q
}

// Validate evaluates the sets on one call. Whatever isn't a complete answer is an error.
func (q *query) Validate(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
	if err := ctx.Err(); err != nil { // OPA would usually answer all the same
		return nil, err
	}
	switch {
	case q.programs == nil:
		return q.topdown(ctx, in)
	case q.rules.engine == Both && q.rules.sampled():
		return q.both(ctx, in)
	}
	if rs, ok := q.compiled(ctx, in); ok {
		return rs, nil
	}
	return q.topdown(ctx, in)
}

// topdown evaluates the sets with OPA's own evaluator.
func (q *query) topdown(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
	sets, err := q.sets(ctx, in, q.body)
	if err != nil {
		return nil, err
	}
	return merge(sets), nil
}

// sets evaluates a body of some of the query's expressions. A set that isn't in it is nil.
func (q *query) sets(ctx context.Context, in policy.Input, body ast.Body) ([][]policy.Refusal, error) {
	if err := checkInput(in); err != nil {
		return nil, err
	}
	input, err := q.rules.input(in.Document())
	if err != nil {
		return nil, err
	}
	results, err := q.rules.evaluate(ctx, body, ast.NewTerm(input))
	if err != nil {
		return nil, err
	}
	out := make([][]policy.Refusal, len(q.vars))
	asked := 0
	for i, v := range q.vars {
		if asked == len(body) || !body[asked].Operand(0).Value.(ast.Var).Equal(v) {
			continue
		}
		asked++
		term, ok := results[v]
		if !ok {
			return nil, fmt.Errorf("%s of package %s is undefined", q.name, q.paths[i])
		}
		if out[i], err = elements(term); err != nil {
			return nil, fmt.Errorf("%s of package %s: %w", q.name, q.paths[i], err)
		}
	}
	return out, nil
}

// merge puts sets one after the other. Two packages may say the same.
func merge(sets [][]policy.Refusal) []policy.Refusal {
	var out []policy.Refusal
	seen := map[policy.Refusal]bool{}
	for _, rs := range sets {
		for _, r := range rs {
			if !seen[r] {
				seen[r] = true
				out = append(out, r)
			}
		}
	}
	return out
}

// input converts the document: as far as rules look into it, or all of it at once.
func (r *Ruleset) input(doc map[string]any) (ast.Value, error) {
	if !r.eager {
		return ast.LazyObject(doc), nil
	}
	v, err := ast.InterfaceToValue(doc)
	if err != nil {
		return nil, errors.New("the input document can't be converted") // what it says quotes a value
	}
	return v, nil
}

// evaluate runs a body to its one result. Rule indexing and early exit are off: both
// skip rules, and with them the errors that would have shown.
func (r *Ruleset) evaluate(ctx context.Context, body ast.Body, input *ast.Term, tracers ...topdown.QueryTracer) (result topdown.QueryResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, panicked(p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := &budget{left: r.steps}
	stop := context.AfterFunc(ctx, b.Cancel)
	defer stop()
	var failures []topdown.Error
	q := topdown.NewQuery(body).
		WithCompiler(r.compiler).
		WithStore(r.store).
		WithTransaction(r.txn).
		WithInput(input).
		WithCancel(b).
		WithBuiltins(r.builtins).
		WithBuiltinErrorList(&failures).
		WithIndexing(false).
		WithEarlyExit(false).
		WithInterQueryBuiltinValueCache(r.values).
		WithMetrics(metrics.NoOp())
	for _, t := range tracers {
		q = q.WithQueryTracer(t)
	}
	count := 0
	err = q.Iter(ctx, func(qr topdown.QueryResult) error {
		result = qr
		count++
		return nil
	})
	switch {
	case b.exhausted():
		return nil, limitError{fmt.Errorf("the evaluation took more than %d steps", r.steps)}
	case ctx.Err() != nil:
		return nil, limitError{fmt.Errorf("the evaluation was stopped: %w", ctx.Err())}
	case err != nil:
		return nil, describe(err)
	case len(failures) > 0:
		return nil, builtinFailure(failures)
	case count == 0:
		return nil, errNoResult
	case count != 1:
		return nil, fmt.Errorf("the query has %d results, not one", count)
	}
	return result, nil
}
