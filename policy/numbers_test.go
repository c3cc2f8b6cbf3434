package policy_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

// An extreme number is known of wherever it comes from; so is that there is none.
func TestPlainNumbers(t *testing.T) {
	const ordinary = `{"path":"p","n":7}`
	for name, test := range map[string]struct {
		arguments, responses, annotations, schema string
		claims                                    map[string]any
		plain                                     bool
	}{
		"none":               {arguments: ordinary, responses: `{"a":1e299}`, annotations: `{"readOnlyHint":true,"x":0.5}`, claims: map[string]any{"n": 1}, plain: true},
		"nothing else":       {arguments: `{}`, plain: true},
		"arguments":          {arguments: `{"a":{"b":[1,{"c":1e301}]}}`},
		"small":              {arguments: `{"a":5e-324}`},
		"responses":          {arguments: ordinary, responses: `{"a":[1e301]}`},
		"responses and not":  {arguments: `{"a":1e301}`, responses: `{"a":1}`},
		"annotations":        {arguments: ordinary, annotations: `{"x":1e302}`},
		"claims":             {arguments: ordinary, claims: map[string]any{"n": json.Number("1e302")}},
		"a default":          {arguments: `{"l":[{},{}]}`, schema: `{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"n":{"type":"number","default":1e303}}}}}}`},
		"a default that is":  {arguments: `{"l":[{},{}]}`, schema: `{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"n":{"type":"number","default":3}}}}}}`, plain: true},
		"defaults and hints": {arguments: `{}`, annotations: `{"x":1e302}`, schema: `{"type":"object"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var seen policy.Input
			g := newGate(t, policy.Options{}, covered(policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
				seen = in
				return nil, nil
			})))
			spec := policy.ToolSpec{Name: "x", NoSchema: test.schema == "", InputSchema: json.RawMessage(test.schema), Annotations: json.RawMessage(test.annotations)}
			c := call(g.Tool(spec), test.arguments)
			c.Responses = json.RawMessage(test.responses)
			d := g.Decide(policy.WithCaller(context.Background(), policy.Caller{Claims: test.claims}), c)
			require.True(t, d.Allowed, "%v %v", d.Refusals, d.Err)
			require.Equal(t, test.plain, seen.PlainNumbers())
			if test.claims == nil {
				require.True(t, g.Decide(context.Background(), c).Allowed)
				require.Equal(t, test.plain, seen.PlainNumbers(), "without a caller")
			}
		})
	}
}

// Of an input that no gate made nothing is known.
func TestPlainNumbersOfNothing(t *testing.T) {
	require.False(t, policy.Input{}.PlainNumbers())
}
