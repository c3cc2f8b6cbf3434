package closures

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/stretchr/testify/require"
)

// staleMarkers are policies in which OPA's plan of `not`, executed as it stands, loses
// a denial: what topdown says of them is that "second", or "no tag", is refused.
var staleMarkers = map[string]string{
	"another iteration": `deny contains x.n if {
	some x in input.xs
	not { some t in x.tags; t == "ok" }
}`,
	"another rule": `deny contains "a" if { input.a.b == 1; input.a.c == 2 }
deny contains "no tag" if not { some t in input.tags; t == "ok" }`,
	"rules by name": `deny contains "no rule" if not not_any
not_any if not { some v in r; v == "x" }
r.x := input.a
r.y := "x"`,
}

// A number is no name of a member of data, but topdown takes it for one where it looks a
// partial rule up by it: the evaluation says that it isn't sure.
func TestNumbersAsKeysOfPartialRules(t *testing.T) {
	b := mustBoth(t, `package t
import rego.v2
o[k] := v if some k, v in data.d.m
r.x[k] := v if some k, v in data.d.m
deny contains o[input.n]
deny contains r.x[input.n]`, decoded(t, trapData))
	require.Equal(t, `{1}`, b.closures(decoded(t, `{"n": "a"}`)).value)
	for _, n := range []string{"1", `"12"`, "[1]", "1.0", "null"} {
		r := b.program.Eval(t.Context(), decoded(t, `{"n": `+n+`}`), Options{})
		require.ErrorIs(t, r.Err, ErrUnsure, n)
	}
}

// TestPlannerNotMarker is about OPA's planner (docs/adr/0021): the marker that its plan
// of `not` tests is never taken back. When an upgrade of OPA repairs the plan, the
// second half of this test says so, and body.not can lose its repair.
func TestPlannerNotMarker(t *testing.T) {
	input := decoded(t, `{"xs": [{"n": "first", "tags": ["ok"]}, {"n": "second", "tags": ["bad"]}], "a": {"b": "1"}, "tags": ["bad"]}`)
	for name, rules := range staleMarkers {
		t.Run(name, func(t *testing.T) {
			b := mustBoth(t, "package t\nimport rego.v2\n"+rules, nil)
			want := b.topdown(input)
			require.NotEqual(t, "set()", want.value)
			require.Equal(t, want, b.closures(input))
		})
	}
	plan, err := NewPlan(t.Context(), compilerOf(t, "package t\nimport rego.v2\n"+staleMarkers["another iteration"]), ast.MustParseBody("x = data.t.deny"), nil)
	require.NoError(t, err)
	nots := 0
	for _, f := range plan.policy.Funcs.Funcs {
		walk(f.Blocks, func(s ir.Stmt) {
			if n, ok := s.(*ir.NotStmt); ok {
				nots++
				first, isReset := n.Block.Stmts[0].(*ir.ResetLocalStmt)
				last, ok := n.Block.Stmts[len(n.Block.Stmts)-1].(*ir.IsDefinedStmt)
				require.True(t, ok, "the plan of `not` has another shape: read planNot again")
				require.False(t, isReset && first.Target == last.Source, "OPA resets the marker now: the repair in body.not can go")
			}
		})
	}
	require.Equal(t, 1, nots)
}

func compilerOf(t testing.TB, src string) *ast.Compiler {
	t.Helper()
	c, err := ast.CompileModulesWithOpt(map[string]string{"p.rego": src}, ast.CompileOpts{ParserOptions: ast.ParserOptions{RegoVersion: ast.RegoV1}})
	require.NoError(t, err)
	return c
}
