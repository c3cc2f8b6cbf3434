package regoeval_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/strictjson"
	"github.com/regogate/regogate/regoeval"
)

// gateWith returns a gate with files in force, and the tool x without a schema.
func gateWith(t testing.TB, files map[string]string, ro regoeval.Options, po policy.Options) (*policy.Gate, *policy.Tool) {
	t.Helper()
	rs, err := loadWith(t, files, regoeval.Source{}, ro)
	require.NoError(t, err)
	g, err := policy.NewGate(po)
	require.NoError(t, err)
	g.Use(rs)
	return g, g.Tool(policy.ToolSpec{Name: "x", NoSchema: true})
}

// The same evaluation takes the same steps on every run, under any load, whatever the
// order of Go's maps: with one step less it is undecided, every time.
func TestStepsAreDeterministic(t *testing.T) {
	files := map[string]string{"a.rego": `package tools.x

import future.keywords

deny contains "no" if every k, v in input.arguments.o { v < 7; k != "" }

deny contains "found" if {
	not nothing
	some a in input.arguments.l
	some b in input.arguments.l
	a + b == 1000
}

nothing if {
	some k, _ in input.arguments.o
	k == "k17"
}

deny contains "or" if input.arguments.l[0] == 3 or count({x | some x in input.arguments.l; x > 5}) == 100
`}
	var o, l []string
	for i := range 40 {
		o = append(o, fmt.Sprintf(`"k%d":%d`, i*7919%40, i%9))
		l = append(l, fmt.Sprint(i*7919%40))
	}
	args := []byte(fmt.Sprintf(`{"o":{%s},"l":[%s]}`, strings.Join(o, ","), strings.Join(l, ",")))
	decided := func(steps int64) bool {
		g, tool := gateWith(t, files, regoeval.Options{Steps: steps}, policy.Options{Timeout: time.Minute})
		return g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: args}).Allowed
	}
	low, high := int64(1), int64(200_000)
	require.True(t, decided(high))
	for low < high {
		if mid := (low + high) / 2; decided(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	t.Logf("%d steps", low)
	enough, toolEnough := gateWith(t, files, regoeval.Options{Steps: low}, policy.Options{Timeout: time.Minute})
	short, toolShort := gateWith(t, files, regoeval.Options{Steps: low - 1}, policy.Options{Timeout: time.Minute})
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) { // the load
		wg.Go(func() {
			for range 10 {
				require.True(t, enough.Decide(context.Background(), policy.Call{Tool: toolEnough, Arguments: args}).Allowed)
				d := short.Decide(context.Background(), policy.Call{Tool: toolShort, Arguments: args})
				require.Equal(t, policy.Undecided, d.Code())
				require.ErrorContains(t, d.Err, fmt.Sprintf("more than %d steps", low-1))
			}
		})
	}
	wg.Wait()
}

const endless = `package tools.x

deny contains "no" if {
	some a in numbers.range(1, 100000)
	some b in numbers.range(1, 1000)
	a * b < 0
}`

// Steps stop an evaluation when they are used up, and not after it.
func TestStepsStopAnEvaluation(t *testing.T) {
	g, tool := gateWith(t, map[string]string{"a.rego": endless}, regoeval.Options{}, policy.Options{Timeout: time.Hour})
	started := time.Now()
	d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(`{}`)})
	require.Equal(t, policy.Undecided, d.Code())
	require.ErrorContains(t, d.Err, "more than 200000 steps")
	require.Less(t, time.Since(started), 20*time.Second)
}

// The wall clock is a backstop behind the steps.
func TestDeadlineStopsAnEvaluation(t *testing.T) {
	g, tool := gateWith(t, map[string]string{"a.rego": endless}, regoeval.Options{Steps: 1 << 60}, policy.Options{Timeout: 50 * time.Millisecond})
	started := time.Now()
	d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(`{}`)})
	require.Equal(t, policy.Undecided, d.Code())
	require.ErrorIs(t, d.Err, context.DeadlineExceeded)
	require.Less(t, time.Since(started), 5*time.Second)
}

// A caller that gives up stops the evaluation.
func TestCancellationStopsAnEvaluation(t *testing.T) {
	g, tool := gateWith(t, map[string]string{"a.rego": endless}, regoeval.Options{Steps: 1 << 60}, policy.Options{Timeout: time.Hour})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	started := time.Now()
	d := g.Decide(ctx, policy.Call{Tool: tool, Arguments: []byte(`{}`)})
	require.Equal(t, policy.Undecided, d.Code())
	require.ErrorIs(t, d.Err, context.Canceled)
	require.Less(t, time.Since(started), 5*time.Second)
}

// OPA alone usually answers although the context has ended before; this must not.
func TestCancelledBeforehand(t *testing.T) {
	rs := mustLoad(t, map[string]string{"a.rego": "package tools.x\n\ndeny contains \"large\" if input.arguments.n > 3\n\nwarn contains \"odd\" if input.arguments.n == 1"})
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(rs)
	tool := g.Tool(policy.ToolSpec{Name: "x", NoSchema: true})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 1000 {
		d := g.Decide(ctx, policy.Call{Tool: tool, Arguments: []byte(`{"n":1}`)})
		require.Equal(t, policy.Undecided, d.Code())
	}
	cov := rs.Cover(tool)
	for range 1000 { // and without the gate, which asks too
		rs, err := cov.Deny.Validate(ctx, policy.Input{})
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, rs)
	}
}

// As many built-in errors as the steps allow neither hide a denial's rule nor fill
// the memory; the text names a few.
func TestManyErrors(t *testing.T) {
	g, tool := gateWith(t, map[string]string{"a.rego": `package tools.x

deny contains "no" if {
	some v in input.arguments.l
	to_number(v) > 3
}`}, regoeval.Options{}, policy.Options{Timeout: time.Minute})
	args := []byte(`{"l":[` + strings.TrimSuffix(strings.Repeat(`"x",`, 30_000), ",") + `]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: args})
	runtime.ReadMemStats(&after)
	require.Equal(t, policy.Undecided, d.Code())
	require.Len(t, d.Refusals, 1)
	require.ErrorContains(t, d.Err, "and 29997 more")
	require.Less(t, len(d.Err.Error()), 1000)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
}

// Two packages that say the same say it once; what differs in rule or place is kept.
func TestDuplicatesAreToldOnce(t *testing.T) {
	rs := mustLoad(t, map[string]string{
		"a.rego":    "package tools.x\n\ndeny contains \"large\" if input.arguments.n > 3\n\ndeny contains {\"msg\": \"large\", \"rule\": \"r\"} if input.arguments.n > 3",
		"b.rego":    "package shared.b\n\ndeny contains \"large\" if input.arguments.n > 3",
		".manifest": `{"metadata":{"regogate":{"common":[{"package":"shared.b"}]}}}`,
	})
	d := decide(t, rs, "x", `{"n":5}`)
	require.ElementsMatch(t, []policy.Refusal{{Code: policy.Denied, Message: "large"}, {Code: policy.Denied, Message: "large", Rule: "r"}}, d.Refusals)
}

// Whatever goes wrong in a warn set is recorded, and never refuses.
func TestWarnNeverRefuses(t *testing.T) {
	for _, rule := range []string{
		`warn contains "w" if to_number(input.arguments.m) > 3`,
		`warn contains "w" if over(input.arguments.m)` + "\n\nover(v) if to_number(v) > 3",
		`warn contains "w" if count([1 | to_number(input.arguments.m) > 3]) > 0`,
		`warn contains "w" if every v in ["x"] { to_number(v) > 3 }`,
		`warn contains "w" if not to_number(input.arguments.m) > 3`,
		`warn contains "w" if level == "low"` + "\n\nlevel := \"high\" if to_number(input.arguments.m) > 3\n\nelse := \"low\"",
		`warn contains "w" if startswith(input.arguments.five, "a")`,
		`warn contains w if some w in [input.arguments.five]`,
		`warn contains "w" if two == 1` + "\n\ntwo := input.arguments.five\n\ntwo := input.arguments.m",
		`warn contains "w" if { some a in numbers.range(1, 1000); some b in numbers.range(1, 1000); a + b < 0 }`,
	} {
		rs := mustLoad(t, map[string]string{"a.rego": "package tools.x\n\nimport future.keywords.not\n\ndeny contains \"large\" if input.arguments.n > 3\n\n" + rule})
		d := decide(t, rs, "x", `{"n":1,"m":"x","five":5}`)
		require.True(t, d.Allowed, "%s: %v", rule, d.Refusals)
		require.Error(t, d.WarnErr, rule)
		require.NotEmpty(t, d.Warnings, rule)
		d = decide(t, rs, "x", `{"n":5,"m":"x","five":5}`)
		require.Equal(t, policy.Denied, d.Code(), rule)
	}
}

// Numbers and nesting beyond the limits never reach OPA.
func TestHostileNumbers(t *testing.T) {
	rs := mustLoad(t, map[string]string{"a.rego": "package tools.x\n\ndeny contains \"large\" if input.arguments.n * input.arguments.n > 3"})
	for _, n := range []string{strings.Repeat("9", 1_000_000), "0." + strings.Repeat("0", 500_000) + "1", "1e999999999", "1e-999999999", "-1e65535", "1e25000", "1" + strings.Repeat("0", 100_000)} {
		started := time.Now()
		require.Equal(t, policy.Malformed, decide(t, rs, "x", `{"n":`+n+`}`).Code(), "%.20s", n)
		require.Less(t, time.Since(started), time.Second)
	}
	require.Equal(t, policy.Malformed, decide(t, rs, "x", `{"n":`+strings.Repeat("[", 500_000)+strings.Repeat("]", 500_000)+`}`).Code())
	require.Equal(t, policy.Denied, decide(t, rs, "x", `{"n":`+strings.Repeat("9", 64)+`}`).Code())
	require.Equal(t, policy.Denied, decide(t, rs, "x", `{"n":-1e308}`).Code())
}

// A number that is compared slowly, among very many values, is refused before a
// built-in compares it with each of them.
func TestSlowNumbers(t *testing.T) {
	rs := mustLoad(t, map[string]string{"a.rego": "package tools.x\n\ndeny contains \"listed\" if input.arguments.n in input.arguments.l\n\ndeny contains \"unsorted\" if input.arguments.l != sort(input.arguments.l)"})
	list := func(n int, v string) string { return strings.TrimSuffix(strings.Repeat(v+",", n), ",") }
	for _, args := range []string{
		`{"n":1e308,"l":[` + list(300_000, "1") + `]}`,
		`{"n":5e-324,"l":[` + list(300_000, "1") + `]}`,
		`{"n":1,"l":[` + list(60_000, "1e308,1.1e308") + `]}`,
		`{"n":1,"l":[` + list(500, "1e+301") + `]}`,
		`{"n":1,"l":[` + list(500, "1E-305") + `]}`,
	} {
		started := time.Now()
		d := decide(t, rs, "x", args)
		require.Equal(t, policy.Undecided, d.Code(), "%.30s", args)
		require.ErrorContains(t, d.Err, "1e±300")
		require.Less(t, time.Since(started), 2*time.Second)
	}
	filled := func(number string) policy.Decision { // the arguments hold none, and what validators see does
		g, err := policy.NewGate(policy.Options{Arguments: strictjson.Limits{Bytes: 8 << 20}, Schema: policy.SchemaOptions{Steps: 10_000_000}})
		require.NoError(t, err)
		g.Use(rs)
		schema := `{"type":"object","properties":{"n":{},"l":{"type":"array","items":{"type":"object","properties":{"n":{"type":"number","default":` + number + `}}}}}}`
		return g.Decide(context.Background(), policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "x", InputSchema: []byte(schema)}), Arguments: []byte(`{"n":[1],"l":[` + list(2000, "{}") + `]}`)})
	}
	require.ErrorContains(t, filled("1e301").Err, "1e±300")
	require.NoError(t, filled("1e3").Err)
	for _, args := range []string{
		`{"n":1e308,"l":[1,2,3]}`, `{"n":1e299,"l":[` + list(10_000, "1") + `]}`, `{"n":1,"l":[2e300,1e300,1e308]}`, `{"n":0.000000000000000000000000001,"l":[1e-20]}`,
	} {
		require.NotEqual(t, policy.Undecided, decide(t, rs, "x", args).Code(), "%.30s", args)
	}
}

// A number made of text is bounded like a number in JSON, wherever it is made.
func TestNumbersMadeOfText(t *testing.T) {
	rs := mustLoad(t, map[string]string{"a.rego": `package tools.x

deny contains "to_number" if to_number(input.arguments.n) * to_number(input.arguments.n) > 25

deny contains "helper" if over(input.arguments.n)

over(v) if count([x | some x in [to_number(v)]; x > 1000]) > 0

deny contains "units" if units.parse(input.arguments.u) > 1000

deny contains "bytes" if units.parse_bytes(input.arguments.u) > 5000

deny contains "every" if every v in [input.arguments.n] { to_number(v) > 100000 }
`})
	for _, n := range []string{strings.Repeat("9", 1_000_000), "0." + strings.Repeat("0", 500_000) + "1", "1e999999999", "1e-30000", "1e301", strings.Repeat("1", 65)} {
		for _, key := range []string{"n", "u"} {
			started := time.Now()
			d := decide(t, rs, "x", fmt.Sprintf(`{%q:%q}`, key, n))
			require.Equal(t, policy.Undecided, d.Code(), "%s %.20s", key, n)
			require.Contains(t, d.Err.Error(), "a.rego:")
			require.Less(t, time.Since(started), time.Second)
		}
	}
	require.Equal(t, policy.Denied, decide(t, rs, "x", `{"n":"6"}`).Code())
	require.Equal(t, policy.Denied, decide(t, rs, "x", `{"n":"`+strings.Repeat("9", 64)+`"}`).Code())
	require.Len(t, decide(t, rs, "x", `{"n":"1e299"}`).Refusals, 3)
	require.True(t, decide(t, rs, "x", `{"n":"5","u":"500"}`).Allowed)
	require.True(t, decide(t, rs, "x", `{"n":5}`).Allowed)
	require.Len(t, decide(t, rs, "x", `{"u":"10k"}`).Refusals, 2)
	require.Equal(t, policy.Undecided, decide(t, rs, "x", `{"n":"five"}`).Code())
}
