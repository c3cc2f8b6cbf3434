package toolbox

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func tool(name string) *policy.Tool { return policy.NewNoopGate().Tool(policy.ToolSpec{Name: name}) }

func TestBox(t *testing.T) {
	b := New(0)
	_, ok := b.Lookup("a")
	require.False(t, ok)
	_, ok, _ = b.begin()
	require.False(t, ok, "the server may not be asked yet")
	early := b.Ask("a")
	b.Enable(nil)
	_, ok, _ = b.begin()
	require.True(t, ok)
	_, ok, _ = b.begin()
	require.False(t, ok, "one run at a time")
	shared := b.Ask("a")
	_, pending, err := b.Answer(early)
	require.NoError(t, err)
	require.NotNil(t, pending)

	require.False(t, b.finish(list{tools: []*policy.Tool{tool("a")}}, nil))
	for _, q := range []*Question{early, shared} {
		got, pending, err := b.Answer(q)
		require.NoError(t, err)
		require.Nil(t, pending)
		require.Equal(t, "a", got.Name())
	}
	_, ok, _ = b.begin()
	require.False(t, ok, "calls that came before or during the run share it")

	unknown := b.Ask("b")
	_, ok, _ = b.begin()
	require.True(t, ok)
	b.finish(list{tools: []*policy.Tool{tool("a")}}, nil)
	got, pending, err := b.Answer(unknown)
	require.True(t, got == nil && pending == nil && err == nil, "the server has no such tool")

	b.Changed()
	_, ok = b.Lookup("a")
	require.False(t, ok, "the list is no longer the server's")
	stale := b.Ask("a")
	_, ok, _ = b.begin()
	require.True(t, ok)
	b.Changed() // meanwhile
	require.True(t, b.finish(list{tools: []*policy.Tool{tool("a")}}, nil))
	_, ok = b.Lookup("a")
	require.False(t, ok, "the list was asked for before it changed")
	_, pending, err = b.Answer(stale)
	require.NoError(t, err)
	require.NotNil(t, pending, "a further run is needed")
	_, ok, _ = b.begin()
	require.True(t, ok)
	b.finish(list{}, errors.New("no list"))
	_, _, err = b.Answer(stale)
	require.ErrorContains(t, err, "no list")
	_, ok = b.Lookup("a")
	require.False(t, ok)
}

// A call that doesn't know its tool isn't answered by a run that began before it came.
func TestBoxDoesNotAnswerFromThePast(t *testing.T) {
	b := New(0)
	b.Enable(nil)
	b.begin()
	b.finish(list{tools: []*policy.Tool{tool("a")}}, nil)
	b.Ask("b")
	_, ok, _ := b.begin()
	require.True(t, ok)
	later := b.Ask("c")
	b.finish(list{tools: []*policy.Tool{tool("a")}}, nil)
	_, pending, _ := b.Answer(later)
	require.NotNil(t, pending)
}

func TestBoxInTheStatelessEra(t *testing.T) {
	b := New(0)
	b.Enable(json.RawMessage(`{}`))
	b.begin()
	b.finish(list{tools: []*policy.Tool{tool("a")}, fresh: time.Hour}, nil)
	require.WithinDuration(t, time.Now().Add(time.Hour), b.expires, time.Minute)
	_, ok := b.Lookup("a")
	require.True(t, ok)
	b.expires = time.Now()
	_, ok = b.Lookup("a")
	require.False(t, ok, "older than the server allows")
	q := b.Ask("a")
	stateless, ok, _ := b.begin()
	require.True(t, ok)
	require.Equal(t, `{}`, string(stateless))
	b.finish(list{tools: []*policy.Tool{tool("a")}}, nil)
	require.WithinDuration(t, time.Now().Add(minFresh), b.expires, time.Second)
	got, _, err := b.Answer(q)
	require.NoError(t, err)
	require.Equal(t, "a", got.Name())

	b.Enable(nil) // a session after all
	stateless, ok, _ = b.begin()
	require.True(t, ok)
	require.Nil(t, stateless)
}

// Where nothing would say that the list changed, it counts for a while.
func TestBoxWithALifetime(t *testing.T) {
	b := New(time.Hour)
	b.Enable(nil)
	b.begin()
	b.finish(list{tools: []*policy.Tool{tool("a")}, public: true}, nil)
	require.WithinDuration(t, time.Now().Add(time.Hour), b.expires, time.Minute)
	require.True(t, b.Public())
	_, ok := b.Lookup("a")
	require.True(t, ok)
	b.Outdated()
	require.False(t, b.wants(), "the server is asked when somebody needs to know")
	require.False(t, b.Public())
	_, ok = b.Lookup("a")
	require.False(t, ok)
	b.Ask("a")
	require.True(t, b.wants())
}
