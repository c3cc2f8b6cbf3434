package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func TestRecordSaysNothingOfArguments(t *testing.T) {
	var out bytes.Buffer
	New(&out, true).Record(t.Context(), policy.Record{Decision: policy.Decision{
		ID: "d1", Tool: "send", Revision: "r1",
		Refusals: []policy.Refusal{
			{Code: policy.Denied, Message: "hunter2 is not a ticket", Rule: "ticket", Location: "/ticket"},
			{Code: policy.Denied, Message: "hunter2 again"},
			{Code: policy.SchemaViolation, Message: "want a string", Location: "/to"},
		},
		Err: errors.New("first\nsecond\ngoroutine 1 [running]:\nmain.main()"),
	}})
	require.NotContains(t, out.String(), "hunter2")
	require.NotContains(t, out.String(), "goroutine")
	var line struct {
		Msg, Tool, Code, Err string
		DecisionID           string `json:"decision_id"`
		Reasons              []string
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "refused", line.Msg)
	require.Equal(t, "denied", line.Code)
	require.Equal(t, "d1", line.DecisionID)
	require.Equal(t, "first second", line.Err)
	require.Equal(t, []string{"/ticket: rule ticket", "a deny rule", "/to: want a string"}, line.Reasons)
}

func TestRecordSkipsWhatWasAllowed(t *testing.T) {
	var out bytes.Buffer
	r := New(&out, false)
	r.Record(t.Context(), policy.Record{Decision: policy.Decision{Allowed: true, Effective: true}})
	require.Empty(t, out.String())
	r.Record(t.Context(), policy.Record{Decision: policy.Decision{Allowed: true, Effective: true, WarnErr: errors.New("boom")}})
	require.Contains(t, out.String(), "warn_err=boom")
	out.Reset()
	r.Record(t.Context(), policy.Record{Decision: policy.Decision{Effective: true, Refusals: []policy.Refusal{{Code: policy.Denied}}}})
	require.Contains(t, out.String(), "forwarded in shadow mode")
}

type cover struct{ policy.Coverage }

func (cover) Revision() string                     { return "r" }
func (c cover) Cover(*policy.Tool) policy.Coverage { return c.Coverage }

// The report says that every call is refused exactly when the gate refuses one.
func TestRefusesAllAgreesWithTheGate(t *testing.T) {
	allow := policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })
	tools := map[string]policy.ToolSpec{
		"good":      {Name: "x", InputSchema: json.RawMessage(`{"type":"object"}`)},
		"no schema": {Name: "x"},
		"broken":    {Name: "x", InputSchema: json.RawMessage(`{"type":"strnig"}`)},
	}
	coverages := map[string]policy.Coverage{
		"nothing":    {},
		"own":        {Deny: allow, Own: true},
		"common":     {Deny: allow},
		"misfitting": {Deny: allow, Own: true, Err: errors.New("misfit")},
	}
	options := map[string]policy.Options{
		"default":     {},
		"not enforce": {Schema: policy.SchemaOptions{SkipEnforce: true}},
		"unmapped":    {Unmapped: "allow"},
		"own package": {OwnPackage: "require"},
		"both":        {Unmapped: "allow", OwnPackage: "require"},
	}
	for to, o := range options {
		for tn, spec := range tools {
			for cn, cov := range coverages {
				t.Run(strings.Join([]string{to, tn, cn}, "/"), func(t *testing.T) {
					gate, err := policy.NewGate(o)
					require.NoError(t, err)
					gate.Use(cover{cov})
					tool := gate.Tool(spec)
					d := gate.Decide(t.Context(), policy.Call{Tool: tool, Arguments: []byte(`{}`)})
					code, why := refusesAll(gate.Options(), tool, gate.Cover(tool))
					require.Equal(t, d.Code(), code)
					require.Equal(t, d.Allowed, why == "")
				})
			}
		}
	}
}

// What an adapter says of a decision is dropped when it was told already, and only then.
func TestEachRefusalIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	r := New(&out, false)
	r.Record(t.Context(), policy.Record{Decision: policy.Decision{ID: "d1", Refusals: []policy.Refusal{{Code: policy.Denied}}}})
	log := r.Logger().With("server", "x")
	log.Warn("refused a call", "decision_id", "d1")
	log.Warn("refused a call", "decision_id", "d2")
	log.Warn("something else", "decision_id", "")
	require.Equal(t, 1, strings.Count(out.String(), "decision_id=d1"))
	require.Equal(t, 1, strings.Count(out.String(), "decision_id=d2"))
	require.Equal(t, 1, strings.Count(out.String(), "something else"))
	for range remembered {
		r.Record(t.Context(), policy.Record{Decision: policy.Decision{ID: "later"}})
	}
	log.Warn("refused a call", "decision_id", "d1")
	require.Equal(t, 2, strings.Count(out.String(), "decision_id=d1"), "memory is bounded")
}

// The name of a tool that an agent made up is in the log, but it neither fills it nor does
// anything to who reads it.
func TestNamesThatAgentsMakeUpAreTamed(t *testing.T) {
	for _, json := range []bool{true, false} {
		for name, made := range map[string]string{
			"long":           strings.Repeat("ä", 5000),
			"lines":          "x\nlevel=ERROR msg=forged",
			"terminal":       "x\x1b]0;title\x07\x1b[2J",
			"C1":             "x\u009b31m",
			"right to left":  "x\u202etxt.exe",
			"zero width":     "x\u200b\u2066\ufeff",
			"separators":     "x\u2028y\u2029z",
			"not UTF-8":      "x\xff\xc0\xaf",
			"cut in a rune":  strings.Repeat("x", 127) + "ä" + strings.Repeat("\xff", 300),
			"grows if cited": strings.Repeat("\x00", 5000),
		} {
			var out bytes.Buffer
			New(&out, json).Record(t.Context(), policy.Record{Decision: policy.Decision{Tool: made, Refusals: []policy.Refusal{{Code: policy.UnknownTool}}}})
			require.Less(t, out.Len(), 1000, name)
			require.True(t, utf8.Valid(out.Bytes()), name)
			require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")), name)
			require.False(t, bytes.ContainsFunc(bytes.TrimSuffix(out.Bytes(), []byte("\n")), func(r rune) bool { return !unicode.IsPrint(r) }), "%s: %q", name, out.String())
		}
	}
}

// slow is a log that nobody reads until it is told to.
type slow struct {
	mu    sync.Mutex
	gate  chan struct{}
	lines []string
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.gate
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, string(p))
	return len(p), nil
}

func TestAsyncNeverWaits(t *testing.T) {
	s := &slow{gate: make(chan struct{})}
	a := NewAsync(s, true)
	const n = 3 * waiting
	began := time.Now()
	for range n {
		_, err := io.WriteString(a, "line\n")
		require.NoError(t, err)
	}
	require.Less(t, time.Since(began), patience/2)
	close(s.gate)
	a.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	var dropped int
	for _, l := range s.lines {
		if l == "line\n" {
			continue
		}
		var told struct{ Lines int }
		require.NoError(t, json.Unmarshal([]byte(l), &told))
		dropped += told.Lines
	}
	require.Positive(t, dropped)
	require.Less(t, len(s.lines), n)
}

func TestAsyncKeepsOrderAndClosesTwice(t *testing.T) {
	var out bytes.Buffer
	a := NewAsync(&out, false)
	_, _ = io.WriteString(a, "1\n")
	_, _ = io.WriteString(a, "2\n")
	a.Close()
	a.Close()
	_, _ = io.WriteString(a, "3\n")
	require.Equal(t, "1\n2\n", out.String())
}

func TestAsyncClosesThoughNobodyReads(t *testing.T) {
	s := &slow{gate: make(chan struct{})}
	a := NewAsync(s, false)
	_, _ = io.WriteString(a, "1\n")
	a.Close()
	close(s.gate)
}
