package closures

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/cache"
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
	patterns cache.InterQueryValueCache // of the closures, as a gate has it
}

var denyRef = ast.MustParseRef("data.t.deny")

// tooLong is when an evaluation is given up.
const tooLong = 3 * time.Second

// nextModule separates the modules of a policy.
const nextModule = "\n# next\n"

// newBoth compiles data.t.deny. The error is the compiler's, or an *UnsupportedError.
func newBoth(src string, data map[string]any) (*both, error) {
	modules := map[string]*ast.Module{}
	for i, text := range strings.Split(src, nextModule) {
		m, err := ast.ParseModule(fmt.Sprintf("p%d.rego", i), text)
		if err != nil {
			return nil, err
		}
		modules[fmt.Sprintf("p%d.rego", i)] = m
	}
	c := ast.NewCompiler()
	if c.Compile(modules); c.Failed() {
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
	b.patterns = newPatterns(ctx)
	b.program, err = plan.Compile(denyRef, NewData(v))
	return b, err
}

// newPatterns returns a cache of patterns like a gate's.
func newPatterns(ctx context.Context) cache.InterQueryValueCache {
	entries := 100
	return cache.NewInterQueryValueCache(ctx, &cache.Config{InterQueryBuiltinValueCache: cache.InterQueryBuiltinValueCacheConfig{MaxNumEntries: &entries}})
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
	value    string
	failed   bool
	limit    bool // it took too long
	panicked bool // which topdown answers for, but nothing may
	why      string
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
	ctx, done := context.WithTimeout(context.Background(), tooLong)
	defer done()
	cancel := topdown.NewCancel()
	defer context.AfterFunc(ctx, cancel.Cancel)()
	a := answer{value: "undefined"}
	err = q.WithCancel(cancel).Iter(ctx, func(qr topdown.QueryResult) error {
		a.value = qr["x@"].String()
		return nil
	})
	if err != nil {
		return answer{value: "none", failed: true, limit: ctx.Err() != nil, why: err.Error()}
	}
	if len(failures) > 0 {
		a.failed, a.why = true, failures[0].Error()
	}
	return a
}

// closures evaluates the program.
func (b *both) closures(input any) answer {
	ctx, done := context.WithTimeout(context.Background(), tooLong)
	defer done()
	a := answerOf(b.program.Eval(ctx, input, Options{Steps: 10_000_000, Values: b.patterns}))
	a.limit = ctx.Err() != nil
	return a
}

func answerOf(r Result) answer {
	a := answer{value: "undefined", failed: !r.Clean(), panicked: errors.As(r.Err, new(panicError))}
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
