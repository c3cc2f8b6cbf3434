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
	for _, n := range []string{"1", `"1"`, "2", `"2"`, "[1]", "{}", "1.0", "-0"} {
		r := b.program.Eval(t.Context(), decoded(t, `{"n": `+n+`}`), Options{})
		require.ErrorIs(t, r.Err, ErrUnsure, n)
	}
	for _, n := range []string{`"12"`, "12", "null", "true", `"b"`, `"x"`} { // nothing in data has this for a name
		in := decoded(t, `{"n": `+n+`}`)
		require.Equal(t, b.topdown(in), b.closures(in), n)
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

// Found by fuzzing (seed 4711): asked for o[1], topdown finds the "one" of data's member
// "1" beside the 1 of the second rule, and says that they are in conflict. The whole
// object has both, under different keys, and the look-up finds one.
func TestConflictOfTwinKeys(t *testing.T) {
	for _, rules := range []string{
		"o[k] := v if { some k, v in data.d.m; v != 7 }\no[k] := 1 if some k in input.l\ndeny contains o[input.n]",
		"r.x[k] := v if some k, v in data.d.m\nr.x[k] := 1 if some k in input.l\ndeny contains r.x[input.n]",
		"r[x][k] := v if { some k, v in data.d.m; x := \"x\" }\nr.x[k] := 1 if some k in input.l\ndeny contains r.x[input.n]",
		"o[k] := v if { some k, v in data.d.m; v != 7 }\no[k] := 1 if some k in input.l\ndeny contains y if y := o[input.n] with input.zz as 1",
		"o[k] := v if { some k, v in data.d.m; v != 7 }\no[k] := 1 if some k in input.l\nf(x) := o[x]\ndeny contains f(input.n)",
		"o[k] := v if { some k, v in data.d.m; v != 7 }\no[k] := 1 if some k in input.l\nf(x) := x\ndeny contains y if { y := f(o[input.n]) with f as input.l }",
		"o[k] := v if { some k, v in data.d.m; v != 7 }\nq[k] := v if some k, v in o\nq[k] := 1 if some k in input.l\ndeny contains q[input.n]",
	} {
		b := mustBoth(t, "package t\nimport rego.v2\n"+rules, decoded(t, trapData))
		in := decoded(t, `{"l": [1], "n": 1}`)
		require.True(t, b.closures(in).failed, rules)
		require.True(t, b.topdown(in).failed, rules)
	}
}
