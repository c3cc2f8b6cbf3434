// Package adaptertest has what the tests of the MCP SDKs' adapters share: the same
// tools, the same policy and the same look at refusals for each of them, so that a
// difference between two adapters is one between the adapters.
//
// # Limits
//
// It is for tests. It knows no SDK: how a tool is added and called is each adapter's
// own affair.
package adaptertest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/regogate/regogate/policy"
)

// The versions of the protocol that stand for the two eras.
const (
	Legacy = "2025-11-25"
	Modern = "2026-07-28"
)

// Input schemas of tools.
const (
	PathSchema = `{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"],"additionalProperties":false}`
	OpenSchema = `{"type":"object"}`
	// BrokenSchema is one that SDKs accept and no validator of JSON Schema can use.
	BrokenSchema = `{"type":"object","properties":{"path":{"type":"strnig"}}}`
)

// Two traces that a call may continue.
const (
	TraceA = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	TraceB = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
)

// NoRules is a ruleset without rules: Go validators decide.
type NoRules struct{}

// Revision implements [policy.Ruleset].
func (NoRules) Revision() string { return "r1" }

// Cover implements [policy.Ruleset].
func (NoRules) Cover(*policy.Tool) policy.Coverage { return policy.Coverage{} }

// A Log keeps decisions as they are recorded. The zero Log is ready to use.
type Log struct {
	mu      sync.Mutex
	records []policy.Record
	traces  []string
}

// Record implements [policy.Recorder].
func (l *Log) Record(ctx context.Context, r policy.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	l.traces = append(l.traces, policy.TraceparentFrom(ctx))
}

// Traces returns the traceparent of each decision so far, "" for none.
func (l *Log) Traces() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.traces...)
}

// Take returns what was recorded since it was called last.
func (l *Log) Take() []policy.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.records
	l.records = nil
	return out
}

// Bytes keeps the arguments that handlers got. The zero Bytes is ready to use.
type Bytes struct {
	mu  sync.Mutex
	got []string
}

// Keep adds the arguments of one run.
func (b *Bytes) Keep(arguments []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, string(arguments))
}

// Take returns what was kept since it was called last.
func (b *Bytes) Take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.got
	b.got = nil
	return got
}

// Reports keeps what an adapter reports to an operator. The zero Reports is ready to use.
type Reports struct {
	mu   sync.Mutex
	errs []string
}

// Add keeps one report.
func (r *Reports) Add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err.Error())
}

// All returns every report so far.
func (r *Reports) All() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.errs...)
}

// DenyShadow is the policy of most tests: nobody reads /etc/shadow, and whoever says
// "panic" or "error" gets that.
func DenyShadow(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	switch path, _ := in.Arguments().Lookup("/path"); path {
	case "/etc/shadow":
		return []policy.Refusal{{Message: "not that file", Location: "/path", Rule: "secrets"}}, nil
	case "panic":
		panic("a validator's own mistake")
	case "error":
		return nil, context.DeadlineExceeded
	}
	return nil, nil
}

// NewGate returns a gate whose validator v covers the tools with these names, all when
// there are none.
func NewGate(t testing.TB, o policy.Options, v policy.ValidatorFunc, tools ...string) *policy.Gate {
	t.Helper()
	if len(tools) == 0 {
		tools = []string{""}
	}
	for _, name := range tools {
		o.Validators = append(o.Validators, policy.Registration{Tool: name, Name: "test", Validator: v})
	}
	g, err := policy.NewGate(o)
	if err != nil {
		t.Fatal(err)
	}
	g.Use(NoRules{})
	return g
}

// Code returns the code of a refused call by what its result says: whether it is an
// error, its only text, and what its _meta has for the gate's own name.
func Code(t testing.TB, isError bool, text string, meta any) policy.Code {
	t.Helper()
	if !isError {
		t.Fatal("the result is no error")
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		DecisionID string           `json:"decision_id"`
		Refusals   []policy.Refusal `json:"refusals"`
	}
	if err := json.Unmarshal(raw, &v); err != nil || v.DecisionID == "" || len(v.Refusals) == 0 {
		t.Fatalf("_meta says nothing of the decision: %s (%v)", raw, err)
	}
	code := v.Refusals[0].Code
	if want := "The call was refused before it ran (" + string(code) + ")."; !strings.HasPrefix(text, want) {
		t.Fatalf("the text begins otherwise than with %q: %q", want, text)
	}
	return code
}

// NeverRuns is what an operator is told of the validator that [Mistype] registers.
const NeverRuns = `validator "quota" for tool "raed" will never run: no server declares such a tool`

// Mistype registers a validator for the tool "read" and one for a tool that nobody has.
func Mistype(t testing.TB, g *policy.Gate) {
	t.Helper()
	for _, tool := range []string{"read", "raed"} {
		none := policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })
		if note, err := g.Register(policy.Registration{Tool: tool, Name: "quota", Validator: none}); err != nil || note != "" {
			t.Fatal(note, err)
		}
	}
}
