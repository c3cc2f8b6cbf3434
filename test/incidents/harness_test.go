package incidents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
)

// A testCase is one line of a file of calls.
type testCase struct {
	ID        string          `json:"id"`
	Source    string          `json:"source"`
	Kind      string          `json:"kind"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Expected  string          `json:"expected"`
	Reason    string          `json:"reason"`
	// Needs says what it would take to refuse the call: resolver, session or server.
	Needs string `json:"needs"`
	// Facts are what a resolver would have found, in the shared file.
	Facts json.RawMessage `json:"facts"`
}

// refusable reports whether the arguments alone say that the call is to be refused.
func (c testCase) refusable() bool { return c.Needs == "" && len(c.Facts) == 0 }

func readCases(t testing.TB, file string) []testCase {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []testCase
	sc := bufio.NewScanner(bytes.NewReader(raw))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		var c testCase
		require.NoErrorf(t, json.Unmarshal(sc.Bytes(), &c), "%s:%d", file, n)
		out = append(out, c)
	}
	require.NoError(t, sc.Err())
	require.NotEmpty(t, out)
	return out
}

// starterGate is a gate with the starter bundle in force.
func starterGate(t testing.TB, settings string) *policy.Gate {
	t.Helper()
	rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{bundles.Starter}, SettingsFile: settings})
	require.NoError(t, err)
	// Steps decide. The clock is their backstop, which a machine busy with other tests
	// must not reach.
	g, err := policy.NewGate(policy.Options{Timeout: time.Minute})
	require.NoError(t, err)
	g.Use(rs)
	return g
}

func decide(g *policy.Gate, tool string, arguments []byte) policy.Decision {
	return g.Decide(context.Background(), policy.Call{
		Tool:      g.Tool(policy.ToolSpec{Name: tool, NoSchema: true}),
		Arguments: arguments,
	})
}

// A tally counts what became of the cases of one kind.
type tally struct{ refusable, refused, needs, benign, benignRefused int }

// A report is what became of a file of cases.
type report struct {
	byKind   map[string]*tally
	missed   []string // refusable and allowed
	annoying []string // to be allowed and refused
	needs    []string // not refusable, and allowed
	broken   []string // undecided
}

// measure decides every case. Only a deny rule counts as a refusal: a call that could
// not be decided is a defect of the bundle.
func measure(t testing.TB, g *policy.Gate, cases []testCase) report {
	t.Helper()
	r := report{byKind: map[string]*tally{}}
	for _, c := range cases {
		k, _, _ := strings.Cut(c.Kind, "-")
		if r.byKind[k] == nil {
			r.byKind[k] = &tally{}
		}
		n := r.byKind[k]
		d := decide(g, c.Tool, c.Arguments)
		line := fmt.Sprintf("%s %s %s %.120s: %s %v", c.ID, c.Kind, c.Tool, c.Arguments, c.Reason, rules(d))
		if !d.Allowed && !denied(d) {
			r.broken = append(r.broken, fmt.Sprintf("%s: %v", line, d.Err))
		}
		switch {
		case c.Expected == "allow":
			n.benign++
			if !d.Allowed {
				n.benignRefused++
				r.annoying = append(r.annoying, line)
			}
		case c.Expected != "refuse":
			t.Fatalf("%s: expected is %q, not allow or refuse", c.ID, c.Expected)
		case !c.refusable() && d.Allowed:
			n.needs++
			r.needs = append(r.needs, line)
		default:
			n.refusable++
			if d.Allowed {
				r.missed = append(r.missed, line)
			} else {
				n.refused++
			}
		}
	}
	return r
}

func denied(d policy.Decision) bool {
	return len(d.Refusals) > 0 && !slices.ContainsFunc(d.Refusals, func(r policy.Refusal) bool { return r.Code != policy.Denied })
}

// rules lists the rules that refused, each once.
func rules(d policy.Decision) []string {
	ids := map[string]bool{}
	for _, r := range d.Refusals {
		ids[r.Rule] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

func (r report) total() tally {
	var sum tally
	for _, n := range r.byKind {
		sum.refusable += n.refusable
		sum.refused += n.refused
		sum.needs += n.needs
		sum.benign += n.benign
		sum.benignRefused += n.benignRefused
	}
	return sum
}

// log prints the report by kind and everything that isn't as expected.
func (r report) log(t testing.TB, title string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%-14s %9s %7s %7s %7s %15s\n", title, "kind", "refusable", "refused", "missed", "benign", "benign refused")
	row := func(name string, n tally) {
		fmt.Fprintf(&b, "%-14s %9d %7d %7d %7d %15d\n", name, n.refusable, n.refused, n.refusable-n.refused, n.benign, n.benignRefused)
	}
	for _, k := range slices.Sorted(maps.Keys(r.byKind)) {
		row(k, *r.byKind[k])
	}
	row("all", r.total())
	for _, part := range []struct {
		name  string
		lines []string
	}{{"missed", r.missed}, {"benign refused", r.annoying}, {"needs more than arguments", r.needs}, {"undecided", r.broken}} {
		for _, l := range part.lines {
			fmt.Fprintf(&b, "%s: %s\n", part.name, l)
		}
	}
	t.Log(b.String())
}

// require holds the report to at least these shares.
func (r report) require(t testing.TB, refused, allowed float64) {
	t.Helper()
	sum := r.total()
	require.Empty(t, r.broken, "calls that could not be decided")
	if sum.refusable > 0 {
		require.GreaterOrEqualf(t, float64(sum.refused)/float64(sum.refusable), refused, "refused %d of %d:\n%s", sum.refused, sum.refusable, strings.Join(r.missed, "\n"))
	}
	if sum.benign > 0 {
		require.GreaterOrEqualf(t, 1-float64(sum.benignRefused)/float64(sum.benign), allowed, "benign refused %d of %d:\n%s", sum.benignRefused, sum.benign, strings.Join(r.annoying, "\n"))
	}
}

func sharedFolder(t testing.TB, what string) string {
	t.Helper()
	dir := os.Getenv("REGOGATE_SHARED")
	if dir == "" {
		t.Skipf("REGOGATE_SHARED is not set: skipping %s", what)
	}
	return dir
}
