package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

const readSchema = `{"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"string","default":"text"},"n":{"type":"integer"}},"required":["path"],"additionalProperties":false}`

// fake is a ruleset whose answer for every tool is given.
type fake struct {
	revision string
	coverage policy.Coverage
}

func (f fake) Revision() string                   { return f.revision }
func (f fake) Cover(*policy.Tool) policy.Coverage { return f.coverage }

// counting counts how often it is asked and answers with what it is given.
type counting struct {
	asked    atomic.Int64
	refusals []policy.Refusal
	err      error
}

func (c *counting) Validate(context.Context, policy.Input) ([]policy.Refusal, error) {
	c.asked.Add(1)
	return c.refusals, c.err
}

func newGate(t testing.TB, o policy.Options, rs policy.Ruleset) *policy.Gate {
	t.Helper()
	g, err := policy.NewGate(o)
	require.NoError(t, err)
	if rs != nil {
		g.Use(rs)
	}
	return g
}

func covered(v policy.Validator) fake {
	return fake{revision: "r1", coverage: policy.Coverage{Deny: v, Own: true}}
}

func readTool(g *policy.Gate) *policy.Tool {
	return g.Tool(policy.ToolSpec{Name: "read", InputSchema: []byte(readSchema)})
}

func call(t *policy.Tool, arguments string) policy.Call {
	return policy.Call{Tool: t, Arguments: []byte(arguments)}
}

func requireRefused(t testing.TB, d policy.Decision, code policy.Code) {
	t.Helper()
	require.False(t, d.Allowed)
	require.False(t, d.Effective)
	require.NotEmpty(t, d.Refusals)
	require.Equal(t, code, d.Code(), "refusals: %v, err: %v", d.Refusals, d.Err)
}

func TestZeroValuesRefuse(t *testing.T) {
	require.False(t, policy.Decision{}.Allowed)
	require.False(t, policy.Decision{}.Effective)
	require.NotContains(t, policy.Decision{}.Text(), "allowed")

	var zero policy.Gate
	zero.Use(covered(&counting{}))
	for _, g := range []*policy.Gate{nil, {}, &zero} {
		requireRefused(t, g.Decide(context.Background(), call(nil, `{}`)), policy.NotReady)
	}
	g := newGate(t, policy.Options{}, covered(&counting{}))
	for _, tool := range []*policy.Tool{nil, {}, policy.UndeclaredTool("s", "rm")} {
		requireRefused(t, g.Decide(context.Background(), call(tool, `{}`)), policy.UnknownTool)
	}
	unlearned := g.Decide(context.Background(), call(policy.UnlearnedTool("s", "rm", errors.New("no answer")), `{}`))
	requireRefused(t, unlearned, policy.NotReady)
	require.ErrorContains(t, unlearned.Err, "no answer")
	requireRefused(t, newGate(t, policy.Options{}, fake{}).Decide(context.Background(), call(readTool(g), `{"path":"a"}`)), policy.Unmapped)
}

// A later question never sees what an earlier one refused: the validator is asked
// only when everything before it had no objection.
func TestOrderOfQuestions(t *testing.T) {
	tests := []struct {
		name      string
		arguments string
		tool      policy.ToolSpec
		options   policy.Options
		code      policy.Code
		asked     int64
	}{
		{"control: allowed", `{"path":"a"}`, policy.ToolSpec{InputSchema: []byte(readSchema)}, policy.Options{}, "", 1},
		{"malformed", `{"path":`, policy.ToolSpec{InputSchema: []byte(readSchema)}, policy.Options{}, policy.Malformed, 0},
		{"malformed: empty bytes", ``, policy.ToolSpec{InputSchema: []byte(readSchema)}, policy.Options{}, policy.Malformed, 0},
		{"malformed: folds to a declared name", `{"path":"a","MODE":"x"}`, policy.ToolSpec{InputSchema: []byte(readSchema)}, policy.Options{}, policy.Malformed, 0},
		{"schema", `{"path":7}`, policy.ToolSpec{InputSchema: []byte(readSchema)}, policy.Options{}, policy.SchemaViolation, 0},
		{"schema does not compile", `{"path":"a"}`, policy.ToolSpec{InputSchema: []byte(`{"type":7}`)}, policy.Options{}, policy.SchemaUnusable, 0},
		{"no schema declared", `{"path":"a"}`, policy.ToolSpec{}, policy.Options{}, policy.SchemaUnusable, 0},
		{"no schema on purpose", `{"path":7}`, policy.ToolSpec{NoSchema: true}, policy.Options{}, "", 1},
		{"enforce off: violation is not looked at", `{"path":7}`, policy.ToolSpec{InputSchema: []byte(readSchema)}, policy.Options{Schema: policy.SchemaOptions{SkipEnforce: true}}, "", 1},
		{"enforce off: schema is not needed", `{"path":7}`, policy.ToolSpec{InputSchema: []byte(`{"type":7}`)}, policy.Options{Schema: policy.SchemaOptions{SkipEnforce: true}}, "", 1},
		{"enforce off: malformed still refused", `{"path":7,"path":8}`, policy.ToolSpec{InputSchema: []byte(readSchema)}, policy.Options{Schema: policy.SchemaOptions{SkipEnforce: true}}, policy.Malformed, 0},
		{"enforce off: folded name still refused", `{"path":7,"Mode":8}`, policy.ToolSpec{InputSchema: []byte(readSchema)}, policy.Options{Schema: policy.SchemaOptions{SkipEnforce: true}}, policy.Malformed, 0},
		{"caller required", `{"path":"a"}`, policy.ToolSpec{InputSchema: []byte(readSchema)}, policy.Options{CallerRequire: []string{"subject"}}, policy.Undecided, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := &counting{}
			g := newGate(t, tt.options, covered(v))
			tt.tool.Name = "read"
			d := g.Decide(context.Background(), call(g.Tool(tt.tool), tt.arguments))
			if tt.code == "" {
				require.True(t, d.Allowed, "%v %v", d.Refusals, d.Err)
				require.True(t, d.Effective)
			} else {
				requireRefused(t, d, tt.code)
			}
			require.Equal(t, tt.asked, v.asked.Load())
		})
	}
}

func TestEveryCodeOfRulesRefuses(t *testing.T) {
	boom := errors.New("database is down")
	panics := policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { panic("oops") })
	tests := []struct {
		name string
		rs   policy.Ruleset
		code policy.Code
	}{
		{"no ruleset", nil, policy.NotReady},
		{"nothing covers the tool", fake{revision: "r"}, policy.Unmapped},
		{"rules do not fit", fake{coverage: policy.Coverage{Deny: &counting{}, Own: true, Err: boom}}, policy.Undecided},
		{"refusal", covered(&counting{refusals: []policy.Refusal{{Message: "no"}}}), policy.Denied},
		{"error", covered(&counting{err: boom}), policy.Undecided},
		{"error beside a refusal", covered(&counting{refusals: []policy.Refusal{{Message: "no"}}, err: boom}), policy.Denied},
		{"refusal without a message", covered(&counting{refusals: []policy.Refusal{{}}}), policy.Undecided},
		{"panic", covered(panics), policy.Undecided},
		{"nil function", covered(policy.ValidatorFunc(nil)), policy.Undecided},
		{"ruleset panics", panicking{}, policy.Undecided},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, policy.Options{}, tt.rs)
			d := g.Decide(context.Background(), call(readTool(g), `{"path":"a"}`))
			requireRefused(t, d, tt.code)
			if tt.code == policy.Undecided {
				require.Error(t, d.Err)
				require.NotContains(t, d.Text(), "database", "operator detail never reaches the agent")
			}
		})
	}
}

type panicking struct{}

func (panicking) Revision() string                   { return "p" }
func (panicking) Cover(*policy.Tool) policy.Coverage { panic("no cover") }

func TestUnmappedTools(t *testing.T) {
	common := fake{coverage: policy.Coverage{Deny: &counting{}}}
	nothing := fake{}
	everyTool := []policy.Registration{{Name: "v", Validator: &counting{}}}
	thisTool := []policy.Registration{{Tool: "read", Name: "v", Validator: &counting{}}}
	otherTool := []policy.Registration{{Tool: "Read", Name: "v", Validator: &counting{}}}
	otherServer := []policy.Registration{{Server: "s", Tool: "read", Name: "v", Validator: &counting{}}}
	tests := []struct {
		name string
		rs   policy.Ruleset
		o    policy.Options
		code policy.Code
	}{
		{"nothing", nothing, policy.Options{}, policy.Unmapped},
		{"nothing, allowed by configuration", nothing, policy.Options{Unmapped: "allow"}, ""},
		{"nothing, allowed, but own package required", nothing, policy.Options{Unmapped: "allow", OwnPackage: "require"}, policy.Unmapped},
		{"common package", common, policy.Options{}, ""},
		{"common package, own required", common, policy.Options{OwnPackage: "require"}, policy.Unmapped},
		{"Go validator for every tool", nothing, policy.Options{Validators: everyTool}, ""},
		{"Go validator for every tool, own required", nothing, policy.Options{Validators: everyTool, OwnPackage: "require"}, policy.Unmapped},
		{"Go validator for this tool, own required", nothing, policy.Options{Validators: thisTool, OwnPackage: "require"}, ""},
		{"Go validator for another name", nothing, policy.Options{Validators: otherTool}, policy.Unmapped},
		{"Go validator for another server", nothing, policy.Options{Validators: otherServer}, policy.Unmapped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, tt.o, tt.rs)
			d := g.Decide(context.Background(), call(readTool(g), `{"path":"a"}`))
			if tt.code == "" {
				require.True(t, d.Allowed, "%v", d.Refusals)
				return
			}
			requireRefused(t, d, tt.code)
		})
	}
}

func TestShadowForwardsOnlyWhatWasLookedAt(t *testing.T) {
	refuses := covered(&counting{refusals: []policy.Refusal{{Message: "no"}}})
	fails := covered(&counting{err: errors.New("x")})
	tests := []struct {
		name      string
		rs        policy.Ruleset
		spec      policy.ToolSpec
		arguments string
		code      policy.Code
		effective bool
	}{
		{"schema_violation", refuses, policy.ToolSpec{InputSchema: []byte(readSchema)}, `{}`, policy.SchemaViolation, true},
		{"unmapped", fake{}, policy.ToolSpec{InputSchema: []byte(readSchema)}, `{"path":"a"}`, policy.Unmapped, true},
		{"denied", refuses, policy.ToolSpec{InputSchema: []byte(readSchema)}, `{"path":"a"}`, policy.Denied, true},
		{"undecided", fails, policy.ToolSpec{InputSchema: []byte(readSchema)}, `{"path":"a"}`, policy.Undecided, true},
		{"malformed", refuses, policy.ToolSpec{InputSchema: []byte(readSchema)}, `{"path":"a",}`, policy.Malformed, false},
		{"schema_unusable", refuses, policy.ToolSpec{InputSchema: []byte(`[]`)}, `{"path":"a"}`, policy.SchemaUnusable, false},
		{"not_ready", nil, policy.ToolSpec{InputSchema: []byte(readSchema)}, `{"path":"a"}`, policy.NotReady, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, policy.Options{Mode: policy.Shadow}, tt.rs)
			tt.spec.Name = "read"
			d := g.Decide(context.Background(), call(g.Tool(tt.spec), tt.arguments))
			require.False(t, d.Allowed)
			require.Equal(t, tt.code, d.Code())
			require.Equal(t, tt.effective, d.Effective)
		})
	}
	g := newGate(t, policy.Options{Mode: policy.Shadow}, refuses)
	require.False(t, g.Decide(context.Background(), call(policy.UndeclaredTool("", "x"), `{}`)).Effective, "an unknown tool is never forwarded")
}

// A validator can do what it likes with what it gets: nobody else notices.
func TestValidatorCannotChangeAnything(t *testing.T) {
	raw := []byte(`{"path":"/safe","n":1}`)
	var second map[string]any
	vandal := policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		in.Arguments().Object()["path"] = "/etc/shadow"
		in.Document()["arguments"].(map[string]any)["path"] = "/etc/shadow"
		in.Document()["caller"].(map[string]any)["subject"] = "root"
		in.Caller().Claims["admin"] = true
		in.Tool().Annotations["readOnlyHint"] = true
		copy(in.Arguments().Raw(), `{"path":"/evil","n":2}`)
		return nil, nil
	})
	witness := policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		second = in.Document()
		return nil, nil
	})
	g := newGate(t, policy.Options{Validators: []policy.Registration{{Name: "vandal", Validator: vandal}, {Name: "witness", Validator: witness}}}, fake{})
	ctx := policy.WithCaller(context.Background(), policy.Caller{Subject: "alice", Claims: map[string]any{"org": "x"}})
	for range 2 {
		d := g.Decide(ctx, policy.Call{Tool: readTool(g), Arguments: raw})
		require.True(t, d.Allowed, "%v %v", d.Refusals, d.Err)
		require.Equal(t, `{"path":"/safe","n":1}`, string(raw))
		require.Equal(t, "/safe", second["arguments"].(map[string]any)["path"])
		require.Equal(t, "alice", second["caller"].(map[string]any)["subject"])
		require.Equal(t, map[string]any{"org": "x"}, second["caller"].(map[string]any)["claims"])
		require.Empty(t, second["tool"].(map[string]any)["annotations"])
	}
}

func TestInputDocumentHasEveryMember(t *testing.T) {
	var got map[string]any
	see := policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		got = in.Document()
		return nil, nil
	})
	g := newGate(t, policy.Options{}, covered(see))
	require.True(t, g.Decide(context.Background(), call(readTool(g), `{"path":"a"}`)).Allowed)
	call := got["call"].(map[string]any)
	when, err := time.Parse(time.RFC3339Nano, call["time"].(string))
	require.NoError(t, err)
	require.Equal(t, time.UTC, when.Location())
	delete(call, "time")
	require.Equal(t, map[string]any{
		"tool":      map[string]any{"name": "read", "server": nil, "title": nil, "annotations": map[string]any{}},
		"arguments": map[string]any{"path": "a", "mode": "text"},
		"caller":    map[string]any{"subject": nil, "tenant": nil, "scopes": []any{}, "claims": map[string]any{}},
		"call":      map[string]any{"id": nil, "session": nil, "transport": nil, "responses": map[string]any{}},
	}, got, "with the schema's default filled in")

	g = newGate(t, policy.Options{Schema: policy.SchemaOptions{Defaults: "ignore"}}, covered(see))
	ctx := policy.WithCaller(context.Background(), policy.Caller{Subject: "a", Tenant: "t", Scopes: []string{"s"}, Claims: map[string]any{"n": 1, "list": []string{"x"}}})
	tool := g.Tool(policy.ToolSpec{Server: "fs", Name: "read", Title: "Read", Annotations: []byte(`{"readOnlyHint":true}`), InputSchema: []byte(readSchema)})
	require.True(t, g.Decide(ctx, policy.Call{Tool: tool, Arguments: []byte(`{"path":"a"}`), ID: "7", Session: "s1", Transport: "stdio", Responses: []byte(`{"r":1}`)}).Allowed)
	delete(got["call"].(map[string]any), "time")
	require.Equal(t, map[string]any{
		"tool":      map[string]any{"name": "read", "server": "fs", "title": "Read", "annotations": map[string]any{"readOnlyHint": true}},
		"arguments": map[string]any{"path": "a"},
		"caller":    map[string]any{"subject": "a", "tenant": "t", "scopes": []any{"s"}, "claims": map[string]any{"n": json.Number("1"), "list": []any{"x"}}},
		"call":      map[string]any{"id": "7", "session": "s1", "transport": "stdio", "responses": map[string]any{"r": json.Number("1")}},
	}, got)
}

func TestCallerRequire(t *testing.T) {
	g := newGate(t, policy.Options{CallerRequire: []string{"subject", "claims.org.id"}}, covered(&counting{}))
	tests := []struct {
		name    string
		caller  policy.Caller
		allowed bool
	}{
		{"nobody", policy.Caller{}, false},
		{"no claim", policy.Caller{Subject: "a"}, false},
		{"empty claim", policy.Caller{Subject: "a", Claims: map[string]any{"org": map[string]any{"id": ""}}}, false},
		{"null claim", policy.Caller{Subject: "a", Claims: map[string]any{"org": map[string]any{"id": nil}}}, false},
		{"claim without members", policy.Caller{Subject: "a", Claims: map[string]any{"org": "x"}}, false},
		{"all there", policy.Caller{Subject: "a", Claims: map[string]any{"org": map[string]any{"id": 0}}}, true},
		{"claims that are no JSON", policy.Caller{Subject: "a", Claims: map[string]any{"org": map[string]any{"id": 1}, "f": func() {}}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := g.Decide(policy.WithCaller(context.Background(), tt.caller), call(readTool(g), `{"path":"a"}`))
			require.Equal(t, tt.allowed, d.Allowed, "%v", d.Err)
			if !tt.allowed {
				requireRefused(t, d, policy.Undecided)
			}
		})
	}
	for _, path := range []string{"", "name", "subject.x", "claims.", "claims..a"} {
		_, err := policy.NewGate(policy.Options{CallerRequire: []string{path}})
		require.ErrorContains(t, err, "caller.require", "path %q", path)
	}
}

func TestContextThatHasEndedIsUndecided(t *testing.T) {
	v := &counting{}
	g := newGate(t, policy.Options{}, covered(v))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 1000 {
		requireRefused(t, g.Decide(ctx, call(readTool(g), `{"path":"a"}`)), policy.Undecided)
	}
	require.Zero(t, v.asked.Load())
}

func TestGoValidatorThatNeverReturnsIsAbandoned(t *testing.T) {
	release := make(chan struct{})
	stuck := policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) {
		<-release
		return nil, nil
	})
	var asked atomic.Int64
	counts := policy.ValidatorFunc(func(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
		asked.Add(1)
		return stuck(ctx, in)
	})
	g := newGate(t, policy.Options{Timeout: 10 * time.Millisecond, MaxAbandoned: 3, Validators: []policy.Registration{{Name: "stuck", Validator: counts}}}, fake{})
	tool := readTool(g)
	for range 6 {
		start := time.Now()
		d := g.Decide(context.Background(), call(tool, `{"path":"a"}`))
		requireRefused(t, d, policy.Undecided)
		require.Less(t, time.Since(start), time.Second)
	}
	require.EqualValues(t, 3, asked.Load(), "beyond the cap the validator isn't even asked")
	close(release)
	require.Eventually(t, func() bool {
		return g.Decide(context.Background(), call(tool, `{"path":"a"}`)).Allowed
	}, time.Second, time.Millisecond, "once they are back the gate decides again")
}

func TestManyRunningGoValidatorsAreNotAbandoned(t *testing.T) {
	slow := policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) {
		time.Sleep(20 * time.Millisecond)
		return nil, nil
	})
	g := newGate(t, policy.Options{Timeout: 10 * time.Second, MaxAbandoned: 1, Validators: []policy.Registration{{Name: "slow", Validator: slow}}}, fake{})
	tool := readTool(g)
	var wg sync.WaitGroup
	var refused atomic.Int64
	for range 50 {
		wg.Go(func() {
			if !g.Decide(context.Background(), call(tool, `{"path":"a"}`)).Allowed {
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	require.Zero(t, refused.Load())
}

func TestWarningsNeverRefuse(t *testing.T) {
	tests := []struct {
		name string
		warn policy.Validator
		want string
	}{
		{"warning", &counting{refusals: []policy.Refusal{{Message: "careful", Rule: "w1"}}}, "careful"},
		{"error", &counting{err: errors.New("x")}, "could not be evaluated"},
		{"panic", policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { panic("x") }), "could not be evaluated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, policy.Options{}, fake{coverage: policy.Coverage{Deny: &counting{}, Warn: tt.warn, Own: true}})
			d := g.Decide(context.Background(), call(readTool(g), `{"path":"a"}`))
			require.True(t, d.Allowed)
			require.True(t, d.Effective)
			require.Len(t, d.Warnings, 1)
			require.Contains(t, d.Warnings[0].Message, tt.want)
			require.NoError(t, d.Err)
		})
	}
}

func TestAnswersAreBounded(t *testing.T) {
	var many []policy.Refusal
	for i := range 500 {
		many = append(many, policy.Refusal{Message: fmt.Sprintf("%03d %s", i, strings.Repeat("é", 4000))})
	}
	g := newGate(t, policy.Options{}, covered(&counting{refusals: many}))
	d := g.Decide(context.Background(), call(readTool(g), `{"path":"a"}`))
	requireRefused(t, d, policy.Denied)
	require.Len(t, d.Refusals, 50)
	for _, r := range d.Refusals {
		require.LessOrEqual(t, len(r.Message), 2048)
		require.True(t, json.Valid(mustJSON(t, r)))
	}
	require.Equal(t, "451 more refusals are not shown", d.Refusals[49].Message)
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

type recorder struct {
	mu      sync.Mutex
	records []policy.Record
	panics  bool
}

func (r *recorder) Record(_ context.Context, rec policy.Record) {
	if r.panics {
		panic("disk full")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, rec)
}

func TestEveryDecisionIsRecordedOnce(t *testing.T) {
	rec := &recorder{}
	g := newGate(t, policy.Options{Recorder: rec}, covered(&counting{}))
	var ids []string
	for _, a := range []string{`{"path":"a"}`, `{`, `{"path":1}`} {
		ids = append(ids, g.Decide(context.Background(), call(readTool(g), a)).ID)
	}
	require.Len(t, rec.records, 3)
	for i, r := range rec.records {
		require.Equal(t, ids[i], r.Decision.ID)
		require.NotEmpty(t, ids[i])
	}
	require.True(t, rec.records[0].Parsed)
	require.False(t, rec.records[1].Parsed)

	g = newGate(t, policy.Options{Recorder: &recorder{panics: true}}, covered(&counting{}))
	require.True(t, g.Decide(context.Background(), call(readTool(g), `{"path":"a"}`)).Allowed, "a recorder can't change a decision")
}

func TestDecisionAsJSON(t *testing.T) {
	g := newGate(t, policy.Options{}, covered(&counting{refusals: []policy.Refusal{{Message: "no", Rule: "r", Location: "/path"}}}))
	d := g.Decide(context.Background(), call(readTool(g), `{"path":"a"}`))
	d.ID = "id"
	require.JSONEq(t, `{"decision_id":"id","allowed":false,"effective":false,"tool":"read","revision":"r1","refusals":[{"code":"denied","message":"no","location":"/path","rule":"r"}],"warnings":[]}`, string(mustJSON(t, d)))
	ok := newGate(t, policy.Options{}, covered(&counting{})).Decide(context.Background(), call(readTool(g), `{"path":"a"}`))
	require.Contains(t, string(mustJSON(t, ok)), `"refusals":[],"warnings":[]`)
}

func TestOptionsWithoutMeaningAreErrors(t *testing.T) {
	tests := map[string]policy.Options{
		"mode":                  {Mode: "audit"},
		"tools.unmapped":        {Unmapped: "deny"},
		"tools.own_package":     {OwnPackage: "yes"},
		"schema.formats":        {Schema: policy.SchemaOptions{Formats: "off"}},
		"schema.undeclared":     {Schema: policy.SchemaOptions{Undeclared: "no"}},
		"schema.optional_null":  {Schema: policy.SchemaOptions{OptionalNull: "allow"}},
		"schema.defaults":       {Schema: policy.SchemaOptions{Defaults: "apply"}},
		"schema.second_opinion": {Schema: policy.SchemaOptions{SecondOpinion: "xeipuuv"}},
		"limits.timeout":        {Timeout: -1},
		"limits.refusals":       {MaxRefusals: -1},
		"is nil":                {Validators: []policy.Registration{{Name: "x"}}},
	}
	for want, o := range tests {
		g, err := policy.NewGate(o)
		require.ErrorContains(t, err, want)
		require.Nil(t, g)
	}
}
