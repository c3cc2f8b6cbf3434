package regoeval_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// kept is a ruleset that keeps the input which a gate shows a ruleset's evaluator.
type kept struct{ in *policy.Input }

func (kept) Revision() string { return "kept" }

func (k kept) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		*k.in = in
		return nil, nil
	})}
}

// benchSchema is what the tool of benchPolicy declares.
const benchSchema = `{"type":"object","required":["target","author"],"properties":{"target":{"type":"string"},"visibility":{"enum":["internal","public"]},"state":{"type":"string"},"stage":{"type":"string"},"period":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"}}},"mirror":{"type":"string"},"author":{"type":"string"},"department":{"type":"string"},"pages":{"type":"integer"},"readers":{"type":"array","items":{"type":"string"}},"reply_to":{"type":"string"},"link":{"type":"string"},"reviewer":{"type":"string"}}}`

// What one decision may allocate, with 16 rules and 363 bytes of arguments: the rules
// alone, by each engine, and all of it. docs/benchmarks.md says where they come from.
func TestAllocations(t *testing.T) {
	if underRace {
		t.Skip("under the race detector pools drop what they are given")
	}
	for _, test := range []struct {
		engine       regoeval.Engine
		rules, whole float64
	}{
		{regoeval.Topdown, 520, 620},
		{regoeval.Compiled, 0, 105},
	} {
		t.Run(string(test.engine), func(t *testing.T) {
			rs := mustLoadEngine(t, benchFiles(t), test.engine)
			g, err := policy.NewGate(policy.Options{})
			require.NoError(t, err)
			ctx := context.Background()
			call := policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "upload_report", InputSchema: []byte(benchSchema)}), Arguments: []byte(benchArguments)}
			var in policy.Input
			g.Use(kept{&in})
			require.True(t, g.Decide(ctx, call).Allowed)
			deny := rs.Cover(call.Tool).Deny
			rules := testing.AllocsPerRun(200, func() {
				if refusals, err := deny.Validate(ctx, in); err != nil || len(refusals) > 0 {
					t.Fatal(refusals, err)
				}
			})
			g.Use(rs)
			whole := testing.AllocsPerRun(200, func() {
				if d := g.Decide(ctx, call); !d.Allowed {
					t.Fatal(d.Refusals, d.Err)
				}
			})
			t.Logf("%s: rules %.0f, whole decision %.0f", test.engine, rules, whole)
			require.LessOrEqual(t, rules, test.rules, "the rules alone")
			require.LessOrEqual(t, whole, test.whole, "the whole decision")
		})
	}
}

func mustLoadEngine(t testing.TB, files map[string]string, e regoeval.Engine) *regoeval.Ruleset {
	t.Helper()
	b, err := read(t, files)
	require.NoError(t, err)
	rs, err := regoeval.New(context.Background(), regoeval.Source{Bundles: []regoeval.NamedBundle{{Name: "b", Bundle: b}}}, regoeval.Options{Engine: e})
	require.NoError(t, err)
	for _, p := range rs.Packages() {
		require.Equal(t, string(e), p.Engine, p.Note)
	}
	return rs
}
