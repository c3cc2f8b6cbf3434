package decisionlog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
)

// A record has the members of OPA's decision log, and what this log adds.
func TestRecord(t *testing.T) {
	spec := policy.ToolSpec{Name: "fs.read", Server: "files", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"string","default":"text"},"o":{"type":"object","properties":{"a/b":{"default":1}}}}}`)}
	rs := rules{
		deny: func(policy.Input) ([]policy.Refusal, error) {
			return []policy.Refusal{{Message: "not there", Rule: "paths", Location: "/path"}}, nil
		},
		warn: func(policy.Input) ([]policy.Refusal, error) { return nil, errors.New("boom") },
	}
	ctx := policy.WithCaller(t.Context(), policy.Caller{Subject: "bob", Scopes: []string{"a"}})
	events, text, stats := recorded(t, decisionlog.Options{Labels: map[string]string{"id": "gate-1", "env": "test"}}, rs, ctx, spec,
		policy.Call{Arguments: []byte(`{"path":"/x","o":{}}`), ID: "7", Transport: "go"})
	require.Len(t, events, 1)
	e := events[0]
	require.NotEmpty(t, e.DecisionID)
	require.WithinDuration(t, time.Now(), e.Timestamp, time.Minute)
	require.Equal(t, map[string]string{"id": "gate-1", "env": "test"}, e.Labels)
	require.Equal(t, map[string]decisionlog.Bundle{"regogate": {Revision: "r1"}}, e.Bundles)
	require.Equal(t, "tools/fs.read/deny", e.Path)
	require.Equal(t, "fs.read", e.Tool)
	require.Equal(t, "files", e.Server)
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, e.ToolDigest)
	require.Equal(t, policy.Denied, e.Code)
	require.Equal(t, policy.Enforce, e.Mode)
	require.False(t, e.Allowed)
	require.Contains(t, e.Error, "boom")
	require.Equal(t, []string{"/mode", "/o/a~1b"}, e.Defaults)
	require.Equal(t, 20, e.ArgumentBytes)
	require.Positive(t, e.Metrics["timer_regogate_decide_ns"])
	require.JSONEq(t, `{"path":"/x","mode":"text","o":{"a/b":1}}`, argumentsOf(t, text))
	result, err := json.Marshal(e.Result)
	require.NoError(t, err)
	require.JSONEq(t, `{"allowed":false,"effective":false,"refusals":[{"code":"denied","message":"not there","location":"/path","rule":"paths"}],
		"warnings":[{"code":"undecided","message":"the warn set could not be evaluated"}]}`, string(result))
	require.Equal(t, decisionlog.Stats{Recorded: 1}, stats)
	require.Equal(t, 1, strings.Count(text, "\n"))
}

// Every kind of decision has its record, in order.
func TestEveryDecisionIsRecorded(t *testing.T) {
	events, _, _ := recorded(t, decisionlog.Options{}, rules{}, t.Context(), open,
		policy.Call{Arguments: []byte(`{}`)}, policy.Call{Arguments: []byte(`{`)},
		policy.Call{Tool: policy.UndeclaredTool("s", "u"), Arguments: []byte(`{}`)},
		policy.Call{Tool: policy.UnlearnedTool("s", "v", nil), Arguments: []byte(`{}`)},
		policy.Call{Tool: &policy.Tool{}, Arguments: []byte(`{}`)})
	var codes []policy.Code
	for _, e := range events {
		codes = append(codes, e.Code)
	}
	require.Equal(t, []policy.Code{"", policy.Malformed, policy.UnknownTool, policy.NotReady, policy.UnknownTool}, codes)
	events, _, _ = recorded(t, decisionlog.Options{}, nil, t.Context(), open, policy.Call{Arguments: []byte(`{}`)})
	require.Equal(t, policy.NotReady, events[0].Code)
}

func TestNilToolIsRecorded(t *testing.T) {
	sink := &memory{}
	l, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{sink}})
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{Recorder: l})
	require.NoError(t, err)
	g.Use(rules{})
	g.Decide(t.Context(), policy.Call{Arguments: []byte(`{}`)})
	closeLog(t, l)
	require.Contains(t, sink.text(), `"code":"unknown_tool"`)
}

// stuck is a Sink that takes nothing until it is told to give up.
type stuck struct {
	once    sync.Once
	writing chan struct{}
}

func (s *stuck) Name() string { return "stuck" }
func (s *stuck) Close() error { return nil }
func (s *stuck) Write(ctx context.Context, _ [][]byte) (int, error) {
	s.once.Do(func() { close(s.writing) })
	<-ctx.Done()
	return 0, ctx.Err()
}

// A sink that takes nothing delays nobody: decisions go on, memory is bounded, and what
// is lost is counted. REGOGATE_SOAK, a duration, makes it long: 10,000 decisions a second.
func TestDeadSinkDelaysNobody(t *testing.T) {
	const rate = 10_000
	duration := time.Second
	if s := os.Getenv("REGOGATE_SOAK"); s != "" {
		var err error
		duration, err = time.ParseDuration(s)
		require.NoError(t, err)
	}
	dead := &stuck{writing: make(chan struct{})}
	var complaints bytes.Buffer
	l, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{dead}, BufferBytes: 1 << 20, QueueBytes: 16 << 20, Logger: slog.New(slog.NewTextHandler(&locked{w: &complaints}, nil))})
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{Recorder: l})
	require.NoError(t, err)
	g.Use(rules{})
	call := policy.Call{Tool: g.Tool(open), Arguments: []byte(`{"path":"/srv/x","list":[` + strings.Repeat(`"some text",`, 30) + `1]}`)}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began, slowest, n, heap := time.Now(), time.Duration(0), int64(0), uint64(0)
	for time.Since(began) < duration || l.Stats().Dropped == 0 && time.Since(began) < time.Minute { // longer where the machine is busy
		if due := time.Duration(n) * time.Second / rate; time.Since(began) < due {
			time.Sleep(time.Millisecond)
			continue
		}
		at := time.Now()
		require.True(t, g.Decide(t.Context(), call).Allowed)
		slowest = max(slowest, time.Since(at))
		if n++; n%20_000 == 0 {
			var now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&now)
			heap = max(heap, now.HeapAlloc)
		}
	}
	stats := l.Stats()
	t.Logf("%d decisions in %v, slowest %v; heap %d MB before, %d MB at most; %+v", n, duration, slowest, before.HeapAlloc>>20, heap>>20, stats)
	<-dead.writing
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, l.Close(ctx))
	require.Less(t, slowest, time.Second, "a decision took longer than its deadline")
	require.Positive(t, stats.Dropped)
	require.LessOrEqual(t, stats.Recorded+stats.Dropped, n)
	if heap > 0 {
		require.Less(t, heap, before.HeapAlloc+100<<20)
	}
}

type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// A record that is larger than the buffer is dropped alone.
func TestTooLargeARecordStopsNoOther(t *testing.T) {
	events, _, stats := recorded(t, decisionlog.Options{BufferBytes: 20_000}, rules{}, t.Context(), open,
		policy.Call{Arguments: []byte(`{"text":"` + strings.Repeat("x ", 20_000) + `"}`)}, policy.Call{Arguments: []byte(`{}`)}, policy.Call{Arguments: []byte(`{}`)})
	require.Len(t, events, 2)
	require.Equal(t, int64(1), stats.Dropped)
}

// One sink that hangs doesn't keep records from another.
func TestSinksAreApart(t *testing.T) {
	dead, good := &stuck{writing: make(chan struct{})}, &memory{}
	l, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{dead, good}, BufferBytes: 2000})
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{Recorder: l})
	require.NoError(t, err)
	g.Use(rules{})
	for i := range 20 {
		g.Decide(t.Context(), policy.Call{Tool: g.Tool(open), Arguments: []byte(`{}`)})
		require.Eventually(t, func() bool { return strings.Count(good.text(), "\n") == i+1 }, 10*time.Second, time.Millisecond)
	}
	require.Positive(t, l.Stats().Dropped)
	require.Contains(t, good.text(), "counter_decision_logs_dropped")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, l.Close(ctx), "stuck: gave up")
}

// A decision that comes after the log was closed is dropped, and counted.
func TestClosed(t *testing.T) {
	l, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{&memory{}}})
	require.NoError(t, err)
	closeLog(t, l)
	closeLog(t, l)
	g, err := policy.NewGate(policy.Options{Recorder: l})
	require.NoError(t, err)
	g.Use(rules{})
	require.True(t, g.Decide(t.Context(), policy.Call{Tool: g.Tool(open), Arguments: []byte(`{}`)}).Allowed)
	require.Equal(t, int64(1), l.Stats().Dropped)
}

// Where records are required, a call whose decision can't be recorded is refused, also
// in shadow mode; otherwise it isn't.
func TestRequired(t *testing.T) {
	full := decisionlog.Options{Sinks: []decisionlog.Sink{&memory{}}, BufferBytes: 10}
	unmaskable := rules{mask: func(map[string]any) ([]decisionlog.Op, error) { return nil, errors.New("no mask") }}
	tests := map[string]struct {
		options decisionlog.Options
		rules   rules
		why     string
	}{
		"no room":      {full, rules{}, "no room"},
		"can't mask":   {decisionlog.Options{Sinks: []decisionlog.Sink{&memory{}}}, unmaskable, "no mask"},
		"mask panics":  {decisionlog.Options{Sinks: []decisionlog.Sink{&memory{}}}, rules{mask: func(map[string]any) ([]decisionlog.Op, error) { panic("x") }}, "panic"},
		"odd mask":     {decisionlog.Options{Sinks: []decisionlog.Sink{&memory{}}}, rules{mask: ops(decisionlog.Op{Op: "remove", Path: "/nowhere/x"})}, "neither /input nor /result"},
		"odd mask op":  {decisionlog.Options{Sinks: []decisionlog.Sink{&memory{}}}, rules{mask: ops(decisionlog.Op{Op: "erase", Path: "/input/x"})}, "neither remove nor upsert"},
		"no mask path": {decisionlog.Options{Sinks: []decisionlog.Sink{&memory{}}}, rules{mask: ops(decisionlog.Op{Op: "remove", Path: ""})}, "slash"},
	}
	for name, tt := range tests {
		for _, mode := range []policy.Mode{policy.Enforce, policy.Shadow} {
			for _, required := range []bool{true, false} {
				t.Run(fmt.Sprint(name, "/", mode, "/", required), func(t *testing.T) {
					tt.options.Required = required
					l, err := decisionlog.New(tt.options)
					require.NoError(t, err)
					g, err := policy.NewGate(policy.Options{Recorder: policy.Recorders(l, &seen{}), Mode: mode})
					require.NoError(t, err)
					g.Use(tt.rules)
					d := g.Decide(t.Context(), policy.Call{Tool: g.Tool(open), Arguments: []byte(`{}`)})
					closeLog(t, l)
					require.Equal(t, !required, d.Effective)
					require.Equal(t, !required, d.Allowed)
					if required {
						require.Equal(t, policy.Undecided, d.Code())
						require.ErrorContains(t, d.Err, tt.why)
					}
					s := l.Stats()
					require.Positive(t, s.Dropped+s.Unmasked)
					require.Zero(t, s.Recorded)
				})
			}
		}
	}
}

func ops(list ...decisionlog.Op) func(map[string]any) ([]decisionlog.Op, error) {
	return func(map[string]any) ([]decisionlog.Op, error) { return list, nil }
}

type seen struct{ records []policy.Record }

func (s *seen) Record(_ context.Context, r policy.Record) { s.records = append(s.records, r) }

// A required record that finds room is there before the call goes on.
func TestRequiredIsRecorded(t *testing.T) {
	sink, other := &memory{}, &seen{}
	l, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{sink}, Required: true})
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{Recorder: policy.Recorders(nil, other, l)})
	require.NoError(t, err)
	g.Use(rules{})
	require.True(t, g.Decide(t.Context(), policy.Call{Tool: g.Tool(open), Arguments: []byte(`{}`)}).Allowed)
	require.Equal(t, int64(1), l.Stats().Recorded)
	require.Len(t, other.records, 1)
	closeLog(t, l)
	require.Equal(t, 1, strings.Count(sink.text(), "\n"))
	d := g.Decide(t.Context(), policy.Call{Tool: g.Tool(open), Arguments: []byte(`{}`)})
	require.ErrorContains(t, d.Err, "closed")
	require.False(t, d.Effective)
	require.False(t, other.records[1].Decision.Allowed, "the others are told what became of the call")
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]decisionlog.Options{
		"decision_log.arguments": {Arguments: "some", Sinks: []decisionlog.Sink{&memory{}}},
		"decision_log.key_file":  {Key: []byte("short"), Sinks: []decisionlog.Sink{&memory{}}},
		"no sink":                {},
		"negative":               {QueueBytes: -1, Sinks: []decisionlog.Sink{&memory{}}},
	} {
		_, err := decisionlog.New(o)
		require.ErrorContains(t, err, want)
	}
}
