package regoeval

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
	"github.com/stretchr/testify/require"
)

// An operand is one value that a call could bring along, at most about 1 MB.
type operand struct {
	name  string
	value *ast.Term
}

const mega = 1_000_000

func repeated(s string) operand {
	return operand{fmt.Sprintf("%.12q repeated", s), ast.StringTerm(strings.Repeat(s, mega/len(s)))}
}

func text(s string) operand { return operand{fmt.Sprintf("%.20q", s), ast.StringTerm(s)} }

func number(s string) operand { return operand{s, ast.NewTerm(ast.Number(json.Number(s)))} }

func listOf(name string, n int, f func(int) any) operand {
	a := make([]any, n)
	for i := range a {
		a[i] = f(i)
	}
	return operand{"list of " + name, ast.NewTerm(ast.MustInterfaceToValue(a))}
}

func objectOf(name string, n int, f func(int) (string, any)) operand {
	o := map[string]any{}
	for i := range n {
		k, v := f(i)
		o[k] = v
	}
	return operand{"object of " + name, ast.NewTerm(ast.MustInterfaceToValue(o))}
}

func asSet(o operand) operand {
	set := ast.NewSet()
	o.value.Value.(*ast.Array).Foreach(func(t *ast.Term) { set.Add(t) })
	return operand{"set " + o.name, ast.NewTerm(set)}
}

func nested(n int) any {
	var v any = "x"
	for range n {
		v = []any{v}
	}
	return v
}

var (
	hostileTexts = []operand{
		text(""), repeated("a"), repeated("9"), repeated("("), repeated("%d"), repeated("{a,b}"), repeated("*"), repeated("/a"), repeated("é"), repeated("\x00"), repeated("QUFB"), repeated("a=1&"), repeated("%41"), repeated("1h"),
		text(strings.Repeat("9", mega) + "K"), text("1e999999999"), text("1e99999K"), text("0." + strings.Repeat("0", mega) + "1"), text("0x" + strings.Repeat("f", mega)),
		text("1." + strings.Repeat("9", mega) + ".0"), text("1.0.0-" + strings.Repeat("a.", mega/2) + "a"), text("2020-01-01T00:00:00." + strings.Repeat("1", mega) + "Z"),
		text("0.0.0.0/0"), text("::/0"), text("10.0.0.0/8"), text("http://" + strings.Repeat("a", mega) + "/?b=1"), text("Asia/Tokyo"), text("2020-01-01T00:00:00Z"),
	}
	hostileNumbers = []operand{
		number("0"), number("-1"), number("2"), number("64"), number("1000000"), number("2000000000"), number("9223372036854775807"), number("-9223372036854775808"),
		number(strings.Repeat("9", 64)), number("1e299"), number("-1e299"), number("1e-299"), number("0.1"), number("9007199254740993"),
	}
	hostileLists = []operand{
		listOf("nothing", 0, nil), listOf("ones", 500_000, func(int) any { return json.Number("1") }), listOf("falling numbers", 150_000, func(i int) any { return json.Number(strconv.Itoa(150_000 - i)) }),
		listOf("empty texts", 330_000, func(int) any { return "" }), listOf("texts", 110_000, func(i int) any { return strconv.Itoa(i) }), listOf("long texts", 2, func(i int) any { return strings.Repeat(strconv.Itoa(i), mega/2) }),
		listOf("lists", 330_000, func(int) any { return []any{} }), listOf("objects", 330_000, func(int) any { return map[string]any{} }), listOf("one deep list", 1, func(int) any { return nested(60) }),
		listOf("networks", 50_000, func(i int) any { return fmt.Sprintf("%d.%d.%d.0/24", i>>16&255, i>>8&255, i&255) }), listOf("all networks", 2, func(i int) any { return []any{"0.0.0.0/0", "::/0"}[i] }),
		listOf("paths", 100_000, func(i int) any { return "a/" + strconv.Itoa(i) }), listOf("deep paths", 2000, func(i int) any { return strings.Repeat("a/", 200) + strconv.Itoa(i) }),
		listOf("additions", 20_000, func(i int) any {
			return map[string]any{"op": "add", "path": "/" + strconv.Itoa(i), "value": json.Number("1")}
		}),
		listOf("copies", 20_000, func(int) any { return map[string]any{"op": "copy", "from": "", "path": "/a"} }), listOf("truths", 200_000, func(int) any { return true }),
		listOf("pairs", 60_000, func(i int) any { return []any{strconv.Itoa(i), strconv.Itoa(i)} }), listOf("long numbers", 15_000, func(int) any { return json.Number(strings.Repeat("9", 64)) }),
		listOf("a time and a zone", 2, func(i int) any { return []any{json.Number("1600000000000000000"), strings.Repeat("a", mega)}[i] }),
	}
	hostileSets    = []operand{asSet(hostileLists[0]), asSet(hostileLists[2]), asSet(hostileLists[4]), asSet(hostileLists[9]), asSet(hostileLists[10]), asSet(hostileLists[11]), asSet(hostileLists[12])}
	hostileObjects = []operand{
		objectOf("nothing", 0, nil), objectOf("numbers", 90_000, func(i int) (string, any) { return strconv.Itoa(i), json.Number("1") }), objectOf("lists", 70_000, func(i int) (string, any) { return strconv.Itoa(i), []any{"a"} }),
		objectOf("one long text", 1, func(int) (string, any) { return strings.Repeat("a", mega/2), strings.Repeat("b", mega/2) }), objectOf("one deep list", 1, func(int) (string, any) { return "a", nested(60) }),
		objectOf("a dense graph", 700, func(i int) (string, any) {
			to := make([]any, 200)
			for j := range to {
				to[j] = strconv.Itoa((i + j + 1) % 700)
			}
			return strconv.Itoa(i), to
		}),
		objectOf("two ways at each fork", 60, func(i int) (string, any) { return strconv.Itoa(i), []any{strconv.Itoa(i + 1), strconv.Itoa(i + 2)} }),
		objectOf("a chain", 50_000, func(i int) (string, any) { return strconv.Itoa(i), []any{strconv.Itoa(i + 1)} }),
	}
	authorsTexts = []operand{text(`^[a-z0-9/._-]{1,200}$`), text(`.*a.*b.*c`), text(`(?i)(password|token)\s*[:=]\s*\S+`), text(`*a*b*c*`), text(`a/**`), text(", "), text("%s and %v")}
	authorsMap   = []operand{objectOf("replacements", 3, func(i int) (string, any) { return []string{"<", ">", "&"}[i], "&x;" })}
)

// candidates returns hostile operands of a type.
func candidates(t types.Type) []operand {
	switch t := t.(type) {
	case *types.NamedType:
		return candidates(t.Type)
	case types.String:
		return hostileTexts
	case types.Number:
		return hostileNumbers
	case types.Boolean:
		return []operand{{"true", ast.BooleanTerm(true)}}
	case types.Null:
		return []operand{{"null", ast.NullTerm()}}
	case *types.Array:
		return hostileLists
	case *types.Set:
		return hostileSets
	case *types.Object:
		return hostileObjects
	case types.Any:
		if len(t) == 0 {
			return append(append(append(append(hostileTexts[:4:4], hostileNumbers[6:9]...), hostileLists...), hostileSets...), hostileObjects...)
		}
		var out []operand
		for _, m := range t {
			out = append(out, candidates(m)...)
		}
		return out
	}
	panic(fmt.Sprintf("%T", t))
}

// combinations takes every candidate of every operand at least once, beside others
// that change along.
func combinations(b *ast.Builtin) [][]operand {
	var lists [][]operand
	for i, a := range b.Decl.NamedFuncArgs().Args {
		c := candidates(a)
		for _, own := range authorsOperands[b.Name] {
			if own.index == i && b.Name == "strings.replace_n" {
				c = authorsMap
			} else if own.index == i {
				c = authorsTexts
			}
		}
		lists = append(lists, c)
	}
	longest := 1
	for _, c := range lists {
		longest = max(longest, len(c))
	}
	var out [][]operand
	for turn := range 2 {
		for i := range longest {
			ops := make([]operand, len(lists))
			for j, c := range lists {
				ops[j] = c[(i+j*turn*7)%len(c)]
			}
			out = append(out, ops)
			if len(lists) < 2 && turn > 0 {
				return out
			}
		}
	}
	return out
}

// Every built-in that bundles get comes back in bounded time, whatever 1 MB of
// operands a call brings along: that the deadline can't cut one short is made up for
// by none of them taking long. What is compared slowly is kept out by checkNumbers;
// operands that have to be the author's are so here.
func TestHostileOperands(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("-short, or the race detector, which slows this down tenfold: skipping hostile operands")
	}
	caps, err := capabilities(nil)
	require.NoError(t, err)
	rs := ruleset(t, "package tools.x\n\ndeny contains \"never\" if false")
	calls := 0
	for _, b := range caps.Builtins {
		if b.IsDeprecated() || b.Decl == nil {
			continue
		}
		slowest, most := time.Duration(0), uint64(0)
		for _, ops := range combinations(b) {
			took, alloc, what := callHostile(t, rs, b, ops)
			calls++
			slowest, most = max(slowest, took), max(most, alloc)
			if took > maxTime || alloc > maxAlloc {
				t.Errorf("%s: %v, %d MB", what, took.Round(time.Millisecond), alloc>>20)
				break
			}
		}
		if slowest > 500*time.Millisecond || most > 128<<20 {
			t.Logf("%s: %v, %d MB", b.Name, slowest.Round(time.Millisecond), most>>20)
		}
	}
	t.Logf("%d calls of %d built-ins", calls, len(caps.Builtins))
}

// What is measured on two quiet cores is about 1 s and 160 MB; the rest is for a busy machine.
const maxTime, maxAlloc = 8 * time.Second, 512 << 20

// callHostile calls one built-in as a rule does, under a deadline of a second. It
// returns how long it took, how many bytes it allocated, and what was called.
func callHostile(t *testing.T, rs *Ruleset, b *ast.Builtin, ops []operand) (time.Duration, uint64, string) {
	terms := []*ast.Term{ast.NewTerm(b.Ref())}
	if slices.Contains(bounded, b.Name) {
		terms[0] = ast.NewTerm(ast.Ref{ast.VarTerm(boundedName(b.Name))})
	}
	var names []string
	for _, o := range ops {
		terms = append(terms, o.value)
		names = append(names, o.name)
	}
	if b.Decl.Result() != nil {
		terms = append(terms, ast.VarTerm("out"))
	}
	what := b.Name + "(" + strings.Join(names, ", ") + ")"
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := time.Now()
	done := make(chan error, 1)
	go func() {
		_, err := rs.evaluate(ctx, ast.NewBody(&ast.Expr{Terms: terms}), ast.NewTerm(ast.NewObject()))
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			require.NotContains(t, err.Error(), "panicked", what)
		}
	case <-time.After(10 * maxTime):
		require.Fail(t, "still running: "+what)
	}
	took := time.Since(started)
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc, what
}
