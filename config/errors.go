package config

import (
	"strconv"
	"strings"
)

// A Problem is one mistake in the configuration.
type Problem struct {
	File string // or the flag that the value came from
	Line int    // 1-based; 0 when the whole file, or a flag, is meant
	Key  string // "" when no key is meant
	What string // what is wrong
	Fix  string // what to do about it
}

// Where is file:line, the file, or the flag.
func (p Problem) Where() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// String is one line: where: key: what; what to do.
func (p Problem) String() string {
	s := p.Where() + ": "
	if p.Key != "" {
		s += p.Key + ": "
	}
	s += p.What
	if p.Fix != "" {
		s += "; " + p.Fix
	}
	return s
}

// An Error is everything that is wrong with a configuration, in the order of the file.
type Error struct {
	Problems []Problem
}

// Error has one line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}
