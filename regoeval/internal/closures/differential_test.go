package closures

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// setting reads a number from the environment.
func setting(t testing.TB, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	require.NoError(t, err, name)
	return n
}

// tally is what came of comparing the engines.
type tally struct {
	policies, unsupported, evaluations int
	refused                            int // by OPA
	denied, failed                     int // by topdown
	limits                             int // evaluations that topdown doesn't end in time
	asked                              int // closures say that something failed, topdown doesn't: topdown answers
	differences                        int
}

// compare evaluates one input with both engines, in both forms, and returns what
// differs, "" where nothing does.
//
// A difference is another value where nothing failed, or a failure that only topdown
// sees. A failure that only closures see is none: topdown is asked then. A panic is one
// always: nobody would notice that topdown decides in the end.
func (n *tally) compare(b *both, in map[string]any) string {
	want := b.topdown(in)
	n.evaluations++
	if want.limit {
		n.limits++
		return ""
	}
	switch {
	case want.failed:
		n.failed++
	case want.value != "set()":
		n.denied++
	}
	for form, input := range map[string]any{"JSON": in, "a document": tree(in)} {
		got := b.closures(input)
		if !got.panicked && got.failed && !want.failed || got.limit {
			n.asked++
			continue
		}
		if got.panicked || got.failed != want.failed || !want.failed && got.value != want.value {
			n.differences++
			raw, err := json.Marshal(in)
			return fmt.Sprintf("input %s (%v) as %s\ntopdown  %v\nclosures %v", raw, err, form, want, got)
		}
	}
	return ""
}

// TestDifferential compares with topdown on random policies and inputs. By default a
// few; REGOGATE_FUZZ_POLICIES says how many, REGOGATE_FUZZ_SECONDS for how long at
// most, REGOGATE_FUZZ_SEED which.
func TestDifferential(t *testing.T) {
	const inputs = 16
	count, seed := setting(t, "REGOGATE_FUZZ_POLICIES", 300), setting(t, "REGOGATE_FUZZ_SEED", 1)
	until := time.Now().Add(time.Duration(setting(t, "REGOGATE_FUZZ_SECONDS", 3600)) * time.Second)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	data := decoded(t, fuzzData)
	var n tally
	for n.policies < count && time.Now().Before(until) && n.differences < 10 {
		g := &policies{r: r}
		src := g.module()
		b, err := newBoth(src, data)
		for err != nil {
			less := without(src, err)
			if less == "" {
				break
			}
			src = less
			b, err = newBoth(src, data)
		}
		var u *UnsupportedError
		switch {
		case errors.As(err, &u):
			n.unsupported++
			continue
		case err != nil:
			n.refused++
			continue
		}
		n.policies++
		for range inputs {
			if what := n.compare(b, randomInput(r)); what != "" {
				t.Errorf("%s\n%s", src, what)
				break
			}
		}
	}
	t.Logf("seed %d: %d policies (and %d that are left to topdown, %d that OPA refuses), %d evaluations in two forms: %d differences (%d not ended by topdown); topdown denied %d and failed %d, and was asked %d times because closures failed",
		seed, n.policies, n.unsupported, n.refused, n.evaluations, n.differences, n.limits, n.denied, n.failed, n.asked)
	require.Positive(t, n.policies)
	require.Positive(t, n.denied)
	require.Positive(t, n.failed)
}
