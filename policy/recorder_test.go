package policy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

type heard struct{ records []policy.Record }

func (h *heard) Record(_ context.Context, r policy.Record) { h.records = append(h.records, r) }

type panickingRecorder struct{}

func (panickingRecorder) Record(context.Context, policy.Record) { panic("x") }

type admitter struct {
	heard
	admit func() error
}

func (a *admitter) Admit(ctx context.Context, r policy.Record) error {
	if err := a.admit(); err != nil {
		return err
	}
	a.Record(ctx, r)
	return nil
}

func TestRecordersTellEverybody(t *testing.T) {
	require.Nil(t, policy.Recorders(nil, nil))
	a, b := &heard{}, &heard{}
	require.Same(t, a, policy.Recorders(nil, a))
	g := newGate(t, policy.Options{Recorder: policy.Recorders(a, panickingRecorder{}, nil, b)}, covered(&counting{}))
	require.True(t, g.Decide(t.Context(), call(readTool(g), `{"path":"a"}`)).Allowed)
	require.Len(t, a.records, 1)
	require.Len(t, b.records, 1)
	require.Equal(t, policy.Enforce, a.records[0].Mode)
	require.NotNil(t, a.records[0].Rules)
}

// An admitter that refuses, or panics, refuses the call; whoever else records is told
// what became of it. One that consents is asked once.
func TestAdmitters(t *testing.T) {
	tests := map[string]struct {
		admit   func() error
		allowed bool
	}{
		"consents": {func() error { return nil }, true},
		"refuses":  {func() error { return errors.New("disk full") }, false},
		"panics":   {func() error { panic("disk full") }, false},
	}
	for name, tt := range tests {
		for _, mode := range []policy.Mode{policy.Enforce, policy.Shadow} {
			t.Run(name+"/"+string(mode), func(t *testing.T) {
				a, other := &admitter{admit: tt.admit}, &heard{}
				g := newGate(t, policy.Options{Mode: mode, Recorder: policy.Recorders(other, a)}, covered(&counting{}))
				d := g.Decide(t.Context(), call(readTool(g), `{"path":"a"}`))
				require.Equal(t, tt.allowed, d.Allowed)
				require.Equal(t, tt.allowed, d.Effective)
				require.Len(t, other.records, 1)
				require.Equal(t, tt.allowed, other.records[0].Decision.Allowed)
				require.Len(t, a.records, 1)
				if !tt.allowed {
					require.Equal(t, policy.Undecided, d.Code())
					require.ErrorContains(t, d.Err, "disk full")
				}
				d = g.Decide(t.Context(), call(readTool(g), `{`))
				requireRefused(t, d, policy.Malformed)
			})
		}
	}
}

func TestDefaultsThatWereFilledIn(t *testing.T) {
	var filled []string
	v := policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		filled = in.Arguments().Defaults()
		return nil, nil
	})
	g := newGate(t, policy.Options{}, covered(v))
	tool := g.Tool(policy.ToolSpec{Name: "t", InputSchema: []byte(`{"type":"object","properties":{"a":{"default":1},"o":{"type":"object","properties":{"x/y":{"default":{}},"z":{"default":2}}},"l":{"type":"array","items":{"type":"object","properties":{"q":{"default":3}}}}}}`)})
	require.True(t, g.Decide(t.Context(), call(tool, `{"o":{"z":5},"l":[{"q":1},{}]}`)).Allowed)
	require.Equal(t, []string{"/a", "/l/1/q", "/o/x~1y"}, filled)
	require.True(t, g.Decide(t.Context(), call(tool, `{"a":1}`)).Allowed)
	require.Empty(t, filled)
}
