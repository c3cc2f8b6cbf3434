package regoeval

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/version"
)

// What goes wrong in an evaluation is told in this package's own words. OPA's texts
// quote operands, and conflicting values, which are the arguments of the call; these
// go into the operator's log, where arguments have no place unless somebody put them
// there on purpose.

// builtinFailure says which built-ins failed and where, the first few of them.
func builtinFailure(failures []topdown.Error) error {
	const shown = 3
	lines := make([]string, 0, shown+1)
	for i := range failures {
		if i == shown {
			lines = append(lines, fmt.Sprintf("and %d more", len(failures)-shown))
			break
		}
		lines = append(lines, at(&failures[i], builtinText(&failures[i])))
	}
	return errors.New("a built-in failed: " + strings.Join(lines, "; "))
}

// describe says what stopped an evaluation.
func describe(err error) error {
	var e *topdown.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("the evaluation failed: %T", err)
	}
	text := "the evaluation failed"
	switch e.Code {
	case topdown.ConflictErr:
		text = "a rule or an object has two values"
	case topdown.BuiltinErr, topdown.TypeErr:
		text = builtinText(e)
	case topdown.WithMergeErr:
		text = "`with` can't put a value there"
	case topdown.CancelErr:
		text = "it was stopped"
	}
	return errors.New(at(e, text))
}

func at(e *topdown.Error, text string) string {
	where := ""
	if e.Location != nil && e.Location.File != "" {
		where = fmt.Sprintf("%s:%d: ", e.Location.File, e.Location.Row)
	}
	return where + e.Code + ": " + text
}

// typeText is what OPA says of an operand of another type: nothing but the names of
// types.
var typeText = regexp.MustCompile(`^operand [0-9]+ must be (?:(?:one|any|of|an?|but|got|containing|string|number|boolean|array|object|set|null|integer|unsigned|negative|floating-point|strings|numbers|booleans|arrays|objects|sets|nulls)|[{}(), ])+$`)

// builtinText is the built-in's name and, where that quotes nothing, what it says.
func builtinText(e *topdown.Error) string {
	name, says, _ := strings.Cut(e.Message, ": ")
	if _, known := ast.BuiltinMap[name]; !known {
		return "a built-in failed"
	}
	if e.Code == topdown.TypeErr && typeText.MatchString(says) {
		return name + ": " + says
	}
	return name
}

// panicked describes a panic of OPA's evaluator: where it happened, and what kind of
// value it was. The value itself may hold an argument.
func panicked(p any) error {
	what := fmt.Sprintf("%T", p)
	if e, ok := p.(runtime.Error); ok {
		what = e.Error()
	}
	return fmt.Errorf("OPA %s panicked: %s%s", version.Version, what, panicSite())
}

// panicSite returns the function in which the panic that is being recovered began.
func panicSite() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	after := false
	for {
		f, more := frames.Next()
		if after && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf(" in %s, line %d", f.Function, f.Line)
		}
		after = after || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
