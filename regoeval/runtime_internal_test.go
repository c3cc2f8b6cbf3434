package regoeval

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/stretchr/testify/require"
)

func ruleset(t *testing.T, source string) *Ruleset {
	t.Helper()
	m, err := ast.ParseModuleWithOpts("a.rego", source, ast.ParserOptions{RegoVersion: ast.RegoV1})
	require.NoError(t, err)
	b := bundle.Bundle{Data: map[string]any{}, Modules: []bundle.ModuleFile{{Path: "a.rego", URL: "a.rego", Raw: []byte(source), Parsed: m}}}
	b.Manifest.Init()
	rs, err := New(context.Background(), Source{Bundles: []NamedBundle{{Name: "b", Bundle: b}}}, Options{})
	require.NoError(t, err)
	return rs
}

func (r *Ruleset) denySet(t *testing.T, tool string, input ast.Value) (ast.Value, error) {
	t.Helper()
	e := r.packages[toolPackage(tool).String()]
	require.NotNil(t, e)
	result, err := r.evaluate(context.Background(), ast.NewBody(e.deny), ast.NewTerm(input))
	if err != nil {
		return nil, err
	}
	return result[e.deny.Operand(0).Value.(ast.Var)].Value, nil
}

// OPA panics on numbers that are none; nothing in the gate makes one, but a panic
// anywhere in OPA has to be a refusal, and must not carry the value into a log.
func TestPanicIsUndecided(t *testing.T) {
	rs := ruleset(t, "package tools.x\n\ndeny contains \"large\" if input.arguments.n > 3")
	for _, n := range []string{"NaN", "", "PLANTED"} {
		input := ast.NewObject(ast.Item(ast.StringTerm("arguments"), ast.ObjectTerm(ast.Item(ast.StringTerm("n"), ast.NewTerm(ast.Number(n))))))
		_, err := rs.denySet(t, "x", input)
		require.ErrorContains(t, err, "panicked", n)
		require.NotContains(t, err.Error(), "PLANTED")
	}
	_, err := rs.denySet(t, "x", ast.LazyObject(map[string]any{"arguments": map[string]any{"n": json.Number("PLANTED")}}))
	require.ErrorContains(t, err, "panicked")
	require.NotContains(t, err.Error(), "PLANTED")
	_, err = rs.denySet(t, "x", ast.LazyObject(map[string]any{"arguments": map[string]any{"n": json.Number("5")}}))
	require.NoError(t, err)
}

// A set that has no value is no answer. The load-time contract makes sure that there
// is none; should one slip through, the call is undecided.
func TestUndefinedSetIsUndecided(t *testing.T) {
	rs := ruleset(t, "package tools.x\n\ndeny contains \"large\" if input.arguments.n > 3\n\nother if false")
	for _, name := range []string{"nothing", "other"} {
		body := ast.NewBody(bind(name, rs.packages[toolPackage("x").String()]))
		_, err := rs.evaluate(context.Background(), body, ast.NewTerm(ast.NewObject()))
		require.ErrorContains(t, err, "0 results", name)
	}
}

// What is not a set, or a set of something else, is no answer either.
func TestElementsOfOtherKinds(t *testing.T) {
	for _, text := range []string{`[]`, `["a"]`, `{}`, `{"a": true}`, `"a"`, `true`, `null`, `5`, `{5}`, `{null}`, `{""}`, `{["a"]}`, `{{"a"}}`, `{{"msg": ""}}`, `{{"msg": "a", "x": "b"}}`, `{{"msg": 5}}`, `{{"msg": "a", "rule": 5}}`, `{{"rule": "a"}}`, `{{1: "a"}}`, `{"a", 5}`} {
		_, err := elements(ast.MustParseTerm(text))
		require.Error(t, err, text)
	}
	rs, err := elements(ast.MustParseTerm(`{"a", {"msg": "b", "rule": "r", "location": "/x"}}`))
	require.NoError(t, err)
	require.Len(t, rs, 2)
	rs, err = elements(ast.MustParseTerm(`set()`))
	require.NoError(t, err)
	require.Empty(t, rs)
}
