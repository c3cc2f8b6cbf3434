package adapter_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy"
)

func noObjection(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil }

func register(t *testing.T, g *policy.Gate, server, tool string) {
	t.Helper()
	note, err := g.Register(policy.Registration{Server: server, Tool: tool, Name: "mine", Validator: policy.ValidatorFunc(noObjection)})
	require.NoError(t, err)
	require.Empty(t, note)
}

func named(g *policy.Gate, names ...string) (tools []*policy.Tool) {
	for _, name := range names {
		tools = append(tools, g.Tool(policy.ToolSpec{Server: "s", Name: name, NoSchema: true}))
	}
	return tools
}

func TestUndeclaredToolsOfValidatorsAreSaidOnceUntilThatChanges(t *testing.T) {
	g := gate(t, policy.Options{})
	register(t, g, "", "a")
	register(t, g, "s", "b")
	register(t, g, "elsewhere", "c")
	var notes []string
	d := adapter.NewDeclarations(g, "s", func(note string) { notes = append(notes, note) })
	take := func() (out []string) { out, notes = notes, nil; return out }
	const a, b = `validator "mine" for tool "a" will never run: no server declares such a tool`, `validator "mine" for tool "b" of server "s" will never run: the server declares no such tool`
	require.False(t, d.Has("a"))
	d.Only(named(g, "other"))
	require.Equal(t, []string{a, b}, take())
	require.True(t, d.Has("other"))
	d.Only(named(g, "other"))
	require.Empty(t, take(), "it was said already")
	d.Only(named(g, "other", "b"))
	require.Empty(t, take())
	d.Only(named(g, "a"))
	require.Equal(t, []string{b}, take(), "the tool is gone again")
	d.Also(named(g, "b"))
	require.Empty(t, take())
	require.True(t, d.Has("a"), "Also keeps what was said before")
	d.Also(nil)
	require.Empty(t, take())
}

func TestAServerWithoutToolsHasDeclaredThat(t *testing.T) {
	g := gate(t, policy.Options{})
	register(t, g, "", "a")
	for _, say := range []func(*adapter.Declarations){func(d *adapter.Declarations) { d.Only(nil) }, func(d *adapter.Declarations) { d.Also(nil) }} {
		var notes []string
		say(adapter.NewDeclarations(g, "s", func(note string) { notes = append(notes, note) }))
		require.Len(t, notes, 1)
	}
}

// blurts panics instead of listening.
type blurts struct{}

func (blurts) Declare(string, []*policy.Tool) []string { panic("boom") }

func TestWhoeverDoesNotListenIsNotTold(t *testing.T) {
	var none *policy.Gate
	for name, decider := range map[string]any{"nil": nil, "nil gate": none, "no Declare": struct{}{}, "no-op": policy.NewNoopGate()} {
		d := adapter.NewDeclarations(decider, "s", func(note string) { t.Errorf("%s: %s", name, note) })
		d.Only(nil)
		d.Also(named(policy.NewNoopGate(), "a"))
	}
	require.True(t, adapter.NewDeclarations(nil, "s", nil).Has("anything"), "there is no point in making tools for nobody")
	var notes []string
	adapter.NewDeclarations(blurts{}, "s", func(note string) { notes = append(notes, note) }).Only(nil)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "boom")
}

func TestDeclarationsAreSafeForConcurrentUse(t *testing.T) {
	g := gate(t, policy.Options{})
	register(t, g, "", "z")
	var mu sync.Mutex
	count := 0
	d := adapter.NewDeclarations(g, "s", func(string) { mu.Lock(); count++; mu.Unlock() })
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		wg.Go(func() {
			for range 100 {
				d.Also(named(g, name))
				if !d.Has(name) {
					t.Error("it was declared")
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, count)
}
