package decorator_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/policy"
)

const schema = `{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"],"additionalProperties":false}`

// rules is a ruleset of one Go validator.
type rules struct{ deny policy.Validator }

func (rules) Revision() string { return "r1" }

func (r rules) Cover(*policy.Tool) policy.Coverage { return policy.Coverage{Deny: r.deny, Own: true} }

func gateWith(t *testing.T, o policy.Options, v policy.ValidatorFunc) *policy.Gate {
	t.Helper()
	g, err := policy.NewGate(o)
	require.NoError(t, err)
	g.Use(rules{v})
	return g
}

func noObjection(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil }

func TestWrapRunsTheHandlerOnlyForCallsThatAreLetThrough(t *testing.T) {
	deny := func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		if v, _ := in.Arguments().Lookup("/path"); v == "/etc/shadow" {
			return []policy.Refusal{{Message: "not that file"}}, nil
		}
		return nil, nil
	}
	tests := []struct {
		name, arguments string
		code            policy.Code // "" when the handler runs
	}{
		{"allowed", `{"path":"/tmp/a"}`, ""},
		{"allowed, exact bytes", "{ \"path\":\t\"/tmp/a\", \"n\": 9007199254740993 }", ""},
		{"denied", `{"path":"/etc/shadow"}`, policy.Denied},
		{"schema", `{"path":7}`, policy.SchemaViolation},
		{"absent arguments are an empty object", ``, policy.SchemaViolation},
		{"null arguments are an empty object", `null`, policy.SchemaViolation},
		{"duplicate name", `{"path":"/tmp/a","path":"/etc/shadow"}`, policy.Malformed},
		{"folded name", `{"path":"/tmp/a","Path":"/etc/shadow"}`, policy.Malformed},
		{"white space only", `  `, policy.Malformed},
		{"array", `[]`, policy.Malformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var ran []string
			h, err := decorator.Wrap(gateWith(t, policy.Options{}, deny), policy.ToolSpec{Name: "read", InputSchema: []byte(schema)},
				func(_ context.Context, a json.RawMessage) (string, error) {
					ran = append(ran, string(a))
					return "done", nil
				})
			require.NoError(t, err)
			out, err := h(context.Background(), json.RawMessage(tt.arguments))
			if tt.code == "" {
				require.NoError(t, err)
				require.Equal(t, "done", out)
				require.Equal(t, []string{tt.arguments}, ran, "the handler gets the bytes as they came")
				return
			}
			var refused *decorator.RefusedError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, tt.code, refused.Decision.Code())
			require.Contains(t, err.Error(), string(tt.code))
			require.Empty(t, out)
			require.Empty(t, ran, "the handler must not run")
		})
	}
}

func TestWrapRefusesWhatCanNeverWork(t *testing.T) {
	g := gateWith(t, policy.Options{}, noObjection)
	h := func(context.Context, json.RawMessage) (int, error) { return 0, nil }
	ok := policy.ToolSpec{Name: "t", InputSchema: []byte(schema)}
	tests := []struct {
		name string
		d    decorator.Decider
		spec policy.ToolSpec
		h    decorator.Handler[int]
		want string
	}{
		{"nil decider", nil, ok, h, "decider is nil"},
		{"nil gate", (*policy.Gate)(nil), ok, h, "decider is nil"},
		{"nil handler", g, ok, nil, "handler is nil"},
		{"no name", g, policy.ToolSpec{InputSchema: []byte(schema)}, h, "no name"},
		{"no schema", g, policy.ToolSpec{Name: "t"}, h, "declares no inputSchema"},
		{"schema that does not compile", g, policy.ToolSpec{Name: "t", InputSchema: []byte(`{"type":"strnig"}`)}, h, "inputSchema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wrapped, err := decorator.Wrap(tt.d, tt.spec, tt.h)
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, wrapped)
		})
	}
}

func TestWrapPassesTheHandlersOwnErrorOn(t *testing.T) {
	mine := errors.New("disk full")
	h, err := decorator.Wrap(gateWith(t, policy.Options{}, noObjection), policy.ToolSpec{Name: "t", InputSchema: []byte(schema)},
		func(context.Context, json.RawMessage) (int, error) { return 7, mine })
	require.NoError(t, err)
	out, err := h(context.Background(), json.RawMessage(`{"path":"a"}`))
	require.Same(t, mine, err)
	require.Equal(t, 7, out)
}

func TestWrapWithNoRulesChangesNothing(t *testing.T) {
	var ran atomic.Int64
	h, err := decorator.Wrap(policy.NewNoopGate(), policy.ToolSpec{Name: "t"},
		func(_ context.Context, a json.RawMessage) (string, error) { ran.Add(1); return string(a), nil })
	require.NoError(t, err)
	out, err := h(context.Background(), json.RawMessage(`not even JSON`))
	require.NoError(t, err)
	require.Equal(t, "not even JSON", out)
	require.EqualValues(t, 1, ran.Load())
}

func TestWrapForwardsInShadowMode(t *testing.T) {
	refuse := func(context.Context, policy.Input) ([]policy.Refusal, error) {
		return []policy.Refusal{{Message: "no"}}, nil
	}
	h, err := decorator.Wrap(gateWith(t, policy.Options{Mode: policy.Shadow}, refuse), policy.ToolSpec{Name: "t", InputSchema: []byte(schema)},
		func(context.Context, json.RawMessage) (string, error) { return "ran", nil })
	require.NoError(t, err)
	out, err := h(context.Background(), json.RawMessage(`{"path":"a"}`))
	require.NoError(t, err)
	require.Equal(t, "ran", out)
	_, err = h(context.Background(), json.RawMessage(`{"path":"a","path":"b"}`))
	require.Error(t, err, "malformed is never forwarded")
}
