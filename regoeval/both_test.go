package regoeval

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/internal/closures"
)

// sourceOf is one package, tools.x, that refuses a value of the argument x, and a test of it.
func sourceOf(t *testing.T, value, rule string) Source {
	t.Helper()
	b := bundle.Bundle{Data: map[string]any{}}
	b.Manifest.Init()
	for name, src := range map[string]string{
		"x.rego":      "package tools.x\nimport rego.v2\n" + rule,
		"x_test.rego": "package tests.tools.x\nimport rego.v2\ntest_no if data.tools.x.deny == {\"no\"} with input as {\"arguments\": {\"x\": \"" + value + "\"}}",
	} {
		m, err := ast.ParseModuleWithOpts(name, src, ast.ParserOptions{RegoVersion: ast.RegoV1})
		require.NoError(t, err)
		b.Modules = append(b.Modules, bundle.ModuleFile{Path: name, URL: name, Raw: []byte(src), Parsed: m})
	}
	return Source{Bundles: []NamedBundle{{Name: "b", Bundle: b}}}
}

const refuseBad = `deny contains "no" if input.arguments.x == "bad"`

// wrongly loads rules whose program is another's: a compiler with a fault.
func wrongly(t *testing.T, o Options) *Ruleset {
	t.Helper()
	load := func(rule string) *Ruleset {
		r, err := New(context.Background(), sourceOf(t, "bad", rule), o)
		require.NoError(t, err)
		return r
	}
	r, other := load(refuseBad), load(`deny contains "no" if input.arguments.x == "worse"`)
	require.NotNil(t, other.packages["data.tools.x"].programs["deny"])
	r.packages["data.tools.x"].programs = other.packages["data.tools.x"].programs
	return r
}

func denyOf(t *testing.T, r *Ruleset, argument string) policy.Decision {
	t.Helper()
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(r)
	return g.Decide(context.Background(), policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "x", NoSchema: true}), Arguments: []byte(`{"x":"` + argument + `"}`)})
}

// With both, a call about which the engines differ is undecided, counted, and its error
// says so without the call's values.
func TestBothRefusesADifference(t *testing.T) {
	r := wrongly(t, Options{Engine: Both})
	require.True(t, denyOf(t, r, "good").Allowed)
	require.Zero(t, r.Differences())
	for i, argument := range []string{"bad", "worse"} { // a denial lost, a denial invented
		d := denyOf(t, r, argument)
		require.False(t, d.Allowed)
		require.Equal(t, policy.Undecided, d.Refusals[0].Code)
		require.ErrorIs(t, d.Err, errDifference)
		require.ErrorContains(t, d.Err, "deny of [tools.x]")
		require.NotContains(t, d.Err.Error(), `"`+argument+`"`)
		require.EqualValues(t, i+1, r.Differences())
	}
}

// With a sample, one call in so many is asked about twice, and the others are the
// compiled engine's.
func TestBothSamples(t *testing.T) {
	r := wrongly(t, Options{Engine: Both, Sample: 4})
	undecided, denied := 0, 0
	for range 40 {
		switch d := denyOf(t, r, "worse"); {
		case d.Err != nil:
			undecided++
		case !d.Allowed:
			denied++
		}
	}
	require.Equal(t, [2]int{10, 30}, [2]int{undecided, denied})
	require.EqualValues(t, 10, r.Differences())
}

// A package about which the engines differ while it is loaded stays topdown's, and its
// note says what showed it: generated inputs, or the bundle's own test.
func TestADifferenceAtLoadKeepsTopdown(t *testing.T) {
	data, right := closures.NewData(ast.NewObject()), sourceOf(t, "bad", refuseBad)
	check := func(want string, check func(loader, []*entry) error) {
		l := loader{Ruleset: wrongly(t, Options{Engine: Compiled}), ctx: context.Background()}
		e := l.packages["data.tools.x"]
		require.NoError(t, check(l, []*entry{e}))
		require.Equal(t, string(Topdown), e.info.Engine)
		require.Equal(t, want, e.info.Note)
		require.Nil(t, e.programs)
	}
	check("the engines differ about deny for an input made of the constants of the rules", func(l loader, entries []*entry) error {
		return l.checkPrograms(right, entries, data)
	})
	check("the engines differ about the test data.tests.tools.x.test_no", func(l loader, entries []*entry) error {
		faulty := l.withTests(sourceOf(t, "bad", `deny contains "no" if input.arguments.x == "worse"`))
		return l.compareTests(l.withTests(right), faulty.compiler, entries, data)
	})
}

// The same at a tool: its schema makes the arguments that show it.
func TestADifferenceForAToolsSchemaKeepsTopdown(t *testing.T) {
	r := wrongly(t, Options{Engine: Compiled})
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	tool := g.Tool(policy.ToolSpec{Name: "x", InputSchema: []byte(`{"type":"object","properties":{"x":{"enum":["bad","good"]}}}`)})
	require.Equal(t, "the engines differ about deny for arguments made of the tool's schema", r.checkCalls(tool, []*entry{r.packages["data.tools.x"]}))
	g.Use(r)
	d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(`{"x":"bad"}`)})
	require.NoError(t, d.Err)
	require.False(t, d.Allowed, "topdown decides")
	require.Equal(t, policy.Denied, d.Refusals[0].Code)
}
