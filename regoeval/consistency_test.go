package regoeval_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// generation returns a ruleset whose policy knows which data it belongs to.
func generation(t testing.TB, n int) *regoeval.Ruleset {
	rs, err := loadWith(t, map[string]string{
		"a.rego": fmt.Sprintf(`package tools.x

deny contains "policy and data of two generations" if data.settings.generation != %[1]d

deny contains $"large for {data.settings.generation}" if over

over if input.arguments.n > limit

limit := data.settings.limit + %[1]d

deny contains "not a number" if not is_number(object.get(input.arguments, "n", 0))

deny contains "mapped" if {
	some k, v in data.settings.map
	k == input.arguments.p
	v != "yes"
}

deny contains $"listed in {data.settings.generation}" if input.arguments.p in data.settings.list
`, n),
		"data.json": fmt.Sprintf(`{"settings":{"generation":%d,"limit":%d,"list":["g%d"],"map":{"z":"yes","b":"yes","none":"yes","a":{"y":1,"x":2}}}}`, n, 100-n, n),
		".manifest": fmt.Sprintf(`{"revision":"g%d"}`, n),
	}, regoeval.Source{}, regoeval.Options{})
	require.NoError(t, err)
	return rs
}

// mixed are calls and the code that they get from every generation, "" for allowed.
var mixed = []struct {
	args string
	code policy.Code
}{
	{`{"n":1}`, ""}, {`{"n":500}`, policy.Denied}, {`{"n":100}`, ""}, {`{"n":101}`, policy.Denied}, {`{"n":"x"}`, policy.SchemaViolation},
	{`{"n":1,"n":2}`, policy.Malformed}, {`{`, policy.Malformed}, {`{"q":"x","p":5}`, policy.SchemaViolation}, {`{}`, ""}, {`{"p":"none"}`, ""},
}

// One gate, a hundred goroutines, and a ruleset that is replaced all the time: every
// decision is made by exactly one revision, the one that it names.
func TestEveryDecisionIsOfOneRevision(t *testing.T) {
	const generations = 20
	calls := 1000
	if testing.Short() {
		calls = 50
	}
	var sets []*regoeval.Ruleset
	for n := range generations {
		sets = append(sets, generation(t, n))
	}
	g, err := policy.NewGate(policy.Options{Timeout: time.Minute}) // a hundred goroutines share few processors
	require.NoError(t, err)
	g.Use(sets[0])
	tool := g.Tool(policy.ToolSpec{Name: "x", InputSchema: []byte(`{"type":"object","properties":{"n":{"type":"integer"},"p":{"type":"string"}}}`)})

	var deciders, replacer sync.WaitGroup
	var done atomic.Bool
	var swaps atomic.Int64
	replacer.Go(func() {
		for n := 1; !done.Load(); n++ {
			g.Use(sets[n%generations])
			swaps.Add(1)
			time.Sleep(50 * time.Microsecond)
		}
	})
	failures := make(chan string, 100)
	for worker := range 100 {
		deciders.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			for range calls {
				c := mixed[rng.IntN(len(mixed))]
				d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(c.args)})
				if why := inconsistent(d, c.code); why != "" {
					select {
					case failures <- c.args + ": " + why:
					default:
					}
					return
				}
			}
		})
	}
	deciders.Wait()
	done.Store(true)
	replacer.Wait()
	close(failures)
	for f := range failures {
		t.Error(f)
	}
	t.Logf("%d decisions, %d replacements", 100*calls, swaps.Load())
	require.Greater(t, swaps.Load(), int64(10))
}

// inconsistent says what is wrong with a decision, "" when nothing is.
func inconsistent(d policy.Decision, want policy.Code) string {
	if d.Code() != want || d.Allowed != (want == "") {
		return fmt.Sprintf("%q instead of %q: %v, %v", d.Code(), want, d.Refusals, d.Err)
	}
	if !strings.HasPrefix(d.Revision, "g") {
		return "no revision: " + d.Revision
	}
	for _, r := range d.Refusals {
		if r.Code == policy.Denied && r.Message != "large for "+d.Revision[1:] {
			return fmt.Sprintf("%q by revision %s", r.Message, d.Revision)
		}
	}
	return ""
}

// One ruleset answers any number of goroutines, also when all of them ask for a tool
// for the first time.
func TestOneRulesetManyGoroutines(t *testing.T) {
	rs := generation(t, 7)
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(rs)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for worker := range 50 {
		wg.Go(func() {
			<-start
			tool := g.Tool(policy.ToolSpec{Name: "x", NoSchema: true})
			other := g.Tool(policy.ToolSpec{Name: fmt.Sprintf("other%d", worker%5), NoSchema: true})
			for n := range 40 {
				d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: fmt.Appendf(nil, `{"n":%d,"p":"g%d"}`, n*10, n)})
				wantLarge, wantListed := n*10 > 100, n == 7
				if got := len(d.Refusals); d.Err != nil || got != btoi(wantLarge)+btoi(wantListed) {
					t.Errorf("n %d: %v, %v", n, d.Refusals, d.Err)
				}
				if code := g.Decide(context.Background(), policy.Call{Tool: other, Arguments: []byte(`{}`)}).Code(); code != policy.Unmapped {
					t.Errorf("other tool: %q", code)
				}
			}
		})
	}
	close(start)
	wg.Wait()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
