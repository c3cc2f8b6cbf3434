package policy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

// kept is the record of the last decision.
type kept policy.Record

// Record implements policy.Recorder.
func (k *kept) Record(_ context.Context, r policy.Record) { *k = kept(r) }

// Each phase that a decision reaches takes its time, and none that it doesn't.
func TestPhasesAreThoseThatWereReached(t *testing.T) {
	const nap = 3 * time.Millisecond
	slow := policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) {
		time.Sleep(nap)
		return nil, nil
	})
	var last kept
	gate, err := policy.NewGate(policy.Options{Recorder: &last, Validators: []policy.Registration{{Name: "slow", Validator: slow}}})
	require.NoError(t, err)
	tool := gate.Tool(policy.ToolSpec{Name: "t", InputSchema: []byte(`{"type":"object","required":["a"]}`)})
	decide := func(arguments string) policy.Phases {
		gate.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(arguments)})
		require.LessOrEqual(t, last.Phases.Parse+last.Phases.Schema+last.Phases.Rules, last.Elapsed)
		return last.Phases
	}
	require.Zero(t, decide(`{"a":1}`), "nothing is in force")
	gate.Use(fake{revision: "1"})
	p := decide(`{"a":1}`)
	require.Positive(t, p.Parse)
	require.Positive(t, p.Schema)
	require.GreaterOrEqual(t, p.Rules, nap)
	p = decide(`{}`)
	require.Positive(t, p.Parse)
	require.Positive(t, p.Schema)
	require.Zero(t, p.Rules)
	p = decide(`[`)
	require.Positive(t, p.Parse)
	require.Zero(t, p.Schema)
	require.Zero(t, p.Rules)
}

func TestOnlyAWholeTraceparentIsKept(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := policy.WithTraceparent(context.Background(), good)
	require.Equal(t, good, policy.TraceparentFrom(ctx))
	require.Empty(t, policy.TraceparentFrom(context.Background()))
	for _, bad := range []string{
		"", "x", good + "-more", good + "\n", " " + good, strings.ToUpper(good), strings.Replace(good, "00-", "ff-", 1), strings.Replace(good, "00-", "01-", 1),
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", strings.Replace(good, "-01", "-0g", 1), "AKIAIOSFODNN7EXAMPLE",
	} {
		require.Empty(t, policy.TraceparentFrom(policy.WithTraceparent(context.Background(), bad)), "%q", bad)
		require.Equal(t, good, policy.TraceparentFrom(policy.WithTraceparent(ctx, bad)), "what was known stays: %q", bad)
	}
}
