package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/regoeval"
)

// A usage is a mistake on the command line.
type usage struct{ what, where, fix string }

// Error implements error.
func (u usage) Error() string {
	s := u.what
	if u.where != "" {
		s += ": " + u.where
	}
	if u.fix != "" {
		s += ": " + u.fix
	}
	return s
}

// printError says what went wrong, one line for each thing that did. Findings about
// policy files begin with file:line:col, so that editors can jump there.
func printError(w io.Writer, err error) {
	var (
		mistakes *config.Error
		findings *regoeval.LoadError
	)
	switch {
	case errors.As(err, &mistakes):
		for _, p := range mistakes.Problems {
			fmt.Fprintln(w, "regogate: configuration: "+oneLine(p.String()))
		}
	case errors.As(err, &findings):
		for _, f := range findings.Findings {
			fmt.Fprintln(w, oneLine(f.String()))
		}
	default:
		fmt.Fprintln(w, "regogate: "+oneLine(err.Error()))
	}
}

// oneLine keeps text that somebody else had a hand in on one line, and harmless on a
// terminal. A stack trace, which follows its message on lines of its own, is left out.
func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\ngoroutine ")
	s = strings.Join(strings.Fields(s), " ")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
