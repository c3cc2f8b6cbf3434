package closures

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// textTest returns a test that holds for exactly those texts in which a regular
// expression matches, where comparing texts is all that it takes, and nil for every other
// expression. Two kinds are covered, which make up most of what policies match:
//
//   - a few fixed texts, with or without ^ and $: \.(pdf|csv)$ or ^/reports/
//   - ^, a fixed text, any number of characters of one ASCII class, a fixed text, $:
//     ^[a-z0-9.]+@ours\.example$
//
// The expression is read by package regexp's own parser, and whatever it holds beside
// these, a flag for one, is not covered.
func textTest(pattern string) func(string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	parts := sequence(re, nil)
	begins, ends := false, false
	if len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		begins, parts = true, parts[1:]
	}
	if n := len(parts); n > 0 && parts[n-1].Op == syntax.OpEndText {
		ends, parts = true, parts[:n-1]
	}
	if words, ok := product(parts); ok {
		return fixedTexts(words, begins, ends)
	}
	if begins && ends {
		return oneClass(parts)
	}
	return nil
}

// sequence appends the parts of re that follow one another.
func sequence(re *syntax.Regexp, to []*syntax.Regexp) []*syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture:
		return sequence(re.Sub[0], to)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			to = sequence(sub, to)
		}
		return to
	case syntax.OpEmptyMatch:
		return to
	default:
		return append(to, re)
	}
}

// maxWords is how many texts an expression may stand for. Beyond it package regexp does better.
const maxWords = 16

// words lists the texts that re stands for; false if it stands for others than fixed ones.
func words(re *syntax.Regexp) ([]string, bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpLiteral:
		s := string(re.Rune)
		return []string{s}, re.Flags&syntax.FoldCase == 0 && isASCII(s)
	case syntax.OpCharClass:
		return classWords(re.Rune)
	case syntax.OpCapture:
		return words(re.Sub[0])
	case syntax.OpQuest:
		out, ok := words(re.Sub[0])
		return append([]string{""}, out...), ok && len(out) < maxWords
	case syntax.OpConcat:
		return product(re.Sub)
	case syntax.OpAlternate:
		var out []string
		for _, sub := range re.Sub {
			more, ok := words(sub)
			if out = append(out, more...); !ok || len(out) > maxWords {
				return nil, false
			}
		}
		return out, true
	default:
		return nil, false
	}
}

// product lists the texts that parts stand for one after the other.
func product(parts []*syntax.Regexp) ([]string, bool) {
	out := []string{""}
	for _, p := range parts {
		more, ok := words(p)
		if !ok || len(out)*len(more) > maxWords {
			return nil, false
		}
		var next []string
		for _, a := range out {
			for _, b := range more {
				next = append(next, a+b)
			}
		}
		out = next
	}
	return out, true
}

func classWords(ranges []rune) (out []string, ok bool) {
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i+1] >= utf8.RuneSelf || int(ranges[i+1]-ranges[i])+len(out) >= maxWords {
			return nil, false
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			out = append(out, string(r))
		}
	}
	return out, len(out) > 0
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// fixedTexts tests for one of words: the whole text, its beginning, its end, or any part.
func fixedTexts(words []string, begins, ends bool) func(string) bool {
	test := strings.Contains
	switch {
	case begins && ends:
		test = func(s, word string) bool { return s == word }
	case begins:
		test = strings.HasPrefix
	case ends:
		test = strings.HasSuffix
	}
	if len(words) == 1 {
		word := words[0]
		return func(s string) bool { return test(s, word) }
	}
	return func(s string) bool {
		for _, word := range words {
			if test(s, word) {
				return true
			}
		}
		return false
	}
}

// oneClass tests whole texts for a fixed beginning, characters of one class, and a fixed
// end. Each character of the class is one byte, so that bytes can be counted.
func oneClass(parts []*syntax.Regexp) func(string) bool {
	at := slices.IndexFunc(parts, func(p *syntax.Regexp) bool {
		return p.Op == syntax.OpPlus || p.Op == syntax.OpStar || p.Op == syntax.OpRepeat
	})
	if at < 0 {
		return nil
	}
	first, ok1 := product(parts[:at])
	last, ok2 := product(parts[at+1:])
	class := parts[at].Sub[0]
	for class.Op == syntax.OpCapture {
		class = class.Sub[0]
	}
	if !ok1 || !ok2 || len(first) != 1 || len(last) != 1 || class.Op != syntax.OpCharClass {
		return nil
	}
	var in [utf8.RuneSelf]bool
	for i := 0; i < len(class.Rune); i += 2 {
		if class.Rune[i+1] >= utf8.RuneSelf {
			return nil
		}
		for r := class.Rune[i]; r <= class.Rune[i+1]; r++ {
			in[r] = true
		}
	}
	least, most := times(parts[at])
	begin, end := first[0], last[0]
	return func(s string) bool {
		n := len(s) - len(begin) - len(end)
		if n < least || most >= 0 && n > most || s[:len(begin)] != begin || s[len(s)-len(end):] != end {
			return false
		}
		for _, c := range []byte(s[len(begin) : len(begin)+n]) {
			if c >= utf8.RuneSelf || !in[c] {
				return false
			}
		}
		return true
	}
}

// times is how often a repetition repeats; most is negative where there is no bound.
func times(re *syntax.Regexp) (least, most int) {
	switch re.Op {
	case syntax.OpPlus:
		return 1, -1
	case syntax.OpStar:
		return 0, -1
	default:
		return re.Min, re.Max
	}
}
