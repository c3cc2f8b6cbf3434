package inputschema

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxPatternSize and maxPatternsSize bound the instructions of one pattern and of
	// all patterns of a schema. Repetition makes a program of megabytes out of a few
	// characters.
	maxPatternSize  = 20_000
	maxPatternsSize = 100_000
	// matchesPerUnit is how many instructions a match may try for one unit. One took
	// up to 15 ns when measured.
	matchesPerUnit = 48
)

// A pattern is a compiled regular expression and how large its program is at most.
type pattern struct {
	re   *regexp.Regexp
	size int
}

// A countedPattern charges for its matches. It is what the engine uses.
type countedPattern struct {
	*pattern
	budget *budget
}

func (p countedPattern) String() string { return p.re.String() }

// MatchString charges what a match costs at worst: all of the program for each byte.
func (p countedPattern) MatchString(s string) bool {
	p.budget.spend(p.size * len(s) / matchesPerUnit)
	return p.re.MatchString(s)
}

// regexpEngine compiles patterns, once for all copies of a schema: the first one
// fills e.patterns.
func (e *engine) regexpEngine(first bool) jsonschema.RegexpEngine {
	total := 0
	return func(source string) (jsonschema.Regexp, error) {
		if p, ok := e.patterns[source]; ok {
			return countedPattern{p, e.budget}, nil
		}
		tree, err := syntax.Parse(source, syntax.Perl)
		if err != nil {
			return nil, err
		}
		size := patternSize(tree)
		if total += size; size > maxPatternSize || total > maxPatternsSize {
			return nil, errors.New("the pattern is too large, or there are too many: repeat less")
		}
		re, err := regexp.Compile(source)
		if err != nil {
			return nil, err
		}
		p := &pattern{re, size}
		if first {
			e.patterns[source] = p
		}
		return countedPattern{p, e.budget}, nil
	}
}

// patternSize estimates, from above, the instructions of a pattern's program without
// making it.
func patternSize(re *syntax.Regexp) int {
	size := 1
	switch re.Op {
	case syntax.OpLiteral:
		size = max(1, len(re.Rune))
	case syntax.OpCharClass:
		size += len(re.Rune) / 8 // a large class costs more to match
	}
	for _, sub := range re.Sub {
		size += 1 + patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		times := re.Max
		if times < 0 {
			times = re.Min + 1
		}
		size *= max(1, times)
	}
	return min(size, 1<<30)
}
