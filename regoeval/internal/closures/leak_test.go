package closures

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaky reads the planted value in every way in which a program keeps state: slots,
// locals, remembered rules, parsed addresses and times, `with`, collections, errors.
const leaky = `package t
import rego.v2
mine := input.v
own contains x if some x in input.l
obj[k] := v if some k, v in input.o
f(x) := [x, mine]
deny contains $"{input.v} {mine}" if input.say == true
deny contains f(input.v) if input.say == true
deny contains own if input.say == true
deny contains obj if input.say == true
deny contains [x | some x in input.l; not x == "other"] if input.say == true
deny contains y if { input.say == true; y := mine with input.v as concat("", [input.v, "+"]) }
deny contains y if { input.say == true; y := [input.t, time.parse_rfc3339_ns(input.t)] }
deny contains "in" if { input.say == true; net.cidr_contains("10.0.0.0/8", input.ip) }
deny contains "late" if { input.say == true; to_number(input.late) > 0 }
`

func planted(id int, say bool) string {
	s := fmt.Sprintf(`{"v": "planted-%[1]d", "l": ["planted-%[1]d", "other"], "o": {"planted-%[1]d": "planted-%[1]d"}, "t": "2026-01-01T00:00:00Z", "ip": "10.0.0.1", "late": "%[1]d", "say": %[2]v}`, id, say)
	if id%3 == 0 { // some calls lack what others have, and some fail
		s = fmt.Sprintf(`{"v": "planted-%[1]d", "l": [], "late": "planted-%[1]d", "say": %[2]v}`, id, say)
	}
	return s
}

// Nothing of one call is seen by another: not in what rules say, and not in what a
// program keeps for its next call.
func TestNothingLeaksBetweenCalls(t *testing.T) {
	b := mustBoth(t, leaky, nil)
	const goroutines, calls = 64, 60
	want := make([]answer, goroutines)
	for id := range goroutines {
		want[id] = b.topdown(decoded(t, planted(id, true)))
		require.Contains(t, want[id].value, fmt.Sprintf("planted-%d", id))
	}
	var wg sync.WaitGroup
	for id := range goroutines {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var say, silent map[string]any
			if json.Unmarshal([]byte(planted(id, true)), &say) != nil || json.Unmarshal([]byte(planted(id, false)), &silent) != nil {
				t.Error("bad JSON")
				return
			}
			for i := range calls {
				if i%2 == 0 {
					if got := b.closures(tree(silent)); got.value != "set()" || got.failed {
						t.Errorf("%d: %v", id, got)
						return
					}
				}
				got := b.closures(tree(say))
				if got.value != want[id].value || got.failed != want[id].failed {
					t.Errorf("%d: got %v, want %v", id, got, want[id])
					return
				}
			}
		}()
	}
	wg.Wait()
	for range 2 * goroutines {
		e, _ := b.program.idle.Get().(*evaluation)
		if e == nil {
			return
		}
		e.program = nil // rules and constants
		for i := range e.frames {
			e.frames[i].eval = nil
		}
		require.NotContains(t, fmt.Sprintf("%+v", e), "planted", "what is kept for the next call")
	}
}

// A panic, the budget or the deadline leaves as little behind as an answer does.
func TestNothingLeaksAfterAFailure(t *testing.T) {
	b := mustBoth(t, "package t\nimport rego.v2\ndeny contains x if { some x in input.l; some y in input.l; x == y; to_number(x) > 0 }", nil)
	elems := make([]any, 100)
	for i := range elems {
		elems[i] = fmt.Sprintf("planted-%d", i)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, o := range []Options{{Steps: 50}, {FirstError: true}, {}} {
		for _, ctx := range []context.Context{context.Background(), ended} {
			b.program.Eval(ctx, map[string]any{"l": elems}, o)
			r := b.program.Eval(context.Background(), map[string]any{"l": []any{"1"}}, Options{})
			require.True(t, r.Clean(), "%v %v", r.Err, r.Errors)
			require.False(t, strings.Contains(fmt.Sprint(r.Value), "planted"))
			require.Equal(t, `{"1"}`, fmt.Sprint(r.Value))
		}
	}
}
