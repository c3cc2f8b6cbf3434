package adapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy"
)

type noRules struct{}

func (noRules) Revision() string { return "" }

func (noRules) Cover(*policy.Tool) policy.Coverage { return policy.Coverage{} }

type recorder struct{ records []policy.Record }

func (r *recorder) Record(_ context.Context, rec policy.Record) { r.records = append(r.records, rec) }

func gate(t *testing.T, o policy.Options) *policy.Gate {
	t.Helper()
	o.Validators = append(o.Validators, policy.Registration{Name: "none", Validator: policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })})
	g, err := policy.NewGate(o)
	require.NoError(t, err)
	g.Use(noRules{})
	return g
}

// A lenient decider finds fault with nothing, and still has to be asked.
type lenient struct{ decorator.Decider }

func (lenient) Tool(spec policy.ToolSpec) *policy.Tool { return policy.NewNoopGate().Tool(spec) }

func TestOnlyTheNoopGateIsNoop(t *testing.T) {
	require.True(t, adapter.IsNoop(policy.NewNoopGate()))
	var none *policy.Gate
	for name, d := range map[string]decorator.Decider{
		"gate": gate(t, policy.Options{}), "zero gate": &policy.Gate{}, "nil gate": none, "nil": nil,
		"gate that enforces no schema": gate(t, policy.Options{Schema: policy.SchemaOptions{SkipEnforce: true}}),
		"lenient":                      lenient{gate(t, policy.Options{})},
	} {
		require.False(t, adapter.IsNoop(d), name)
	}
}

func TestNobodyToAskRefuses(t *testing.T) {
	var none *policy.Gate
	for _, d := range []decorator.Decider{nil, none} {
		require.ErrorIs(t, adapter.CheckDecider(d), adapter.ErrNoDecider)
		decision := adapter.Decide(context.Background(), adapter.OrRefusing(d), policy.Call{Arguments: []byte("{}")})
		require.False(t, decision.Effective)
		require.Equal(t, policy.NotReady, decision.Code())
	}
	g := gate(t, policy.Options{})
	require.NoError(t, adapter.CheckDecider(g))
	require.Equal(t, g, adapter.OrRefusing(g))
}

// careless has a mistake of its own.
type careless struct{ decorator.Decider }

func (careless) Decide(context.Context, policy.Call) policy.Decision { panic("boom") }

func TestADeciderThatPanicsRefuses(t *testing.T) {
	g := gate(t, policy.Options{})
	tool := g.Tool(policy.ToolSpec{Server: "s", Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)})
	d := adapter.Decide(context.Background(), careless{g}, policy.Call{Tool: tool, Arguments: []byte("{}")})
	require.False(t, d.Allowed)
	require.False(t, d.Effective)
	require.Equal(t, policy.Undecided, d.Code())
	require.Equal(t, "t", d.Tool)
	require.Equal(t, "s", d.Server)
	require.NotEmpty(t, d.ID)
	require.ErrorContains(t, d.Err, "boom")
	require.NotContains(t, d.Text(), "boom")
}

func TestUnfaithfulCallsAreUndecidedAndRecordedAsThat(t *testing.T) {
	var rec recorder
	for _, shadow := range []bool{false, true} {
		o := policy.Options{Recorder: &rec}
		if shadow {
			o.Mode = policy.Shadow
		}
		g := gate(t, o)
		tool := g.Tool(policy.ToolSpec{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)})
		why := errors.New("the bytes are lost")
		ctx := policy.WithCaller(context.Background(), policy.Caller{Subject: "alice"})
		d := adapter.Decide(ctx, g, policy.Call{Tool: tool, Arguments: []byte("{}"), Unfaithful: why})
		require.False(t, d.Allowed)
		require.Equal(t, shadow, d.Effective)
		require.Equal(t, policy.Undecided, d.Code())
		require.ErrorIs(t, d.Err, why)
		require.ErrorIs(t, rec.records[len(rec.records)-1].Decision.Err, why)
		require.Equal(t, "alice", rec.records[len(rec.records)-1].Input.Caller().Subject)
		d = adapter.Decide(ctx, g, policy.Call{Tool: tool, Arguments: []byte("[]"), Unfaithful: why})
		require.Equal(t, policy.Malformed, d.Code())
		require.False(t, d.Effective)
	}
}

func TestToolsAreCompiledOnce(t *testing.T) {
	var mu sync.Mutex
	var reported []error
	tools := adapter.NewTools(gate(t, policy.Options{}), "s", func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, err)
	})
	declare := func(schema, title string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"name":"a","title":%q,"inputSchema":%s}`, title, schema))
	}
	one := tools.Declared("a", declare(`{"type":"object"}`, "x"))
	require.NoError(t, one.SchemaErr())
	require.Equal(t, "s", one.Server())
	require.Same(t, one, tools.Declared("a", declare(`{"type":"object"}`, "x")))
	require.NotSame(t, one, tools.Declared("a", declare(`{"type":"object"}`, "y")))
	require.NotSame(t, one, tools.Declared("a", declare(`{"type":"object","minProperties":1}`, "x")))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if tools.Declared("a", declare(`{"type":"strnig"}`, "x")).SchemaErr() == nil {
				t.Error("it can't be used")
			}
		})
	}
	wg.Wait()
	require.Len(t, reported, 1)
	for name, bad := range map[string]any{"no JSON": func() {}, "no name": json.RawMessage(`{"inputSchema":{}}`), "no tool": 7, "member twice": json.RawMessage(`{"name":"a","inputSchema":{"type":"object"},"inputSchema":{}}`), "panic": panics{}} {
		tool := tools.Declared("a", bad)
		require.Error(t, tool.SchemaErr(), name)
		require.Equal(t, "a", tool.Name(), name)
		require.True(t, tool.Known(), name)
	}
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("boom") }

func TestAnswers(t *testing.T) {
	g := gate(t, policy.Options{})
	plain := g.Tool(policy.ToolSpec{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)})
	a := adapter.Refusal(adapter.Refused(plain, policy.Undecided, "no", nil), plain)
	require.Nil(t, a.Error)
	require.Contains(t, string(a.Result), `"isError":true`)
	require.Contains(t, string(a.Result), `"resultType":"complete"`)
	require.Contains(t, string(a.Result), `"structuredContent"`)
	a = adapter.Refusal(adapter.Refused(nil, policy.UnknownTool, "no", nil), nil)
	require.Nil(t, a.Result)
	require.EqualValues(t, -32602, a.Error.Code)
	require.Contains(t, string(a.Error.Data), `"unknown_tool"`)
	for in, want := range map[string]string{"": "{}", "null": "{}", "{}": "{}", " null": " null", `{"a":1}`: `{"a":1}`} {
		require.Equal(t, want, string(adapter.Arguments(json.RawMessage(in))))
	}
	adapter.Report(nil, nil)
	adapter.Report(func(error) { panic("boom") }, nil)
}
