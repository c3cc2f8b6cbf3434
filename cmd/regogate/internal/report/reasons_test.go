package report

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

// says is a ruleset whose deny set is one refusal.
type says policy.Refusal

func (says) Revision() string { return "r1" }

func (s says) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) {
		return []policy.Refusal{policy.Refusal(s)}, nil
	})}
}

// What an author or an agent has put into a rule's id, a location or a tool's name is not
// told when it is an argument or looks like a secret.
func TestReasonsRepeatNoArgument(t *testing.T) {
	const arguments = `{"path":"hunter2horse","say \"x\"":{"a":"batt\"ery"},"to":["b"]}`
	for _, tt := range []struct {
		name            string
		refusal         says
		tool            string
		want, unwelcome string
	}{
		{"a rule and a place", says{Message: "m", Rule: "max-path", Location: "/to/0"}, "t", "/to/0: rule max-path", "hunter2"},
		{"a value as rule", says{Message: "m", Rule: "hunter2horse"}, "t", "a deny rule", "hunter2"},
		{"a value with a quote as rule", says{Message: "m", Rule: `batt"ery`}, "t", "a deny rule", "ery"},
		{"a value as place", says{Message: "m", Rule: "max-path", Location: "hunter2horse"}, "t", "rule max-path", "hunter2"},
		{"a secret as rule", says{Message: "m", Rule: "no ghp_16C7e42F292c6912E7710c838347Ae178B4a"}, "t", "rule no ", "ghp_16C7"},
		{"a secret as tool", says{}, "AKIAIOSFODNN7EXAMPLE", "unknown_tool", "AKIAIOSF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			g, err := policy.NewGate(policy.Options{Recorder: New(&log, false)})
			require.NoError(t, err)
			g.Use(tt.refusal)
			tool := g.Tool(policy.ToolSpec{Name: tt.tool, NoSchema: true})
			if tt.tool != "t" {
				tool = policy.UndeclaredTool("", tt.tool)
			}
			g.Decide(t.Context(), policy.Call{Tool: tool, Arguments: []byte(arguments)})
			require.Contains(t, log.String(), tt.want)
			require.NotContains(t, log.String(), tt.unwelcome)
		})
	}
}
