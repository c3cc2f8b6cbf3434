package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
)

// prepared is a gate with one package, tools.x, that isn't in force yet.
func prepared(t *testing.T, yaml string, recorder policy.Recorder) *setup.Setup {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"policy/.manifest": `{"revision":"r1","roots":["tools"],"rego_version":1}`,
		"policy/x.rego":    "package tools.x\n\ndeny contains \"no\" if input.arguments.no\n",
		"c.yaml":           "bundle: policy\n" + yaml,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	cfg, err := config.Load(config.Options{File: filepath.Join(dir, "c.yaml")})
	require.NoError(t, err)
	s, err := setup.Prepare(cfg, recorder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestLiveBeforeAnything(t *testing.T) {
	l := NewLive("v")
	s := l.Status()
	require.False(t, s.Ready)
	require.Len(t, s.Problems, 1)
	require.Nil(t, s.Policy)
	require.Nil(t, s.Tools)
	require.Equal(t, "enforce", s.Mode)
	require.ErrorIs(t, l.Ready(), errNothingInForce)
	require.Zero(t, l.Policy())
	require.Zero(t, l.DecisionLog())
	b, err := json.Marshal(s)
	require.NoError(t, err)
	require.NotContains(t, string(b), `"problems":null`)
}

func TestLiveFollowsAGate(t *testing.T) {
	l := NewLive("v")
	s := prepared(t, "", l)
	l.Follow(s, []string{"x/y"})
	require.ErrorIs(t, l.Ready(), errNothingInForce, "it isn't loaded")
	require.False(t, l.Policy().Ready)
	require.NoError(t, s.Load(t.Context()))
	require.NoError(t, l.Ready())
	since := time.Now().Add(-time.Hour)
	l.Sources(func() bundles.Status {
		return bundles.Status{Ready: true, Revision: "r1", Since: since, Activations: 2, Refusals: 3, Failures: 4,
			Bundles: []bundles.BundleStatus{{Name: "a", LastSuccess: since.Add(time.Minute)}, {Name: "b", LastSuccess: since}}}
	})
	p := l.Policy()
	require.Equal(t, since, p.Activated)
	require.Equal(t, since, p.Confirmed)
	require.Equal(t, []int64{2, 3, 4}, []int64{p.Activations, p.Refused, p.Unreachable})
	require.Equal(t, policy.Enforce, p.Mode)

	tools := []*policy.Tool{
		s.Gate.Tool(policy.ToolSpec{Name: "x", InputSchema: []byte(`{"type":"object"}`)}),
		s.Gate.Tool(policy.ToolSpec{Name: "nobody", InputSchema: []byte(`{"type":"object"}`)}),
	}
	l.Tools(tools)
	for _, arguments := range []string{`{}`, `{"no":true}`, `{"no":true}`} {
		s.Gate.Decide(t.Context(), policy.Call{Tool: tools[0], Arguments: []byte(arguments)})
	}
	require.NoError(t, s.Gate.SetMode(policy.Shadow, time.Time{}))
	s.Gate.Decide(t.Context(), policy.Call{Tool: tools[0], Arguments: []byte(`{"no":true}`)})
	now := l.Status()
	require.True(t, now.Ready)
	require.Equal(t, Counts{Allowed: 1, Refused: 2, Forwarded: 1}, now.Decisions)
	require.Equal(t, &PolicyStatus{Revision: "r1", Packages: 1, DenyRules: 1}, now.Policy)
	require.Equal(t, []string{"x/y"}, now.Undecided)
	require.Equal(t, policy.Unmapped, now.Tools[1].RefusedAs)
	require.Equal(t, "shadow", now.Mode, "the mode in force, and not that of the start")
	require.Equal(t, []string{"shadow mode: calls that the rules refuse are forwarded"}, now.Problems, "a tool that no rule covers is refused by choice")
	require.Equal(t, policy.Shadow, l.Policy().Mode)

	s.Gate.Use(nil)
	require.ErrorIs(t, l.Ready(), errNothingInForce)
	require.True(t, l.Policy().Activated.IsZero(), "nothing is in force, so it has no age")
}

// A gate over HTTP isn't ready before it listens, nor when it says so itself.
func TestLiveServing(t *testing.T) {
	l := NewLive("v")
	s := prepared(t, "", nil)
	l.Follow(s, nil)
	l.WillServe()
	require.NoError(t, s.Load(t.Context()))
	require.EqualError(t, l.Ready(), errNotServing.Error())
	draining := errors.New("keys at https://me:hunter2@keys.test/jwks?key=hunter2: no\nanswer")
	var now error
	l.Serving(Serving{Server: "https://me:hunter2@up.test/mcp?key=hunter2#hunter2"}, func() error { return now })
	require.NoError(t, l.Ready())
	now = draining
	require.EqualError(t, l.Ready(), "keys at https://keys.test/jwks: no answer")
	require.Equal(t, []string{"not ready: keys at https://keys.test/jwks: no answer"}, l.Status().Problems)
	require.Equal(t, "https://up.test/mcp", l.Status().Serving.Server)
}

func TestLiveShortfalls(t *testing.T) {
	bad := ToolStatus{Name: "x", RefusedAs: policy.SchemaUnusable, Why: "why"}
	for _, tt := range []struct {
		name string
		s    Status
		want string
	}{
		{"expired", Status{Sources: &bundles.Status{Expired: true}}, "bundles.max_age"},
		{"state", Status{Sources: &bundles.Status{StateError: "disk full\nx"}}, "the last good bundles are not kept: disk full x"},
		{"last good", Status{Sources: &bundles.Status{Bundles: []bundles.BundleStatus{{Name: "b", LastGood: true}}}}, "bundle b: the last good one"},
		{"error", Status{Sources: &bundles.Status{Bundles: []bundles.BundleStatus{{Name: "b", Error: "refused"}}}}, "bundle b: refused"},
		{"log", Status{Log: &LogStatus{Unmasked: 1}}, "lost records: 0 for want of room, 1 that"},
		{"tool", Status{Tools: []ToolStatus{bad}}, "tool x: every call is refused as schema_unusable: why"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Len(t, tt.s.shortfalls(), 1)
			require.Contains(t, tt.s.shortfalls()[0], tt.want)
		})
	}
	require.Empty(t, (&Status{Sources: &bundles.Status{Bundles: []bundles.BundleStatus{{}}}, Log: &LogStatus{Recorded: 1}}).shortfalls())
}

// What somebody wrote into the configuration may be a credential.
func TestStatusTellsNoTextOfTheConfiguration(t *testing.T) {
	s := prepared(t, strings.Join([]string{
		"schema: {enforce: false}", "limits: {timeout: 2s}",
		"caller: {subject: hunter2, tenant: hunter2, scopes: [hunter2]}",
		"decision_log: {file: d.jsonl, arguments: full, labels: [{name: a, value: hunter2}]}",
		"bundles: {status_url: 'https://status.test/?key=hunter2'}", "",
	}, "\n"), nil)
	l := NewLive("v")
	l.Follow(s, nil)
	now := l.Status()
	b, err := json.Marshal(now)
	require.NoError(t, err)
	require.NotContains(t, string(b), "hunter2")
	var off, limits []string
	for _, d := range now.Off {
		off = append(off, d.Key+"="+d.Value)
	}
	for _, d := range now.Limits {
		limits = append(limits, d.Key+"="+d.Value)
	}
	require.ElementsMatch(t, []string{"schema.enforce=false", "decision_log.arguments=full"}, off)
	require.Equal(t, []string{"limits.timeout=2s"}, limits)
	require.NotNil(t, now.Log)
}

func TestOtherEnginesAreTold(t *testing.T) {
	others := otherEngines([]policy.Package{{Path: "tools.a", Engine: "compiled"}, {Path: "tools.b", Engine: "topdown", Note: "uses walk"}})
	require.Equal(t, []OtherEngine{{"tools.b", "topdown", "uses walk"}}, others)
	var out bytes.Buffer
	_, err := Status{Policy: &PolicyStatus{Engines: others}}.WriteTo(&out)
	require.NoError(t, err)
	require.Contains(t, out.String(), "tools.b is evaluated by topdown: uses walk")
	out.Reset()
	New(&out, false).engines(others)
	require.Contains(t, out.String(), `msg="evaluated by another engine" package=tools.b engine=topdown why="uses walk"`)
}

func TestWithoutSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"policy": "policy", "starter": "starter", "a?b": "a?b", "https://h/p": "https://h/p", "https://u:p@h/p?q#f": "https://h/p",
		"https://h/p?": "https://h/p", "https://u:p@h:x/p?q": "https://…", "": "",
	} {
		require.Equal(t, want, withoutSecrets(in), in)
	}
}

// An answer comes from whoever listens: it is kept on lines of its own and harmless.
func TestPrintedStatusSteersNoTerminal(t *testing.T) {
	evil := "a\x1b[2J\nready yes\u202e\x00b"
	s := Status{Version: evil, Problems: []string{evil}, Mode: evil, Policy: &PolicyStatus{Revision: evil}, Bundles: []string{evil},
		Sources: &bundles.Status{Bundles: []bundles.BundleStatus{{Name: evil, Revision: evil, KeyID: evil, Refused: evil}}},
		On:      []Difference{{Key: evil}}, Off: []Difference{{Key: evil, Effect: evil}}, Limits: []Difference{{Key: evil}},
		Require: []string{evil}, Undecided: []string{evil}, Log: &LogStatus{File: evil}, Serving: &Serving{URL: evil}, Tools: []ToolStatus{{Name: evil, RefusedAs: "x", Why: evil}}}
	var out bytes.Buffer
	_, err := s.WriteTo(&out)
	require.NoError(t, err)
	require.NotContains(t, strings.ReplaceAll(out.String(), "\n", ""), "\x1b")
	require.NotContains(t, out.String(), "\u202e")
	require.NotContains(t, out.String(), "\nready yes")
	require.Contains(t, out.String(), "ready           NO\n")
}

func TestLiveIsSafeForConcurrentUse(t *testing.T) {
	l := NewLive("v")
	s := prepared(t, "", l)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				_ = l.Status()
				_ = l.Policy()
			}
		})
	}
	l.Follow(s, nil)
	stop, err := s.Watch(t.Context(), New(&bytes.Buffer{}, false).Logger(), nil)
	require.NoError(t, err)
	l.Sources(s.Bundles.Status)
	for range 50 {
		l.Record(context.Background(), policy.Record{})
		l.Tools([]*policy.Tool{s.Gate.Tool(policy.ToolSpec{Name: "x"})})
	}
	all.Wait()
	stop()
	require.EqualValues(t, 50, l.Status().Decisions.Refused)
}
