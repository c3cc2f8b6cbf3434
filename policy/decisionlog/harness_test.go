package decisionlog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a Sink that keeps what it gets.
type memory struct {
	mu    sync.Mutex
	lines [][]byte
}

func (m *memory) Name() string { return "memory" }
func (m *memory) Close() error { return nil }
func (m *memory) Write(_ context.Context, lines [][]byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, lines...)
	return len(lines), nil
}

func (m *memory) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(bytes.Join(m.lines, nil))
}

// rules is a ruleset whose deny and warn sets are written in Go.
type rules struct {
	deny, warn func(policy.Input) ([]policy.Refusal, error)
	mask       func(map[string]any) ([]decisionlog.Op, error)
}

func (rules) Revision() string { return "r1" }
func (r rules) Cover(*policy.Tool) policy.Coverage {
	as := func(f func(policy.Input) ([]policy.Refusal, error)) policy.Validator {
		return policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
			if f == nil {
				return nil, nil
			}
			return f(in)
		})
	}
	return policy.Coverage{Deny: as(r.deny), Warn: as(r.warn), Own: true}
}

func (r rules) Mask(_ context.Context, event map[string]any) ([]decisionlog.Op, error) {
	if r.mask == nil {
		return nil, nil
	}
	return r.mask(event)
}

// recorded decides calls with a log and returns what the log wrote.
func recorded(t *testing.T, o decisionlog.Options, rs policy.Ruleset, ctx context.Context, spec policy.ToolSpec, calls ...policy.Call) ([]decisionlog.Event, string, decisionlog.Stats) {
	t.Helper()
	sink := &memory{}
	o.Sinks = append(o.Sinks, sink)
	l, err := decisionlog.New(o)
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{Recorder: l, MaxRefusals: 5000})
	require.NoError(t, err)
	g.Use(rs)
	tool := g.Tool(spec)
	for _, c := range calls {
		if c.Tool == nil {
			c.Tool = tool
		}
		g.Decide(ctx, c)
	}
	closeLog(t, l)
	var events []decisionlog.Event
	for line := range bytes.Lines([]byte(sink.text())) {
		var e decisionlog.Event
		require.NoError(t, json.Unmarshal(line, &e), "%s", line)
		events = append(events, e)
	}
	return events, sink.text(), l.Stats()
}

func closeLog(t *testing.T, l *decisionlog.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, l.Close(ctx))
}

var open = policy.ToolSpec{Name: "t", Server: "s", InputSchema: []byte(`{"type":"object"}`)}
