package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/regogate/regogate/policy"
)

// choose finds, among the calls that the rule doesn't hold for, the one that differs
// least from the call that it refused.
func (r *RuleCalls) choose() {
	refused, least := decode(r.Refused.Arguments), math.Inf(1)
	for i, c := range r.others {
		if c.Tool != r.Refused.Tool {
			continue
		}
		if d := distance(refused, decode(c.Arguments)); d < least {
			r.Nearest, least = &r.others[i], d
		}
	}
}

func decode(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil { // what was generated is JSON
		return nil
	}
	return v
}

// distance says how much two values differ: what is only in one of them, or of another
// kind, counts 2, and two texts or numbers from 1 to 2, as far as they are apart.
func distance(a, b any) float64 {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return 2
		}
		d := 0.0
		for name, v := range x {
			if w, both := y[name]; both {
				d += distance(v, w)
			} else {
				d += 2
			}
		}
		for name := range y {
			if _, both := x[name]; !both {
				d += 2
			}
		}
		return d
	case []any:
		y, ok := b.([]any)
		if !ok {
			return 2
		}
		d := 2 * math.Abs(float64(len(x)-len(y)))
		for i := range min(len(x), len(y)) {
			d += distance(x[i], y[i])
		}
		return d
	case json.Number:
		if y, ok := b.(json.Number); ok && x != y {
			f, err1 := x.Float64()
			g, err2 := y.Float64()
			if apart := math.Abs(f - g); err1 == nil && err2 == nil && !math.IsInf(apart, 0) {
				return 1 + apart/(1+apart)
			}
			return 2
		}
	case string:
		if y, ok := b.(string); ok && x != y {
			return 2 - float64(common(x, y))/float64(1+max(len(x), len(y)))
		}
	}
	if a == b {
		return 0
	}
	return 2
}

// common counts what two texts have in common at the start and at the end.
func common(a, b string) int {
	n := min(len(a), len(b))
	front := 0
	for front < n && a[front] == b[front] {
		front++
	}
	back := 0
	for back < n-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	return front + back
}

// WriteText writes the answer for people.
func (g Generated) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, r := range g.Rules {
		where := fmt.Sprintf("%s:%d: %s of package %s", plain(r.File), r.Line, plain(r.Name), plain(r.Package))
		switch {
		case r.Hits == 0 && r.FailedAt > 0:
			fmt.Fprintf(&b, "%s: never hit: no call gets past line %d\n", where, r.FailedAt)
			continue
		case r.Hits == 0:
			fmt.Fprintf(&b, "%s: never hit: no call reaches it\n", where)
			continue
		}
		fmt.Fprintf(&b, "%s: holds for %d calls\n", where, r.Hits)
		fmt.Fprintf(&b, "    holds for  %s %s\n", plain(r.Refused.Tool), short(r.Refused.Arguments))
		if r.Nearest != nil {
			fmt.Fprintf(&b, "    and not for %s %s\n", plain(r.Nearest.Tool), short(r.Nearest.Arguments))
		} else {
			b.WriteString("    and for every other generated call\n")
		}
	}
	for _, t := range g.Tools {
		fmt.Fprintf(&b, "tool %s: %d calls, %d allowed", plain(t.Tool), t.Calls, t.Allowed)
		for _, code := range sortedCodes(t.Codes) {
			fmt.Fprintf(&b, ", %d %s", t.Codes[code], code)
		}
		b.WriteByte('\n')
		if t.Undecided != nil {
			fmt.Fprintf(&b, "    undecided: %s: %s\n", short(t.Undecided), plain(t.Why))
		} else if t.Why != "" {
			fmt.Fprintf(&b, "    %s\n", plain(t.Why))
		}
	}
	fmt.Fprintf(&b, "%d calls generated with seed %d; %d of %d rules were hit\n", g.Calls, g.Seed, len(g.Rules)-len(g.Never()), len(g.Rules))
	_, err := io.WriteString(w, b.String())
	return err
}

func sortedCodes(m map[policy.Code]int) []policy.Code { return slices.Sorted(maps.Keys(m)) }

func short(raw []byte) string {
	s := []rune(plain(string(raw)))
	const most = 200
	if len(s) > most {
		return string(s[:most]) + "…"
	}
	return string(s)
}
