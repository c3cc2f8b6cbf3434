package regoeval

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/regoeval/internal/closures"
)

// A program of other rules than the ruleset's stands for one that is compiled wrongly:
// each of the checks finds it.
func TestChecksFindADifference(t *testing.T) {
	policySource := func(value string) string {
		return "package tools.x\nimport rego.v2\ndeny contains \"no\" if input.arguments.x == \"" + value + "\""
	}
	const tests = "package tests.tools.x\nimport rego.v2\ntest_no if data.tools.x.deny == {\"no\"} with input as {\"arguments\": {\"x\": \"bad\"}}"
	source := func(value string) Source {
		b := bundle.Bundle{Data: map[string]any{}}
		b.Manifest.Init()
		for name, src := range map[string]string{"x.rego": policySource(value), "x_test.rego": tests} {
			m, err := ast.ParseModuleWithOpts(name, src, ast.ParserOptions{RegoVersion: ast.RegoV1})
			require.NoError(t, err)
			b.Modules = append(b.Modules, bundle.ModuleFile{Path: name, URL: name, Raw: []byte(src), Parsed: m})
		}
		return Source{Bundles: []NamedBundle{{Name: "b", Bundle: b}}}
	}
	load := func(value string) *Ruleset {
		r, err := New(context.Background(), source(value), Options{Engine: Compiled})
		require.NoError(t, err)
		require.Equal(t, "compiled", r.Packages()[0].Engine)
		return r
	}
	right, wrong := load("bad"), load("worse")
	e := right.packages["data.tools.x"]
	ref := e.rule("deny")
	differs := false
	for _, s := range e.programs["deny"].Samples(checkedSamples, 1) {
		require.False(t, right.differ(context.Background(), ref, e.programs["deny"], s))
		differs = differs || wrong.differ(context.Background(), ref, e.programs["deny"], s)
	}
	require.True(t, differs, "no generated input shows it")

	l := loader{Ruleset: wrong, ctx: context.Background()}
	with := l.withTests(source("worse"))
	require.NotNil(t, with)
	refs := testRefs(with.compiler)
	require.Len(t, refs, 1)
	other := loader{Ruleset: right, ctx: context.Background()}.withTests(source("bad"))
	plan, err := closures.NewPlan(context.Background(), other.compiler, ast.NewBody(ast.Equality.Expr(ast.VarTerm("t@"), ast.NewTerm(refs[0]))), nil)
	require.NoError(t, err)
	p, err := plan.Compile(refs[0], closures.NewData(ast.NewObject()))
	require.NoError(t, err)
	require.True(t, p.Uses("data.tools.x"))
	require.True(t, with.differ(context.Background(), refs[0], p, sample{}), "the bundle's own test doesn't show it")
	require.False(t, other.differ(context.Background(), refs[0], p, sample{}))
}
