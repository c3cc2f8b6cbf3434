package uniform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

var caller = policy.Caller{Subject: "ann", Tenant: "acme"}

// rules stand for a bundle.
type rules struct{}

func (rules) Revision() string { return "r1" }

func (rules) Cover(t *policy.Tool) policy.Coverage {
	switch t.Name() {
	case "uncovered":
		return policy.Coverage{}
	case "unfit":
		return policy.Coverage{Err: errors.New("the rules don't fit the tool")}
	}
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(deny)}
}

func deny(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	path, _ := in.Arguments().Lookup("/path")
	mode, _ := in.Arguments().Lookup("/mode")
	switch path {
	case "/etc/shadow":
		return []policy.Refusal{{Message: "not that file", Location: "/path", Rule: "secrets"}}, nil
	case "two reasons":
		return []policy.Refusal{{Message: "the first"}, {Message: "the second, in\ntwo lines"}}, nil
	case "markup":
		return []policy.Refusal{{Message: "not <b>\"that\"</b> & no \u2028 other, é 😀"}}, nil
	case "who":
		c := in.Caller()
		return []policy.Refusal{{Message: fmt.Sprintf("not for %s of %s", c.Subject, c.Tenant)}}, nil
	case "default":
		return []policy.Refusal{{Message: fmt.Sprintf("mode is %v", mode)}}, nil
	case "long":
		return []policy.Refusal{{Message: strings.Repeat("é", 3000)}}, nil
	case "many":
		return make50(), nil
	case "error":
		return nil, errors.New("operator only")
	case "panic":
		panic("operator only")
	case "empty refusal":
		return []policy.Refusal{{}}, nil
	}
	var a struct{ N json.Number }
	if err := in.Arguments().Decode(&a); err == nil && a.N != "" {
		if f, err := a.N.Float64(); err == nil && f == 666 {
			return []policy.Refusal{{Message: "not that number", Location: "/n"}}, nil
		}
	}
	return nil, nil
}

func make50() (rs []policy.Refusal) {
	for i := range 60 {
		rs = append(rs, policy.Refusal{Message: fmt.Sprintf("reason %d", i)})
	}
	return rs
}

// A fixture is one gate, what it decided, and what the handlers behind it got.
type fixture struct {
	gate *policy.Gate

	mu      sync.Mutex
	decided []policy.Decision
	got     []string
}

func newFixture(t *testing.T, kind string) *fixture {
	t.Helper()
	f := &fixture{}
	gate, err := policy.NewGate(policy.Options{Recorder: f, CallerRequire: []string{"tenant"}})
	require.NoError(t, err)
	if kind == "" {
		gate.Use(rules{})
	}
	f.gate = gate
	return f
}

// Record keeps a decision.
func (f *fixture) Record(_ context.Context, r policy.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decided = append(f.decided, r.Decision)
}

// ran keeps what a handler got.
func (f *fixture) ran(arguments string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, arguments)
}

// take returns what happened since it was called last.
func (f *fixture) take() (decided []policy.Decision, got []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	decided, got = f.decided, f.got
	f.decided, f.got = nil, nil
	return decided, got
}

func spec(name string) policy.ToolSpec {
	for _, t := range tools {
		if t.name == name {
			return policy.ToolSpec{Name: t.name, InputSchema: json.RawMessage(t.schema)}
		}
	}
	return policy.ToolSpec{}
}

// reference asks the gate itself.
func (f *fixture) reference(r row) policy.Decision {
	tool := policy.UndeclaredTool("", r.tool)
	if s := spec(r.tool); s.Name != "" {
		tool = f.gate.Tool(s)
	}
	arguments := r.arguments
	if arguments == "" || arguments == "null" {
		arguments = "{}"
	}
	d := f.gate.Decide(policy.WithCaller(context.Background(), caller), policy.Call{Tool: tool, Arguments: []byte(arguments)})
	f.take()
	return d
}
