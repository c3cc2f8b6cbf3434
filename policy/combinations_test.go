package policy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

// A call that violates the schema, which shadow mode would forward, is not forwarded
// when it is malformed as well.
func TestShadowNeverForwardsWhatIsAlsoMalformed(t *testing.T) {
	v := &counting{}
	g := newGate(t, policy.Options{Mode: policy.Shadow}, covered(v))
	d := g.Decide(context.Background(), call(readTool(g), `{"path":7,"MODE":"x"}`))
	requireRefused(t, d, policy.Malformed)
	require.Zero(t, v.asked.Load())
}

// A no-op gate compiles no schema: another gate has nothing to check its tools against.
func TestToolOfANoopGateIsRefusedByAnother(t *testing.T) {
	v := &counting{}
	g := newGate(t, policy.Options{}, covered(v))
	requireRefused(t, g.Decide(context.Background(), call(readTool(policy.NewNoopGate()), `{"path":"a"}`)), policy.SchemaUnusable)
	require.Zero(t, v.asked.Load())
}
