package gosdk_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

type transfer struct {
	Account int64   `json:"account"`
	Amount  float64 `json:"amount,omitempty"`
	Limits  limits  `json:"limits,omitempty"`
	Note    any     `json:"note,omitempty"`
}

type limits struct {
	Max  uint64 `json:"max,omitempty"`
	Days int    `json:"days,omitempty"`
}

const transferSchema = `{"type":"object","required":["account"],"properties":{"account":{"type":"integer"},"amount":{"type":"number"},"note":{},
	"limits":{"type":"object","default":{},"properties":{"max":{"type":"integer"},"days":{"type":"integer","default":30}}}}}`

func keep[In any](got *[]In) mcp.ToolHandlerFor[In, any] {
	return func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		*got = append(*got, in)
		return text("ran"), nil, nil
	}
}

// What the SDK's own typed tools do to an integer, and why the gate refuses it.
func TestANumberThatATypedToolWouldRoundIsRefused(t *testing.T) {
	tests := []struct {
		name, arguments string
		refused         bool
	}{
		{"2^53", `{"account":9007199254740992}`, false},
		{"2^53+1", `{"account":9007199254740993}`, true},
		{"-(2^53+1)", `{"account":-9007199254740993}`, true},
		{"2^60, which is exact and printed otherwise", `{"account":1152921504606846976}`, true},
		{"nested", `{"account":1,"limits":{"max":18446744073709551615}}`, true},
		{"a fraction", `{"account":1,"amount":0.1}`, false},
		{"a fraction with too many digits", `{"account":1,"amount":0.10000000000000000555}`, true},
		{"an exponent", `{"account":1e2}`, false},
		{"digits in a string", `{"account":1,"note":"9007199254740993 \" 9007199254740993"}`, false},
	}
	raw := json.RawMessage(transferSchema)
	schema := new(jsonschema.Schema)
	require.NoError(t, json.Unmarshal(raw, schema))
	for what, declared := range map[string]any{"inferred": nil, "a schema": schema, "raw": raw} {
		for _, tt := range tests {
			t.Run(what+", "+tt.name, func(t *testing.T) {
				var log log
				var got []transfer
				server := newServer(nil)
				mcp.AddTool(server, &mcp.Tool{Name: "transfer", InputSchema: declared}, keep(&got))
				require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), gosdk.Options{}))
				r, err := call(t, inMemory(modern)(t, server, newClient(nil)), "transfer", tt.arguments)
				require.NoError(t, err)
				require.Equal(t, tt.refused, r.IsError, "%v", r.Content)
				records := log.Take()
				require.Len(t, records, 1)
				if !tt.refused {
					require.Len(t, got, 1)
					return
				}
				require.Empty(t, got)
				require.Equal(t, policy.Undecided, codeOf(t, r))
				require.NotContains(t, textOf(t, r), "float64", "that is for the operator")
				require.ErrorContains(t, records[0].Decision.Err, "float64")
				require.ErrorContains(t, records[0].Decision.Err, "gosdk.AddTool")
			})
		}
	}
}

// A number is only a reason when nothing that comes before it is.
func TestEarlierQuestionsComeFirst(t *testing.T) {
	var got []transfer
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "transfer"}, keep(&got))
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow, "transfer"), gosdk.Options{}))
	mcp.AddTool(server, &mcp.Tool{Name: "stray"}, keep(&got))
	cs := inMemory(modern)(t, server, newClient(nil))
	for _, tt := range []struct {
		tool, arguments string
		want            policy.Code
	}{
		{"transfer", `{"account":9007199254740993,"account":1}`, policy.Malformed},
		{"transfer", `{"account":9007199254740993,"amount":"x"}`, policy.SchemaViolation},
		{"stray", `{"account":9007199254740993}`, policy.Unmapped},
	} {
		r, err := call(t, cs, tt.tool, tt.arguments)
		require.NoError(t, err)
		require.Equal(t, tt.want, codeOf(t, r))
	}
	require.Empty(t, got)
}

func TestAddToolPassesExactlyWhatWasDecided(t *testing.T) {
	tests := []struct {
		name, arguments string
		want            transfer
		refused         bool
	}{
		{"2^53+1", `{"account":9007199254740993}`, transfer{Account: 9007199254740993, Limits: limits{Days: 30}}, false},
		{"the largest", `{"account":-9223372036854775808,"limits":{"max":18446744073709551615,"days":1}}`, transfer{Account: -9223372036854775808, Limits: limits{Max: 18446744073709551615, Days: 1}}, false},
		{"defaults beside it", `{"account":1,"limits":{"max":9007199254740993}}`, transfer{Account: 1, Limits: limits{Max: 9007199254740993, Days: 30}}, false},
		{"1.0 is an integer", `{"account":1.0,"limits":{"days":1e1}}`, transfer{Account: 1, Limits: limits{Days: 10}}, false},
		{"a float64 next to it", `{"account":9007199254740993,"amount":0.5}`, transfer{Account: 9007199254740993, Amount: 0.5, Limits: limits{Days: 30}}, false},
		{"a float64 can't hold it", `{"account":1,"amount":9007199254740993}`, transfer{}, true},
		{"neither can an any", `{"account":1,"note":[{"n":9007199254740993}]}`, transfer{}, true},
		{"a name in other letters is another name", `{"account":1,"NOTE_":2}`, transfer{Account: 1, Limits: limits{Days: 30}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []transfer
			server := newServer(nil)
			addTyped(t, server, &mcp.Tool{Name: "transfer", InputSchema: json.RawMessage(transferSchema)}, keep(&got))
			require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}))
			r, err := call(t, inMemory(legacy)(t, server, newClient(nil)), "transfer", tt.arguments)
			require.NoError(t, err)
			if tt.refused {
				require.Equal(t, policy.Undecided, codeOf(t, r))
				require.Empty(t, got)
				return
			}
			require.False(t, r.IsError, "%v", r.Content)
			require.Equal(t, []transfer{tt.want}, got)
		})
	}
}

// Beside exactness, AddTool does what the SDK's does.
func TestAddToolIsOtherwiseTheSDKs(t *testing.T) {
	type out struct {
		Sum int64 `json:"sum"`
	}
	add := func(_ context.Context, _ *mcp.CallToolRequest, in transfer) (*mcp.CallToolResult, out, error) {
		return nil, out{in.Account}, nil
	}
	ours, theirs := newServer(nil), newServer(nil)
	addTyped(t, ours, &mcp.Tool{Name: "add", Description: "adds"}, add)
	mcp.AddTool(theirs, &mcp.Tool{Name: "add", Description: "adds"}, add)
	addTyped(t, ours, &mcp.Tool{Name: "any"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return text("x"), nil, nil
	})
	mcp.AddTool(theirs, &mcp.Tool{Name: "any"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return text("x"), nil, nil
	})
	addTyped(t, ours, &mcp.Tool{Name: "pointer"}, func(_ context.Context, _ *mcp.CallToolRequest, in *limits) (*mcp.CallToolResult, *limits, error) {
		return nil, in, nil
	})
	mcp.AddTool(theirs, &mcp.Tool{Name: "pointer"}, func(_ context.Context, _ *mcp.CallToolRequest, in *limits) (*mcp.CallToolResult, *limits, error) {
		return nil, in, nil
	})
	one, two := inMemory(legacy)(t, ours, newClient(nil)), inMemory(legacy)(t, theirs, newClient(nil))
	a, err := one.ListTools(context.Background(), nil)
	require.NoError(t, err)
	b, err := two.ListTools(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, b.Tools, a.Tools)
	for _, c := range []struct{ tool, arguments string }{{"add", `{"account":5}`}, {"add", `{"account":"x"}`}, {"add", `{}`}, {"add", ``}, {"any", `{"a":1}`}, {"pointer", `{"max":5}`}, {"pointer", `{}`}} {
		got, err := call(t, one, c.tool, c.arguments)
		require.NoError(t, err)
		want, err := call(t, two, c.tool, c.arguments)
		require.NoError(t, err)
		require.Equal(t, want, got, c.arguments)
	}
}

func TestAddToolRefusesWhatCanNeverWork(t *testing.T) {
	server := newServer(nil)
	var got []limits
	require.ErrorContains(t, gosdk.AddTool(nil, &mcp.Tool{Name: "a"}, keep(&got)), "nil")
	require.ErrorContains(t, gosdk.AddTool(server, nil, keep(&got)), "nil")
	require.ErrorContains(t, gosdk.AddTool[limits, any](server, &mcp.Tool{Name: "a"}, nil), "handler is nil")
	require.ErrorContains(t, gosdk.AddTool(server, &mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"string"}`)}, keep(&got)), `"object"`)
	require.ErrorContains(t, gosdk.AddTool(server, &mcp.Tool{Name: "a", InputSchema: func() {}}, keep(&got)), "input schema")
	var chans []struct{ C chan int }
	require.ErrorContains(t, gosdk.AddTool(server, &mcp.Tool{Name: "a"}, keep(&chans)), "input schema")
}

// The SDK's typed tools panic for null arguments when their schema has a default.
func TestNullArgumentsArePassedOnAsTheyWereDecided(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"days":{"type":"integer","default":30}}}`)
	var got []limits
	server := newServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: "theirs", InputSchema: schema}, keep(&got))
	addTyped(t, server, &mcp.Tool{Name: "ours", InputSchema: schema}, keep(&got))
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}))
	cs := inMemory(legacy)(t, server, newClient(nil))
	for _, name := range []string{"theirs", "ours"} {
		_, err := call(t, cs, name, `null`)
		require.NoError(t, err)
	}
	require.Equal(t, []limits{{Days: 30}, {Days: 30}}, got)
}

func TestWhoReadsNumbersExactly(t *testing.T) {
	const large = `{"n":9007199254740993}`
	var s spy
	server := newServer(nil)
	server.AddTool(tool("unmarked", openSchema), s.handle)
	server.AddTool(gosdk.Exact(tool("marked", openSchema)), s.handle)
	server.AddTool(tool("named", openSchema), s.handle)
	o := gosdk.Options{Exact: func(name string) bool { return name == "named" }}
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), o))
	cs := inMemory(legacy)(t, server, newClient(nil))
	for name, exact := range map[string]bool{"unmarked": false, "marked": true, "named": true} {
		r, err := call(t, cs, name, large)
		require.NoError(t, err)
		require.Equal(t, exact, !r.IsError, name)
		if exact {
			require.Equal(t, []string{large}, s.Take())
		} else {
			require.Empty(t, s.Take())
		}
	}
	list, err := cs.ListTools(context.Background(), nil)
	require.NoError(t, err)
	require.Equal(t, list.Tools[0].InputSchema, list.Tools[1].InputSchema, "a mark is not seen from outside")
	require.Nil(t, gosdk.Exact(nil))
}

func TestNarrowTypesAreLookedAt(t *testing.T) {
	type narrow struct {
		F float32           `json:"f,omitempty"`
		M map[string]*int64 `json:"m,omitempty"`
		R json.RawMessage   `json:"r,omitempty"`
		L []float64         `json:"l,omitempty"`
	}
	var got []narrow
	server := newServer(nil)
	addTyped(t, server, &mcp.Tool{Name: "n", InputSchema: json.RawMessage(openSchema)}, keep(&got))
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}))
	cs := inMemory(legacy)(t, server, newClient(nil))
	for arguments, refused := range map[string]bool{
		`{"f":16777217}`:                   true,
		`{"f":16777216}`:                   false,
		`{"f":0.1}`:                        false,
		`{"m":{"a":9007199254740993}}`:     false,
		`{"r":[9007199254740993]}`:         false,
		`{"l":[1,9007199254740993]}`:       true,
		`{"other":9007199254740993}`:       false, // is decoded into nothing
		`{"l":[0.1,2],"m":{"b":9e3}}`:      false,
		`{"f":1,"r":123456789012345678.5}`: false,
	} {
		r, err := call(t, cs, "n", arguments)
		require.NoError(t, err)
		require.Equal(t, refused, r.IsError, arguments)
	}
}

// A json.Number keeps the literal, as it does in encoding/json.
func TestDecodeKeepsNumbersAsWritten(t *testing.T) {
	type in struct {
		N    json.Number   `json:"n"`
		List []json.Number `json:"list"`
	}
	got, err := gosdk.DecodeExactly[in]([]byte(`{"n":9007199254740993,"list":[1.50,-0]}`))
	require.NoError(t, err)
	require.Equal(t, in{N: "9007199254740993", List: []json.Number{"1.50", "-0"}}, got)
}
