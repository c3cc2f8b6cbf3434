package policy_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

// says returns a validator that refuses with a message.
func says(message string) policy.Validator {
	return &counting{refusals: []policy.Refusal{{Message: message}}}
}

func TestSeveralValidatorsOfOneTool(t *testing.T) {
	g := newGate(t, policy.Options{Validators: []policy.Registration{{Tool: "read", Name: "first", Validator: says("one")}}}, fake{})
	for _, r := range []policy.Registration{
		{Tool: "read", Name: "second", Validator: says("two")},
		{Name: "everywhere", Validator: says("three")},
		{Tool: "write", Name: "first", Validator: says("never")},
		{Server: "other", Tool: "read", Name: "first", Validator: says("never")},
	} {
		note, err := g.Register(r)
		require.NoError(t, err)
		require.Empty(t, note)
	}
	d := g.Decide(context.Background(), call(readTool(g), `{"path":"a"}`))
	requireRefused(t, d, policy.Denied)
	var got []string
	for _, r := range d.Refusals {
		got = append(got, r.Message)
	}
	require.Equal(t, []string{"one", "two", "three"}, got)
}

func TestASecondRegistrationReplacesTheFirstAndSaysSo(t *testing.T) {
	g := newGate(t, policy.Options{Validators: []policy.Registration{
		{Tool: "read", Name: "paths", Validator: says("old")},
		{Tool: "read", Name: "last", Validator: says("last")},
	}}, fake{})
	note, err := g.Register(policy.Registration{Tool: "read", Name: "paths", Validator: says("new")})
	require.NoError(t, err)
	require.Equal(t, `validator "paths" for tool "read" replaces the one that was registered before`, note)
	d := g.Decide(context.Background(), call(readTool(g), `{"path":"a"}`))
	require.Len(t, d.Refusals, 2)
	require.Equal(t, "new", d.Refusals[0].Message, "in the place of the one that it replaces")
	require.Len(t, g.Registrations(), 2)
	require.Equal(t, "paths", g.Options().Validators[0].Name)
}

func TestARegistrationThatWillNeverRunIsTold(t *testing.T) {
	ok := &counting{}
	g := newGate(t, policy.Options{Validators: []policy.Registration{
		{Tool: "raed", Name: "typo", Validator: ok},
		{Tool: "read", Name: "good", Validator: ok},
		{Name: "all", Validator: ok},
		{Server: "b", Tool: "list", Name: "elsewhere", Validator: ok},
	}}, fake{})
	require.Equal(t, []string{`validator "typo" for tool "raed" will never run: no server declares such a tool`},
		g.Declare("a", []*policy.Tool{readTool(g), policy.UndeclaredTool("a", "raed"), nil}))

	note, err := g.Register(policy.Registration{Server: "a", Tool: "write", Name: "w", Validator: ok})
	require.NoError(t, err)
	require.Equal(t, `validator "w" for tool "write" of server "a" will never run: the server declares no such tool`, note)

	require.Len(t, g.Declare("b", []*policy.Tool{g.Tool(policy.ToolSpec{Name: "write", NoSchema: true})}), 3, "a tool of another server is not what w is for")
	require.Len(t, g.Declare("a", []*policy.Tool{g.Tool(policy.ToolSpec{Name: "raed", NoSchema: true})}), 3, "read, write of a, list of b")
	require.Empty(t, (*policy.Gate)(nil).Declare("a", nil))
}

func TestRegisterRefusesWhatCanNeverWork(t *testing.T) {
	g := newGate(t, policy.Options{}, fake{})
	ok := policy.Registration{Tool: "read", Name: "n", Validator: &counting{}}
	var zero policy.Gate
	for _, tt := range []struct {
		name string
		g    *policy.Gate
		r    policy.Registration
		want string
	}{
		{"nil gate", nil, ok, "the gate is nil"},
		{"zero gate", &zero, ok, "not made with policy.NewGate"},
		{"no-op gate", policy.NewNoopGate(), ok, "asks nobody"},
		{"no name", g, policy.Registration{Tool: "read", Validator: ok.Validator}, "has no name"},
		{"nil", g, policy.Registration{Tool: "read", Name: "n"}, "is nil"},
		{"nil function", g, policy.Registration{Tool: "read", Name: "n", Validator: policy.ValidatorFunc(nil)}, "is nil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			note, err := tt.g.Register(tt.r)
			require.ErrorContains(t, err, tt.want)
			require.Empty(t, note)
			require.Empty(t, tt.g.Registrations())
		})
	}
	_, err := policy.NewGate(policy.Options{Validators: []policy.Registration{ok, ok}})
	require.ErrorContains(t, err, `validator 1: validator "n" for tool "read" is there twice`)
}

// Whatever is registered meanwhile, a call is decided by the old validator or by the
// new one, and never by neither or both.
func TestRegisterWhileCallsAreDecided(t *testing.T) {
	g := newGate(t, policy.Options{Validators: []policy.Registration{{Tool: "read", Name: "n", Validator: says("0")}}}, fake{})
	tool := readTool(g)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(2)
		go func() {
			defer wg.Done()
			for range 50 {
				if _, err := g.Register(policy.Registration{Tool: "read", Name: "n", Validator: says("n")}); err != nil {
					panic(err)
				}
				g.Declare("", []*policy.Tool{tool})
			}
		}()
		go func() {
			defer wg.Done()
			for range 50 {
				if d := g.Decide(context.Background(), call(tool, `{"path":"a"}`)); len(d.Refusals) != 1 || d.Code() != policy.Denied {
					t.Errorf("%v", d)
				}
			}
		}()
	}
	wg.Wait()
	require.Len(t, g.Registrations(), 1)
}
