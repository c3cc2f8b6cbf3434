package decorator_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/policy"
)

type transfer struct {
	To      string         `json:"to" jsonschema:"who gets it"`
	Cents   int64          `json:"cents"`
	Small   int8           `json:"small,omitempty"`
	Share   float64        `json:"share,omitempty"`
	Narrow  float32        `json:"narrow,omitempty"`
	Maybe   *int           `json:"maybe,omitempty"`
	Extra   any            `json:"extra,omitempty"`
	More    map[string]any `json:"more,omitempty"`
	Batches [][]uint64     `json:"batches,omitempty"`
	Exact   json.Number    `json:"exact,omitempty"`
}

func TestTypedHandlersGetWhatWasDecided(t *testing.T) {
	seven := 7
	tests := []struct {
		name, arguments string
		want            transfer
		code            policy.Code // "" when the gate lets it through
		decode          string      // where it doesn't fit then, "" when the handler runs
	}{
		{"plain", `{"to":"ann","cents":5}`, transfer{To: "ann", Cents: 5}, "", ""},
		{"integer above 2^53", `{"to":"ann","cents":9007199254740993}`, transfer{To: "ann", Cents: 9007199254740993}, "", ""},
		{"the greatest", `{"to":"ann","cents":9223372036854775807,"batches":[[18446744073709551615]]}`,
			transfer{To: "ann", Cents: 9223372036854775807, Batches: [][]uint64{{18446744073709551615}}}, "", ""},
		{"the least", `{"to":"ann","cents":-9223372036854775808}`, transfer{To: "ann", Cents: -9223372036854775808}, "", ""},
		{"an integer with a point", `{"to":"ann","cents":5.0}`, transfer{To: "ann", Cents: 5}, "", ""},
		{"an integer with an exponent", `{"to":"a\u006en","cents":9.007199254740993e15}`, transfer{To: "ann", Cents: 9007199254740993}, "", ""},
		{"numbers in an any", `{"to":"ann","cents":5,"extra":[9007199254740993,"x"],"more":{"n":1e2}}`,
			transfer{To: "ann", Cents: 5, Extra: []any{json.Number("9007199254740993"), "x"}, More: map[string]any{"n": json.Number("1e2")}}, "", ""},
		{"json.Number", `{"to":"ann","cents":5,"exact":9007199254740993.125}`, transfer{To: "ann", Cents: 5, Exact: "9007199254740993.125"}, "", ""},
		{"floats", `{"to":"ann","cents":5,"share":0.1,"narrow":0.5}`, transfer{To: "ann", Cents: 5, Share: 0.1, Narrow: 0.5}, "", ""},
		{"pointer", `{"to":"ann","cents":5,"maybe":7}`, transfer{To: "ann", Cents: 5, Maybe: &seven}, "", ""},
		{"null for a pointer", `{"to":"ann","cents":5,"maybe":null}`, transfer{To: "ann", Cents: 5}, "", ""},
		{"one more than the greatest", `{"to":"ann","cents":9223372036854775808}`, transfer{}, policy.SchemaViolation, ""},
		{"one less than the least", `{"to":"ann","cents":-9223372036854775809}`, transfer{}, policy.SchemaViolation, ""},
		{"too great for 8 bits", `{"to":"ann","cents":5,"small":128}`, transfer{}, policy.SchemaViolation, ""},
		{"negative unsigned", `{"to":"ann","cents":5,"batches":[[-1]]}`, transfer{}, policy.SchemaViolation, ""},
		{"fraction", `{"to":"ann","cents":5.5}`, transfer{}, policy.SchemaViolation, ""},
		{"missing", `{"to":"ann"}`, transfer{}, policy.SchemaViolation, ""},
		{"absent", ``, transfer{}, policy.SchemaViolation, ""},
		{"undeclared", `{"to":"ann","cents":5,"bcc":"eve"}`, transfer{}, policy.SchemaViolation, ""},
		{"other case", `{"to":"ann","cents":5,"TO":"eve"}`, transfer{}, policy.Malformed, ""},
		{"only in another case", `{"To":"ann","cents":5}`, transfer{}, policy.Malformed, ""},
		{"twice", `{"to":"ann","to":"eve","cents":5}`, transfer{}, policy.Malformed, ""},
		{"denied", `{"to":"eve","cents":5}`, transfer{}, policy.Denied, ""},
		{"a float that would be rounded", `{"to":"ann","cents":5,"share":9007199254740993}`, transfer{}, "", "/share"},
		{"a narrow one", `{"to":"ann","cents":5,"narrow":16777217}`, transfer{}, "", "/narrow"},
	}
	deny := func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		if to, _ := in.Arguments().Lookup("/to"); to == "eve" {
			return []policy.Refusal{{Message: "not to eve"}}, nil
		}
		return nil, nil
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var ran []transfer
			h, err := decorator.WrapTyped(gateWith(t, policy.Options{}, deny), policy.ToolSpec{Name: "transfer"},
				func(_ context.Context, in transfer) (string, error) {
					ran = append(ran, in)
					return "done", nil
				})
			require.NoError(t, err)
			out, err := h(context.Background(), json.RawMessage(tt.arguments))
			switch {
			case tt.code != "":
				var refused *decorator.RefusedError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, tt.code, refused.Decision.Code(), "%v", err)
			case tt.decode != "":
				var misfit *decorator.DecodeError
				require.ErrorAs(t, err, &misfit)
				require.Equal(t, tt.decode, misfit.At)
				require.NotContains(t, err.Error(), "9007199254740993")
			default:
				require.NoError(t, err)
				require.Equal(t, "done", out)
				require.Equal(t, []transfer{tt.want}, ran)
				return
			}
			require.Empty(t, out)
			require.Empty(t, ran, "the handler must not run")
		})
	}
}

// A schema of one's own may be wider than the type: what doesn't fit is no call.
func TestASchemaWiderThanTheType(t *testing.T) {
	h, err := decorator.WrapTyped(gateWith(t, policy.Options{}, noObjection), policy.ToolSpec{Name: "t", InputSchema: []byte(`{"type":"object"}`)},
		func(context.Context, struct {
			N int8 `json:"n"`
		}) (int, error) {
			t.Error("the handler must not run")
			return 1, nil
		})
	require.NoError(t, err)
	for _, arguments := range []string{`{"n":123456}`, `{"n":"secret"}`, `{"n":1.5}`, `{"n":1e300}`} {
		_, err = h(context.Background(), json.RawMessage(arguments))
		var misfit *decorator.DecodeError
		require.ErrorAs(t, err, &misfit, arguments)
		require.Equal(t, decorator.DecodeError{Tool: "t", Type: "int8", At: "/n", Err: misfit.Err}, *misfit)
		require.Equal(t, `tool "t" did not run: /n doesn't fit the Go type int8 that its handler reads`, err.Error())
		require.Error(t, misfit.Unwrap())
	}
}

func TestSchemaFor(t *testing.T) {
	raw, err := decorator.SchemaFor[*transfer]()
	require.NoError(t, err)
	var schema struct {
		Type                 string
		Required             []string
		AdditionalProperties any
		Properties           map[string]any
	}
	require.NoError(t, json.Unmarshal(raw, &schema))
	require.Equal(t, "object", schema.Type)
	require.Equal(t, []string{"to", "cents"}, schema.Required)
	require.Equal(t, "who gets it", schema.Properties["to"].(map[string]any)["description"])
	require.Contains(t, string(raw), `"maximum":9223372036854775807`)

	for _, make := range []func() (json.RawMessage, error){decorator.SchemaFor[map[string]int], decorator.SchemaFor[any], decorator.SchemaFor[struct{}]} {
		raw, err := make()
		require.NoError(t, err)
		require.NoError(t, gateWith(t, policy.Options{}, noObjection).Tool(policy.ToolSpec{Name: "t", InputSchema: raw}).SchemaErr(), string(raw))
	}
	for name, make := range map[string]func() (json.RawMessage, error){
		"a string": decorator.SchemaFor[string], "a slice": decorator.SchemaFor[[]int], "a time": decorator.SchemaFor[time.Time],
		"a channel": decorator.SchemaFor[struct{ C chan int }], "keys": decorator.SchemaFor[map[bool]int],
	} {
		_, err := make()
		require.Error(t, err, name)
	}
}

func TestWrapTypedRefusesWhatCanNeverWork(t *testing.T) {
	g := gateWith(t, policy.Options{}, noObjection)
	h := func(context.Context, transfer) (int, error) { return 0, nil }
	_, err := decorator.WrapTyped[transfer, int](g, policy.ToolSpec{Name: "t"}, nil)
	require.ErrorContains(t, err, "handler is nil")
	_, err = decorator.WrapTyped(nil, policy.ToolSpec{Name: "t"}, h)
	require.ErrorContains(t, err, "decider is nil")
	_, err = decorator.WrapTyped((*policy.Gate)(nil), policy.ToolSpec{Name: "t"}, h)
	require.ErrorContains(t, err, "decider is nil")
	_, err = decorator.WrapTyped(g, policy.ToolSpec{}, h)
	require.ErrorContains(t, err, "no name")
	_, err = decorator.WrapTyped(g, policy.ToolSpec{Name: "t"}, func(context.Context, string) (int, error) { return 0, nil })
	require.ErrorContains(t, err, "use a struct or a map")
	_, err = decorator.WrapTyped(g, policy.ToolSpec{Name: "t", InputSchema: []byte(`{"type":"strnig"}`)}, h)
	require.ErrorContains(t, err, "inputSchema")
}

func TestWrapTypedWithNoRulesDecodesAllTheSame(t *testing.T) {
	h, err := decorator.WrapTyped(policy.NewNoopGate(), policy.ToolSpec{Name: "t"},
		func(_ context.Context, in transfer) (int64, error) { return in.Cents, nil })
	require.NoError(t, err)
	out, err := h(context.Background(), json.RawMessage(`{"cents":9007199254740993}`))
	require.NoError(t, err)
	require.Equal(t, int64(9007199254740993), out)
}
