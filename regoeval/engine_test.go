package regoeval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// withEngine loads files for one engine.
func withEngine(t testing.TB, files map[string]string, e regoeval.Engine) *regoeval.Ruleset {
	t.Helper()
	rs, err := loadWith(t, files, regoeval.Source{}, regoeval.Options{Engine: e})
	require.NoError(t, err)
	return rs
}

func TestUnknownEngine(t *testing.T) {
	_, err := loadWith(t, benchFiles(t), regoeval.Source{}, regoeval.Options{Engine: "wasm"})
	require.EqualError(t, err, `engine "wasm" is not one of [topdown compiled both]`)
}

// What the compiled engine doesn't support is topdown's by itself, and said to be.
func TestEngineOfAPackage(t *testing.T) {
	rs := withEngine(t, map[string]string{
		"a.rego": "package tools.a\nimport rego.v2\ndeny contains \"no\" if input.arguments.x == \"bad\"",
		"b.rego": "package tools.b\nimport rego.v2\ndeny contains \"no\" if { \"bad\" in [x | some x in [{\"b\", input.arguments.x, \"a\"}][0]] }",
		"c.rego": "package tools.c\nimport rego.v2\ndeny contains \"no\" if { {\"k\": \"bad\"} = {k: v | some k, v in input.arguments} }",
	}, regoeval.Compiled)
	notes := map[string]string{}
	for _, p := range rs.Packages() {
		notes[p.Path] = p.Engine + ": " + p.Note
	}
	require.Equal(t, "compiled: ", notes["tools.a"])
	require.Contains(t, notes["tools.b"], "topdown: an array comprehension over a set or an object that is written with variables in it, in b/b.rego:3")
	require.Contains(t, notes["tools.c"], "topdown: OPA's planner: ")
	for _, tool := range []string{"a", "b"} {
		require.False(t, decide(t, rs, tool, `{"x":"bad"}`).Allowed, tool)
		require.True(t, decide(t, rs, tool, `{"x":"good"}`).Allowed, tool)
	}
	require.False(t, decide(t, rs, "c", `{"k":"bad"}`).Allowed)
	require.True(t, decide(t, rs, "c", `{"k":"good"}`).Allowed)
	require.Empty(t, mustLoad(t, benchFiles(t)).Packages()[0].Note)
}

// Packages that are asked together keep the engine that each has, and their order.
func TestEnginesTogether(t *testing.T) {
	files := map[string]string{
		".manifest": `{"metadata":{"regogate":{"common":[{"package":"all.first"},{"package":"all.second"}]}}}`,
		"a.rego":    "package all.first\nimport rego.v2\ndeny contains \"first\" if \"bad\" in [x | some x in [{\"b\", input.arguments.x}][0]]",
		"b.rego":    "package all.second\nimport rego.v2\ndeny contains \"second\" if input.arguments.x == \"bad\"\ndeny contains \"both\" if input.arguments.x == \"bad\"",
		"c.rego":    "package tools.x\nimport rego.v2\ndeny contains \"own\" if { some x in {\"b\", input.arguments.x}; x == \"bad\" }\ndeny contains \"both\" if input.arguments.x == \"bad\"",
	}
	for _, call := range []string{`{"x":"bad"}`, `{"x":"good"}`, `{}`} {
		want := decide(t, withEngine(t, files, regoeval.Topdown), "x", call)
		for _, e := range []regoeval.Engine{regoeval.Compiled, regoeval.Both} {
			got := decide(t, withEngine(t, files, e), "x", call)
			require.Equal(t, want.Refusals, got.Refusals, "%s %s", e, call)
			require.NoError(t, got.Err)
		}
	}
}

// mutated changes a JSON object at random.
func mutated(r *rand.Rand, v any) any {
	others := []any{nil, true, "", "a", "/reports/../x", ".hidden", "10.1.2.3", "2026-13-01T00:00:00Z", "PUBLIC", json.Number("0"), json.Number("1e3"), json.Number("-7.5"), []any{}, map[string]any{}, []any{"x@y.z", json.Number("1")}}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			switch r.IntN(12) {
			case 0: // left out
			case 1:
				out[k] = others[r.IntN(len(others))]
			default:
				out[k] = mutated(r, x)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			for range r.IntN(3) {
				out = append(out, mutated(r, x))
			}
		}
		return out
	case string:
		switch r.IntN(8) {
		case 0:
			return strings.ToUpper(v)
		case 1:
			return v + "x"
		case 2:
			return v[:r.IntN(len(v)+1)]
		case 3:
			return others[r.IntN(len(others))]
		}
	case json.Number:
		return []any{v, json.Number("250"), json.Number("42.5"), json.Number("1000000"), "42"}[r.IntN(5)]
	}
	return v
}

func decodeObject(t testing.TB, s string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var m map[string]any
	require.NoError(t, d.Decode(&m))
	return m
}

// TestEnginesAgreeOnMutatedCalls: 16 rules, 20,000 calls, the same decision with the
// same refusals and the same error.
func TestEnginesAgreeOnMutatedCalls(t *testing.T) {
	compiled, topdown := withEngine(t, benchFiles(t), regoeval.Compiled), withEngine(t, benchFiles(t), regoeval.Topdown)
	require.Equal(t, "compiled", compiled.Packages()[0].Engine)
	base := decodeObject(t, benchArguments)
	r := rand.New(rand.NewPCG(1, 2))
	calls, denied, failed := 20_000, 0, 0
	if underRace {
		calls = 1000
	}
	cg, tg := gateOf(t, compiled), gateOf(t, topdown)
	for range calls {
		args, err := json.Marshal(mutated(r, base))
		require.NoError(t, err)
		got, want := cg(args), tg(args)
		require.Equal(t, want.Refusals, got.Refusals, "%s", args)
		require.Equal(t, fmt.Sprint(want.Err), fmt.Sprint(got.Err), "%s", args)
		if want.Err != nil {
			failed++
		} else if !want.Allowed {
			denied++
		}
	}
	t.Logf("%d calls, %d denied, %d undecided", calls, denied, failed)
	require.Positive(t, denied)
	require.Positive(t, failed)
}

// gateOf returns a gate's decisions about one tool.
func gateOf(t testing.TB, rs policy.Ruleset) func(args []byte) policy.Decision {
	t.Helper()
	g, err := policy.NewGate(policy.Options{Timeout: time.Minute}) // not the machine's load
	require.NoError(t, err)
	g.Use(rs)
	tool := g.Tool(policy.ToolSpec{Name: "upload_report", NoSchema: true})
	return func(args []byte) policy.Decision {
		return g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: args})
	}
}

// sharedInput is the Input that a ruleset's evaluator gets, with the tree itself.
func sharedInput(t testing.TB, arguments string) policy.Input {
	t.Helper()
	var in policy.Input
	gateOf(t, capturing{&in})([]byte(arguments))
	return in
}

type capturing struct{ in *policy.Input }

func (capturing) Revision() string { return "capture" }

func (c capturing) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		*c.in = in
		return nil, nil
	})}
}

func TestNothingIsAllocatedForAnAllowedCall(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	rs := withEngine(t, benchFiles(t), regoeval.Compiled)
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	deny := rs.Cover(g.Tool(policy.ToolSpec{Name: "upload_report", NoSchema: true})).Deny
	in, ctx := sharedInput(t, benchArguments), context.Background()
	allocs := testing.AllocsPerRun(2000, func() {
		if rs, err := deny.Validate(ctx, in); len(rs) > 0 || err != nil {
			panic(fmt.Sprint(rs, err))
		}
	})
	require.Less(t, allocs, 0.5)
}

func BenchmarkCompiled(b *testing.B) { benchmarkEngine(b, regoeval.Compiled) }

func BenchmarkTopdown(b *testing.B) { benchmarkEngine(b, regoeval.Topdown) }

func benchmarkEngine(b *testing.B, e regoeval.Engine) {
	rs := withEngine(b, benchFiles(b), e)
	g, err := policy.NewGate(policy.Options{})
	require.NoError(b, err)
	deny := rs.Cover(g.Tool(policy.ToolSpec{Name: "upload_report", NoSchema: true})).Deny
	in, ctx := sharedInput(b, benchArguments), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if refusals, err := deny.Validate(ctx, in); err != nil || len(refusals) != 0 {
			b.Fatal(refusals, err)
		}
	}
}

// BenchmarkEqualityRules is 1,000 rules about one argument.
func BenchmarkEqualityRules(b *testing.B) {
	var src strings.Builder
	src.WriteString("package tools.upload_report\nimport rego.v2\n")
	for i := range 1000 {
		fmt.Fprintf(&src, "deny contains \"mode %d\" if { input.arguments.mode == \"m%d\"; input.arguments.n > 5 }\n", i, i)
	}
	for _, e := range []regoeval.Engine{regoeval.Compiled, regoeval.Topdown} {
		b.Run(string(e), func(b *testing.B) {
			rs := withEngine(b, map[string]string{"policy.rego": src.String()}, e)
			g, err := policy.NewGate(policy.Options{})
			require.NoError(b, err)
			deny := rs.Cover(g.Tool(policy.ToolSpec{Name: "upload_report", NoSchema: true})).Deny
			in, ctx := sharedInput(b, `{"mode":"m777","n":3}`), context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if refusals, err := deny.Validate(ctx, in); err != nil || len(refusals) != 0 {
					b.Fatal(refusals, err)
				}
			}
		})
	}
}
