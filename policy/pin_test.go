package policy_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

// pinned is a ruleset that allows everything, and pins.
type pinned struct{ pin policy.Pin }

func (pinned) Revision() string { return "r" }

func (p pinned) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Pin: p.pin, Deny: policy.ValidatorFunc(
		func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })}
}

func TestPins(t *testing.T) {
	const schema, other = `{"type":"object"}`, `{"type":"object","required":["a"]}`
	digestOf := func(schema string) string {
		g, err := policy.NewGate(policy.Options{})
		require.NoError(t, err)
		return g.Tool(policy.ToolSpec{Name: "x", InputSchema: json.RawMessage(schema)}).Digest()
	}
	same, changed := policy.Pin{Digest: digestOf(schema)}, policy.Pin{Digest: digestOf(other)}
	missing, none := policy.Pin{Expected: true}, policy.Pin{}
	good := policy.ToolSpec{Name: "x", InputSchema: json.RawMessage(schema)}
	broken := policy.ToolSpec{Name: "x", InputSchema: json.RawMessage(`{"type":"object","type":"object"}`)}
	strict := policy.ToolSpec{Name: "x", InputSchema: json.RawMessage(other)}
	absent := policy.ToolSpec{Name: "x", NoSchema: true}
	tests := []struct {
		name    string
		options policy.Options
		pin     policy.Pin
		spec    policy.ToolSpec
		want    policy.Code // "" when allowed
		warned  bool
	}{
		{"as pinned", policy.Options{}, same, good, "", false},
		{"changed", policy.Options{}, changed, good, policy.ToolChanged, false},
		{"changed, said out loud", policy.Options{Pins: "enforce"}, changed, good, policy.ToolChanged, false},
		{"changed, warn", policy.Options{Pins: "warn"}, changed, good, "", true},
		{"changed, off", policy.Options{Pins: "off"}, changed, good, "", false},
		{"appeared since", policy.Options{}, missing, good, policy.ToolChanged, false},
		{"appeared since, warn", policy.Options{Pins: "warn"}, missing, good, "", true},
		{"nothing is pinned", policy.Options{}, none, good, "", false},
		{"before what else is wrong with the schema", policy.Options{}, same, broken, policy.ToolChanged, false},
		{"before the schema is asked", policy.Options{}, same, strict, policy.ToolChanged, false},
		{"without pins the schema is asked", policy.Options{Pins: "off"}, same, strict, policy.SchemaViolation, false},
		{"the schema's switch is another one", policy.Options{Schema: policy.SchemaOptions{SkipEnforce: true}}, changed, good, policy.ToolChanged, false},
		{"shadow mode does not forward it", policy.Options{Mode: policy.Shadow}, changed, good, policy.ToolChanged, false},
		{"no live schema to compare", policy.Options{}, changed, absent, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := policy.NewGate(tt.options)
			require.NoError(t, err)
			g.Use(pinned{tt.pin})
			d := g.Decide(context.Background(), policy.Call{Tool: g.Tool(tt.spec), Arguments: []byte(`{}`)})
			require.Equal(t, tt.want, d.Code(), d.Text())
			require.Equal(t, tt.want == "", d.Allowed)
			require.Equal(t, d.Allowed, d.Effective)
			require.Len(t, d.Refusals, btoi(tt.want != ""))
			require.Len(t, d.Warnings, btoi(tt.warned))
			if tt.want == policy.ToolChanged {
				require.ErrorContains(t, d.Err, "pin", "the operator learns what to do")
			}
		})
	}
	_, err := policy.NewGate(policy.Options{Pins: "on"})
	require.ErrorContains(t, err, "tools.pins")
}

// Malformed arguments and unknown tools are what they are, whatever is pinned.
func TestPinsComeAfterTheBytes(t *testing.T) {
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(pinned{policy.Pin{Digest: "sha256:other"}})
	tool := g.Tool(policy.ToolSpec{Name: "x", InputSchema: json.RawMessage(`{}`)})
	require.Equal(t, policy.Malformed, g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(`{`)}).Code())
	require.Equal(t, policy.UnknownTool, g.Decide(context.Background(), policy.Call{Tool: policy.UndeclaredTool("", "x"), Arguments: []byte(`{}`)}).Code())
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
