package test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
)

const soakSchema = `{"type":"object","properties":{"path":{"type":"string","maxLength":4096,"pattern":"^[^\\x00]*$"},"n":{"type":"integer","minimum":0},"when":{"type":"string","format":"date-time"},
	"items":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}]}},"tree":{"$ref":"#/$defs/tree"}},
	"required":["path"],"$defs":{"tree":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/tree"},"minItems":0},{"type":"array","items":{"$ref":"#/$defs/tree"},"maxItems":99}]}}}`

const soakPolicy = `package tools.t

import rego.v2

deny contains "outside" if not startswith(input.arguments.path, "/srv/")

deny contains "too many" if input.arguments.n * input.arguments.n > 1e12

deny contains $"item {i} is dangerous" if {
	some i, x in input.arguments.items
	regex.match(` + "`^(a+)+$`" + `, x)
}

deny contains "late" if time.parse_rfc3339_ns(input.arguments.when) > time.parse_rfc3339_ns(input.call.time)

deny contains "busy" if {
	input.arguments.burn
	some a in numbers.range(1, 1000)
	some b in numbers.range(1, 1000)
	a * b == 999999999
}

warn contains "fails" if to_number(input.arguments.path) > 1
`

// hostileCalls are the kinds of arguments that a soak mixes; %d is replaced by a
// number that changes from call to call.
func hostileCalls() []string {
	return []string{
		`{"path":"/srv/%d"}`, `{"path":"/etc/%d"}`, `{"path":%d}`, `{}`, `{"path":"/srv/a","n":%d}`,
		`{"path":"/srv/a","n":9007199254740993}`, `{"path":"/srv/a","n":1e308}`, `{"path":"/srv/a","n":1e999999999}`,
		`{"path":"/srv/a","when":"tomorrow %d"}`, `{"path":"/srv/a","when":"2026-11-30T00:00:%02dZ"}`,
		`{"path":"/srv/a","items":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%d",{"id":%d},{"id":"x"}]}`,
		`{"path":"/srv/a","items":[` + strings.Repeat(`"x",`, 2000) + `%d]}`,
		`{"path":"/srv/a","path":"/etc/%d"}`, `{"path":"/srv/a","Path":"/etc/%d"}`, `{"path":"\ud800 %d"}`, "{\"path\":\"\xff%d\"}",
		`{"path":"` + strings.Repeat("a", 100_000) + `%d"}`,
		`{"path":"/srv/a","tree":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`,
		strings.Repeat(`{"a":`, 100) + "%d" + strings.Repeat("}", 100), strings.Repeat("[", 100_000),
		`{"path":"/srv/a","burn":%d}`, `[%d]`, `null`, ``, ` `, `{"path":"/srv/a"} {"n":%d}`, `{"path":"/srv/a","n":1%0100d}`,
	}
}

// Mixed hostile calls on every core for as long as REGOGATE_SOAK says (a duration):
// nothing crashes, memory and goroutines stay flat.
func TestSoak(t *testing.T) {
	duration := 3 * time.Second
	if s := os.Getenv("REGOGATE_SOAK"); s != "" {
		var err error
		duration, err = time.ParseDuration(s)
		require.NoError(t, err, "REGOGATE_SOAK is a duration such as 10m")
	}
	dir := writeBundle(t, map[string]string{"t.rego": soakPolicy})
	rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}})
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(rs)
	tool := g.Tool(policy.ToolSpec{Name: "t", InputSchema: []byte(soakSchema)})
	require.NoError(t, tool.SchemaErr())
	calls := hostileCalls()

	var codes sync.Map
	var total, wrong atomic.Int64
	deadline := time.Now().Add(duration)
	work := func(seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		for time.Now().Before(deadline) {
			arguments := calls[r.IntN(len(calls))]
			if strings.Contains(arguments, "%") {
				arguments = strings.ReplaceAll(arguments, "%d", fmt.Sprint(r.IntN(60)))
				arguments = strings.NewReplacer("%02d", "07", "%0100d", strings.Repeat("0", 100)).Replace(arguments)
			}
			d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(arguments)})
			n, _ := codes.LoadOrStore(d.Code(), new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			total.Add(1)
			if d.Allowed && !strings.HasPrefix(arguments, `{"path":"/srv/`) {
				wrong.Add(1)
			}
		}
	}
	// One round first, so that caches and pools are filled before memory is looked at.
	var heaps []uint64
	var goroutines []int
	done := make(chan struct{})
	var wg sync.WaitGroup
	for i := range runtime.GOMAXPROCS(0) {
		wg.Go(func() { work(uint64(i)) })
	}
	go func() { wg.Wait(); close(done) }()
	for ticker := time.NewTicker(duration / 20); ; {
		select {
		case <-ticker.C:
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			heaps = append(heaps, m.HeapAlloc)
			goroutines = append(goroutines, runtime.NumGoroutine())
			continue
		case <-done:
			ticker.Stop()
		}
		break
	}
	report := fmt.Sprintf("%d decisions in %v;", total.Load(), duration)
	codes.Range(func(k, v any) bool {
		report += fmt.Sprintf(" %q: %d", k, v.(*atomic.Int64).Load())
		return true
	})
	t.Log(report)
	t.Logf("heap after collection, MB: %v", megabytes(heaps))
	t.Logf("goroutines: %v", goroutines)
	require.Zero(t, wrong.Load(), "calls allowed that must not be")
	require.Greater(t, total.Load(), int64(100))
	for _, code := range []policy.Code{"", policy.Malformed, policy.SchemaViolation, policy.Denied, policy.Undecided} {
		_, seen := codes.Load(code)
		require.True(t, seen, "the mix reaches every answer: %q", code)
	}
	require.GreaterOrEqual(t, len(heaps), 4)
	quarter := len(heaps) / 4
	early, late := most(heaps[quarter:2*quarter]), most(heaps[3*quarter:])
	require.Less(t, late, early*3/2+16<<20, "memory grows")
	require.LessOrEqual(t, most(goroutines[len(goroutines)-1:]), most(goroutines[:2])+8, "goroutines grow")
}

func megabytes(bytes []uint64) []uint64 {
	out := make([]uint64, len(bytes))
	for i, b := range bytes {
		out[i] = b >> 20
	}
	return out
}

func most[T int | uint64](vs []T) T {
	var m T
	for _, v := range vs {
		m = max(m, v)
	}
	return m
}
