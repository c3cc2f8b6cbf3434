package strictjson_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

func nested(depth int, open, inner, shut string) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(shut, depth)
}

// manyNames returns an object of n different names; with last, its last name is that.
func manyNames(n int, pattern, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"`+pattern+`":0,`, i)
	}
	fmt.Fprintf(&b, `%q:0}`, last)
	return b.String()
}

func TestLimits(t *testing.T) {
	const size = 1 << 20
	digits := func(n int) string { return strings.Repeat("7", n) }
	text := func(n int) string { return `"` + strings.Repeat("a", n-2) + `"` }
	raised := strictjson.Limits{Bytes: 64 << 20, Depth: 1000, NumberLength: 1 << 20}
	for _, test := range []struct {
		label  string
		input  string
		limits strictjson.Limits
		reason strictjson.Reason
	}{
		{"default size", text(size), strictjson.Limits{}, ""},
		{"default size, one more", text(size + 1), strictjson.Limits{}, strictjson.ReasonSize},
		{"white space counts", "{}" + strings.Repeat(" ", size-1), strictjson.Limits{}, strictjson.ReasonSize},
		{"small size", `[1]`, strictjson.Limits{Bytes: 3}, ""},
		{"small size, one more", `[1] `, strictjson.Limits{Bytes: 3}, strictjson.ReasonSize},
		{"raised size", text(64 << 20), raised, ""},
		{"raised size, one more", text(64<<20 + 1), raised, strictjson.ReasonSize},

		{"default depth of arrays", nested(64, "[", "", "]"), strictjson.Limits{}, ""},
		{"default depth of arrays, one more", nested(65, "[", "", "]"), strictjson.Limits{}, strictjson.ReasonDepth},
		{"default depth with a scalar", nested(64, "[", "1", "]"), strictjson.Limits{}, ""},
		{"default depth of objects", nested(64, `{"a":`, "1", "}"), strictjson.Limits{}, ""},
		{"default depth of objects, one more", nested(64, `{"a":`, "{}", "}"), strictjson.Limits{}, strictjson.ReasonDepth},
		{"default depth of both", nested(32, `[{"a":`, "1", "}]"), strictjson.Limits{}, ""},
		{"default depth of both, one more", nested(32, `[{"a":`, "[]", "}]"), strictjson.Limits{}, strictjson.ReasonDepth},
		{"side by side isn't deep", "[" + strings.Repeat("[[]],", 1000) + "0]", strictjson.Limits{Depth: 3}, ""},
		{"a scalar has no depth", `1`, strictjson.Limits{Depth: 1}, ""},
		{"depth of one", `[1]`, strictjson.Limits{Depth: 1}, ""},
		{"depth of one, one more", `[[]]`, strictjson.Limits{Depth: 1}, strictjson.ReasonDepth},
		{"raised depth", nested(1000, "[", "", "]"), raised, ""},
		{"raised depth, one more", nested(1001, "[", "", "]"), raised, strictjson.ReasonDepth},
		{"greatest depth", nested(10_000, "[", "", "]"), strictjson.Limits{Depth: 1 << 30}, ""},
		{"greatest depth, one more", nested(10_001, "[", "", "]"), strictjson.Limits{Depth: 1 << 30}, strictjson.ReasonDepth},

		{"default number", digits(64), strictjson.Limits{}, ""},
		{"default number, one more", digits(65), strictjson.Limits{}, strictjson.ReasonNumberLength},
		{"the sign counts", "-" + digits(63), strictjson.Limits{}, ""},
		{"the sign counts, one more", "-" + digits(64), strictjson.Limits{}, strictjson.ReasonNumberLength},
		{"the exponent counts", "1e+" + strings.Repeat("0", 61), strictjson.Limits{}, ""},
		{"the exponent counts, one more", "1e+" + strings.Repeat("0", 62), strictjson.Limits{}, strictjson.ReasonNumberLength},
		{"the fraction counts, one more", "1." + digits(63), strictjson.Limits{}, strictjson.ReasonNumberLength},
		{"a short number", `12`, strictjson.Limits{NumberLength: 2}, ""},
		{"a short number, one more", `123`, strictjson.Limits{NumberLength: 2}, strictjson.ReasonNumberLength},
		{"digits in a string don't count", text(1000), strictjson.Limits{NumberLength: 2}, ""},
		{"long and finite", digits(308), raised, ""},
		{"long and infinite", digits(310), raised, strictjson.ReasonNumberRange},
		{"long and small", "0." + strings.Repeat("0", 320) + "5", raised, ""},
		{"long and wrongly zero", "0." + strings.Repeat("0", 330) + "5", raised, strictjson.ReasonNumberRange},
		{"long and zero", "0." + strings.Repeat("0", 1000), raised, ""},
		{"long and shifted back", "0." + strings.Repeat("0", 1000) + "5e1001", raised, ""},
		{"long and shifted down", digits(10_000) + "e-9999", raised, ""},
		{"an exponent that ParseFloat reads in part", digits(10_100) + "e-1000000", raised, strictjson.ReasonNumberRange},
		{"an exponent with leading zeros", "1e" + strings.Repeat("0", 1000) + "300", raised, ""},

		{"negative size", `{}`, strictjson.Limits{Bytes: -1}, strictjson.ReasonLimits},
		{"negative depth", `{}`, strictjson.Limits{Depth: -1}, strictjson.ReasonLimits},
		{"negative number length", `{}`, strictjson.Limits{NumberLength: -1}, strictjson.ReasonLimits},
	} {
		t.Run(test.label, func(t *testing.T) {
			require.Equal(t, test.reason, reasonOf(t, test.input, test.limits))
		})
	}
}

// Names are compared in two ways, one for small objects and one for large ones: the
// rule must hold on both sides of the change and across it.
func TestNamesClashInObjectsOfAnySize(t *testing.T) {
	for _, n := range []int{1, 2, 14, 15, 16, 17, 18, 100} {
		for _, pattern := range []string{"name%d", "Name%d", "na\u212ae%d", "\u00c9%d"} {
			first, last := fmt.Sprintf(pattern, 0), fmt.Sprintf(pattern, n-1)
			require.Empty(t, reasonOf(t, manyNames(n, pattern, "other"), strictjson.Limits{}))
			for _, name := range []string{first, last} {
				require.Equal(t, strictjson.ReasonDuplicateName,
					reasonOf(t, manyNames(n, pattern, name), strictjson.Limits{}), "%d %s", n, name)
				for _, variant := range []string{strings.ToUpper(name), strings.ToLower(name), name + "\x00"} {
					if variant == name {
						continue
					}
					input := strings.Replace(manyNames(n, pattern, variant), `\x00`, `\u0000`, 1)
					require.Equal(t, strictjson.ReasonConfusableNames, reasonOf(t, input, strictjson.Limits{}), "%d %q", n, variant)
				}
			}
		}
	}
}

// Each of these takes milliseconds when the work is linear, and far longer than the
// bound when it is quadratic in the number of bytes or of names.
func TestHostileInputIsReadInLinearTime(t *testing.T) {
	const size = 1 << 20
	wide := strictjson.Limits{Bytes: 16 << 20, Depth: 10_000, NumberLength: 4 << 20}
	object := func(pattern string) string { return manyNames(300_000, pattern, "last") }
	for _, test := range []struct {
		label    string
		input    string
		accepted bool
	}{
		{"names", object("k%d"), true},
		{"names in upper case", object("K%d"), true},
		{"names outside ASCII", object("\u00c9%d"), true},
		{"names with escapes", object(`\u212a%d`), true},
		{"names and one again", manyNames(300_000, "k%d", "K0"), false},
		{"open arrays", strings.Repeat("[", size), false},
		{"open objects", strings.Repeat(`{"a":`, size/5), false},
		{"deep and wide", "[" + strings.Repeat(nested(100, "[", "", "]")+",", 5000) + "0]", true},
		{"a number", strings.Repeat("7", size), false},
		{"a number with an exponent", strings.Repeat("7", size) + "e-9999", false},
		{"a small number with an exponent", "0." + strings.Repeat("0", size) + "7e9999", false},
		{"an exponent", "1e" + strings.Repeat("9", size), false},
		{"a zero", "0." + strings.Repeat("0", size), true},
		{"a string", `"` + strings.Repeat("a", size) + `"`, true},
		{"a string with escapes", `"` + strings.Repeat(`\u00e9`, size/6) + `"`, true},
		{"an open string", `"` + strings.Repeat(`a`, size), false},
		{"a name", `{"` + strings.Repeat("\u00e9", size/2) + `":1,"` + strings.Repeat("\u00c9", size/2) + `":1}`, false},
		{"long names alike but for their ends", manyNames(16, strings.Repeat("\u00c9", size/40)+"%d", "last"), true},
		{"long strings with escapes after one another",
			"[" + strings.Repeat(`"\n`+strings.Repeat("a", 1000)+`",`, 1000) + "0]", true},
		{"many small objects", "[" + strings.Repeat(`{"a":0},`, size/8) + "0]", true},
		{"white space", strings.Repeat(" ", size) + "[]" + strings.Repeat("\n", size), true},
		{"failing deep inside long names",
			nested(20, `{"`+strings.Repeat("n", size/20)+`":`, "x", "}"), false},
	} {
		t.Run(test.label, func(t *testing.T) {
			start := time.Now()
			_, err := strictjson.Parse([]byte(test.input), wide)
			took := time.Since(start)
			require.Equal(t, test.accepted, err == nil, "%v", err)
			require.Less(t, took, 10*time.Second)
			t.Log(took)
		})
	}
}
