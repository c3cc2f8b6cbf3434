package policy_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func TestModeChangesAndEnds(t *testing.T) {
	g, err := policy.NewGate(policy.Options{Mode: policy.Shadow})
	require.NoError(t, err)
	forwarded := func() bool {
		d := g.Decide(context.Background(), policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "x", NoSchema: true}), Arguments: []byte(`{}`)})
		require.False(t, d.Allowed)
		return d.Effective
	}
	g.Use(emptyRuleset{})
	require.True(t, forwarded(), "as it was made")
	require.NoError(t, g.SetMode(policy.Enforce, time.Time{}))
	require.False(t, forwarded())
	require.NoError(t, g.SetMode(policy.Shadow, time.Time{}))
	require.True(t, forwarded())
	require.ErrorContains(t, g.SetMode("off", time.Time{}), `"off"`)
	require.True(t, forwarded(), "a mode that is none changes nothing")
	require.NoError(t, g.SetMode(policy.Shadow, time.Now().Add(time.Hour)))
	require.True(t, forwarded())
	mode, until := g.Mode()
	require.Equal(t, policy.Shadow, mode)
	require.False(t, until.IsZero())
	require.NoError(t, g.SetMode(policy.Shadow, time.Now()))
	require.False(t, forwarded(), "it has ended")
	mode, _ = g.Mode()
	require.Equal(t, policy.Enforce, mode)
	g.Use(nil)
	require.NoError(t, g.SetMode(policy.Shadow, time.Time{}))
	require.False(t, forwarded(), "not_ready is never forwarded")
}

// emptyRuleset covers no tool.
type emptyRuleset struct{}

func (emptyRuleset) Revision() string                   { return "empty" }
func (emptyRuleset) Cover(*policy.Tool) policy.Coverage { return policy.Coverage{} }
