package closures

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is covered, and what has to be left to package regexp.
func TestTextTestCovers(t *testing.T) {
	for _, p := range []string{``, `a`, `/\.`, `\.(pdf|csv|html)$`, `^/reports/`, `^(GET|PUT|POST)$`, `^a?b$`, `^[ab]c`, `^[a-z.]+@ours\.example$`, `^[0-9]*$`, `^x-([a-f0-9]{8})$`, `^[a-z]{2,5}z$`, `^id:[0-9]{3,}$`, `\Aa\z`, `(?:a|bc)`} {
		require.NotNil(t, textTest(p), p)
	}
	for _, p := range []string{`(`, `(?i)a`, `(?m)^a$`, `a+`, `[a-z]+`, `^[a-z]+`, `[a-z]+$`, `^.*$`, `^\pL+$`, `^[^a]+$`, `é`, `^[a-z]+[0-9]+$`, `^(ab)+$`, `^a|b$`, `\bword\b`, `^(a|b)[0-9]+$`, `(^a|b)`, `a$b`, `^[a-z]+(x|y)$`, `[^\n]`, `[a-zA-Z]`, `^(?i:abc)$`, `^^*a`, `(?s).`} {
		require.Nil(t, textTest(p), p)
	}
}

// randomPattern makes an expression of a few pieces, most of a kind that is covered.
func randomPattern(r *rand.Rand) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	var b strings.Builder
	b.WriteString(pick("", "^", "^", `\A`, "(?i)", "(?m)^", "^^"))
	for range r.IntN(4) {
		b.WriteString(pick("a", "ab", `\.`, "é", "(a|b)", "(ab|a|)", "a?", "[ab]", "[a-c]+", "[^a]", "[ab.]*", ".", ".*", "[a-c]{1,3}", "[a-c]{2,}", "[b]{2}", "(?:a|bc|b)", "([ab])+", "$", "^", `\b`, "[ké]", "(?i:b)", "A|b", "+", "*", "[a-c]+?", `\x61`, `\Qa.b\E`, "\ufffd"))
	}
	b.WriteString(pick("", "$", "$", `\z`, "$$", "?"))
	return b.String()
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(7) {
		b.WriteString([]string{"a", "b", "c", "ab", ".", "\n", "é", "A", "K", "\xff", "\xc3", "x", "\ufffd", " "}[r.IntN(14)])
	}
	return b.String()
}

func TestTextTestAgreesWithRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	covered := 0
	for range 60_000 {
		p := randomPattern(r)
		test := textTest(p)
		if test == nil {
			continue
		}
		covered++
		re, err := regexp.Compile(p)
		require.NoError(t, err, p)
		for range 12 {
			if s := randomText(r); re.MatchString(s) != test(s) {
				require.Fail(t, "they differ", "%q on %q: regexp says %v", p, s, re.MatchString(s))
			}
		}
	}
	require.Greater(t, covered, 5_000, fmt.Sprint(covered, " patterns were covered"))
}

func FuzzTextTest(f *testing.F) {
	for _, p := range []string{`\.(pdf|csv|html)$`, `^[a-z.]+@ours\.example$`, `^(GET|PUT)$`, `^x[a-f0-9]{2,4}$`, `/\.`} {
		f.Add(p, "/reports/a.pdf")
		f.Add(p, "ann.b@ours.example")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		test := textTest(pattern)
		if test == nil {
			return
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return // the built-in reports it: see matches
		}
		require.Equal(t, re.MatchString(text), test(text), "%q on %q", pattern, text)
	})
}
