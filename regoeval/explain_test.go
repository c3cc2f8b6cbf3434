package regoeval_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// Rules that refuse come first, then those that came nearest, each with its place.
func TestExplain(t *testing.T) {
	rs := mustLoad(t, map[string]string{"t.rego": `package tools.t

import rego.v2

deny contains "far" if input.arguments.n > 100

deny contains "near" if {
	input.arguments.n > 1
	some x in input.arguments.list
	x == "bad"
}

deny contains "yes" if helper(input.arguments.n)

helper(n) if n == 5
`})
	var last *policy.Record
	g, err := policy.NewGate(policy.Options{Recorder: recordFunc(func(r policy.Record) { last = &r })})
	require.NoError(t, err)
	g.Use(rs)
	g.Decide(t.Context(), policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "t", NoSchema: true}), Arguments: []byte(`{"n":5,"list":["good"]}`)})
	list, err := rs.Explain(t.Context(), last.Input)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.True(t, list[0].Refused)
	require.Equal(t, 13, list[0].Line)
	require.Contains(t, list[0].Values, regoeval.Value{Name: "input.arguments.n", Value: "5"})
	require.Equal(t, []int{7, 10}, []int{list[1].Line, list[1].FailedLine})
	require.Equal(t, `x == "bad"`, list[1].Failed)
	require.Contains(t, list[1].Values, regoeval.Value{Name: "x", Value: `"good"`})
	require.Equal(t, 5, list[2].Line)
	require.Equal(t, "tools.t", list[2].Package)
}

type recordFunc func(policy.Record)

func (f recordFunc) Record(_ context.Context, r policy.Record) { f(r) }
