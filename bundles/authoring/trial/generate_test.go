package trial_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/bundles/authoring/skeleton"
	"github.com/regogate/regogate/bundles/authoring/trial"
	"github.com/regogate/regogate/policy"
)

const sendRules = `package tools.send

import rego.v2

deny contains {"rule": "far", "msg": "too far"} if {
	input.arguments.n > data.settings.max
	input.arguments.to == "far"
	endswith(input.arguments.subject, "@corp.example")
}

deny contains {"rule": "prefix", "msg": "a prefix"} if startswith(input.arguments.to, "evil")

deny contains {"rule": "never", "msg": "x"} if {
	input.arguments.n > 5
	input.arguments.n < 3
}
`

func sendTool(t testing.TB) []policy.ToolSpec {
	t.Helper()
	tools, err := policy.ReadTools("", []byte(`[{"name":"send","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"n":{"type":"integer"},"subject":{"type":"string"}},"required":["to"]}}]`))
	require.NoError(t, err)
	return tools
}

func generated(t testing.TB, rules string, seed uint64) trial.Generated {
	t.Helper()
	g, err := trial.Generate(context.Background(), trial.GenerateOptions{
		Bundles: bundles.Options{Bundles: []string{bundle(t, map[string]string{"x.rego": rules, "data.json": `{"settings":{"max":17}}`})}},
		Tools:   sendTool(t), N: 150, Seed: seed,
	})
	require.NoError(t, err)
	return g
}

// For each rule there is a call that it holds for and a near one that it doesn't; what
// can't hold is reported with the condition that nothing passes.
func TestGeneratedCallsMeetTheRules(t *testing.T) {
	g := generated(t, sendRules, 1)
	require.Len(t, g.Rules, 3)
	far, prefix, never := g.Rules[0], g.Rules[1], g.Rules[2]
	require.Positive(t, far.Hits, "three conditions at once are found by going on from the nearest call")
	require.Contains(t, string(far.Refused.Arguments), `"to":"far"`)
	require.NotNil(t, far.Nearest)
	require.Positive(t, prefix.Hits)
	require.Contains(t, string(prefix.Nearest.Arguments), "evil")
	require.Zero(t, never.Hits)
	require.Equal(t, 15, never.FailedAt)
	require.Equal(t, []trial.RuleCalls{never}, g.Never())
	require.Equal(t, g.Calls, g.Tools[0].Calls)
	require.Equal(t, g.Calls, g.Tools[0].Allowed+g.Tools[0].Codes[policy.Denied])

	// What is said of a rule is what the gate says of these calls.
	rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{bundle(t, map[string]string{"x.rego": sendRules, "data.json": `{"settings":{"max":17}}`})}})
	require.NoError(t, err)
	gate, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	gate.Use(rs)
	tool := gate.Tool(sendTool(t)[0])
	require.Equal(t, policy.Denied, gate.Decide(context.Background(), policy.Call{Tool: tool, Arguments: far.Refused.Arguments}).Code())
	require.True(t, gate.Decide(context.Background(), policy.Call{Tool: tool, Arguments: far.Nearest.Arguments}).Allowed)
}

func TestGeneratedCallsFollowTheSeed(t *testing.T) {
	one, again, other := generated(t, sendRules, 1), generated(t, sendRules, 1), generated(t, sendRules, 2)
	text := func(g trial.Generated) string {
		var b bytes.Buffer
		for i := range g.Rules {
			g.Rules[i].File = filepath.Base(g.Rules[i].File)
		}
		require.NoError(t, g.WriteText(&b))
		raw, err := json.Marshal(g)
		require.NoError(t, err)
		return b.String() + string(raw)
	}
	require.Equal(t, text(one), text(again))
	require.NotEqual(t, text(one), text(other))
}

// Calls that satisfy the schema and that a rule can't decide are the find.
func TestGeneratedCallsThatCanNotBeDecided(t *testing.T) {
	g := generated(t, "package tools.send\n\ndeny contains \"much\" if to_number(input.arguments.subject) > 3\n", 1)
	require.Positive(t, g.Undecided())
	require.Contains(t, string(g.Tools[0].Undecided), `"subject":`)
	require.Contains(t, g.Tools[0].Why, "to_number")
}

func TestNoToolsToCall(t *testing.T) {
	_, err := trial.Generate(context.Background(), trial.GenerateOptions{N: 1,
		Bundles: bundles.Options{Bundles: []string{bundle(t, map[string]string{"x.rego": sendRules, "data.json": `{"settings":{"max":17}}`})}}})
	require.ErrorIs(t, err, trial.ErrNoTools)
}

// The skeletons of 25 real servers: tests pass, every rule is covered, and every call
// that is made up is decided.
func TestSkeletonsOfRealServers(t *testing.T) {
	shared := os.Getenv("REGOGATE_SHARED")
	if shared == "" {
		t.Skip("REGOGATE_SHARED is not set: skipping the tools of real servers")
	}
	lists, err := filepath.Glob(filepath.Join(shared, "tools", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, list := range lists {
		t.Run(filepath.Base(list), func(t *testing.T) {
			data, err := os.ReadFile(list)
			require.NoError(t, err)
			tools, err := policy.ReadTools("", data)
			require.NoError(t, err)
			dir := filepath.Join(t.TempDir(), "policy")
			_, err = skeleton.Write(skeleton.Options{Dir: dir, Server: "s", Tools: tools})
			require.NoError(t, err)
			o := bundles.Options{Bundles: []string{dir}}
			r, err := trial.Run(context.Background(), trial.Options{Bundles: o})
			require.NoError(t, err)
			require.Len(t, r.Tests, 2*len(tools))
			require.Equal(t, len(r.Tests), r.Count(trial.Pass))
			require.InDelta(t, 100, r.Coverage.Percent, 0)
			open := filepath.Join(t.TempDir(), "open")
			_, err = skeleton.Write(skeleton.Options{Dir: open, Server: "s", Tools: tools, Allow: true})
			require.NoError(t, err)
			r, err = trial.Run(context.Background(), trial.Options{Bundles: bundles.Options{Bundles: []string{open}}})
			require.NoError(t, err)
			require.Equal(t, 2*len(tools), r.Count(trial.Pass), "whatever has been reviewed")
			g, err := trial.Generate(context.Background(), trial.GenerateOptions{Bundles: o, N: 3, Seed: 1})
			require.NoError(t, err)
			require.Zero(t, g.Undecided())
			require.Empty(t, g.Never())
		})
	}
}
