package closures

import (
	"context"
	"fmt"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/stretchr/testify/require"
)

// both is one query, ready to be evaluated by both engines.
type both struct {
	compiler *ast.Compiler
	store    storage.Store
	txn      storage.Transaction
	query    ast.Body
	program  *Program
	document bool
}

var denyRef = ast.MustParseRef("data.t.deny")

// newBoth compiles data.t.deny. The error is the compiler's, or an *UnsupportedError.
func newBoth(src string, data map[string]any) (*both, error) {
	m, err := ast.ParseModule("p.rego", src)
	if err != nil {
		return nil, err
	}
	c := ast.NewCompiler()
	if c.Compile(map[string]*ast.Module{"p.rego": m}); c.Failed() {
		return nil, c.Errors
	}
	return newBothOf(c, data)
}

func newBothOf(c *ast.Compiler, data map[string]any) (*both, error) {
	ctx := context.Background()
	v, err := ast.InterfaceToValue(data)
	if err != nil {
		return nil, err
	}
	b := &both{compiler: c, query: ast.NewBody(ast.Equality.Expr(ast.VarTerm("x@"), ast.NewTerm(denyRef))), document: true}
	b.store = inmem.NewFromObjectWithOpts(data, inmem.OptReturnASTValuesOnRead(true), inmem.OptRoundTripOnWrite(false))
	if b.txn, err = b.store.NewTransaction(ctx); err != nil {
		return nil, err
	}
	plan, err := NewPlan(ctx, c, b.query, nil)
	if err != nil {
		return nil, err
	}
	b.program, err = plan.Compile(denyRef, NewData(v))
	return b, err
}

// mustBoth is newBoth for policies that both engines support.
func mustBoth(t testing.TB, src string, data map[string]any) *both {
	t.Helper()
	b, err := newBoth(src, data)
	require.NoError(t, err)
	return b
}

// An answer is a value as text, and whether something failed.
type answer struct {
	value  string
	failed bool
	why    string
}

func (a answer) String() string { return fmt.Sprintf("%s (failed %v %s)", a.value, a.failed, a.why) }

// topdown evaluates the way regoeval does: index and early exit off.
func (b *both) topdown(input any) answer {
	in, err := ast.InterfaceToValue(input)
	if err != nil {
		return answer{failed: true, why: err.Error()}
	}
	var failures []topdown.Error
	q := topdown.NewQuery(b.query).WithCompiler(b.compiler).WithStore(b.store).WithTransaction(b.txn).WithInput(ast.NewTerm(in)).
		WithBuiltinErrorList(&failures).WithIndexing(false).WithEarlyExit(false)
	a := answer{value: "undefined"}
	err = q.Iter(context.Background(), func(qr topdown.QueryResult) error {
		a.value = qr["x@"].String()
		return nil
	})
	if err != nil {
		return answer{value: "none", failed: true, why: err.Error()}
	}
	if len(failures) > 0 {
		a.failed, a.why = true, failures[0].Error()
	}
	return a
}

// closures evaluates the program.
func (b *both) closures(input any) answer {
	return answerOf(b.program.Eval(context.Background(), input, Options{Steps: 10_000_000}))
}

func answerOf(r Result) answer {
	a := answer{value: "undefined", failed: !r.Clean()}
	if r.Value != nil {
		a.value = ast.NewTerm(r.Value).String()
	}
	switch {
	case r.Err != nil:
		a.value, a.why = "none", r.Err.Error()
	case len(r.Errors) > 0:
		a.why = r.Errors[0].Error()
	}
	return a
}

// tree is decoded JSON as a Document.
type tree map[string]any

func (t tree) Member(name string) (any, bool) { v, ok := t[name]; return v, ok }

func (t tree) Whole() map[string]any {
	m := make(map[string]any, len(t))
	for k, v := range t {
		m[k] = v
	}
	return m
}
