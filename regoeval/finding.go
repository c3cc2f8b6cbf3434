package regoeval

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A Finding is one reason why a bundle can't be put in force.
type Finding struct {
	// ID is stable: programs match on it. See docs/contract.md for the list.
	ID string `json:"id"`
	// File, Line and Col say where; File is "" when the finding is about the bundle as a whole.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
	// Message says what is wrong, Fix what to do.
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// String is one line: file:line:col: id: message; fix.
func (f Finding) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, max(f.Col, 1))
		}
		b.WriteString(": ")
	}
	b.WriteString(f.ID + ": " + f.Message)
	if f.Fix != "" {
		b.WriteString("; " + f.Fix)
	}
	return b.String()
}

// A LoadError holds every finding about a bundle, in the order of files and lines.
type LoadError struct{ Findings []Finding }

// Error lists the findings, one a line.
func (e *LoadError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// findings collects what a loading step found.
type findings []Finding

func (fs *findings) add(id string, loc *ast.Location, fix, format string, args ...any) {
	f := Finding{ID: id, Message: fmt.Sprintf(format, args...), Fix: fix}
	if loc != nil {
		f.File, f.Line, f.Col = loc.File, loc.Row, loc.Col
	}
	*fs = append(*fs, f)
}

// err returns the findings as an error: sorted, each once; nil when there are none.
func (fs findings) err() error {
	if len(fs) == 0 {
		return nil
	}
	sorted := slices.Clone(fs)
	slices.SortFunc(sorted, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Message, b.Message))
	})
	return &LoadError{slices.Compact(sorted)}
}

// addOPA turns OPA's own errors into findings. OPA joins what it has to say in an
// ast.Errors; anything else is one finding without a place.
func (fs *findings) addOPA(id, fix string, err error) {
	var list ast.Errors
	if !errors.As(err, &list) {
		var one *ast.Error
		if !errors.As(err, &one) {
			fs.add(id, nil, fix, "%s", oneLine(err.Error()))
			return
		}
		list = ast.Errors{one}
	}
	for _, e := range list {
		fs.add(idOf(id, e), e.Location, fixOf(fix, e), "%s", oneLine(e.Code+": "+e.Message+details(e)))
	}
}

func details(e *ast.Error) string {
	if e.Details == nil {
		return ""
	}
	if lines := e.Details.Lines(); len(lines) > 0 {
		return " (" + strings.Join(lines, " ") + ")"
	}
	return ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// idOf tells a use of a built-in that bundles don't have from other compile errors.
func idOf(id string, e *ast.Error) string {
	if removedIn(e.Message) != "" {
		return idBuiltin
	}
	if strings.Contains(e.Message, "conflicting rule for data path") {
		return idDataDeny
	}
	return id
}

func fixOf(fix string, e *ast.Error) string {
	if name := removedIn(e.Message); name != "" {
		return builtinFix(name)
	}
	return fix
}

// removedIn returns the name of the built-in that OPA reports as undefined because
// this package took it away, "" when that isn't what the message says.
func removedIn(message string) string {
	_, name, ok := strings.Cut(message, "undefined function ")
	if !ok {
		return ""
	}
	name = strings.TrimSpace(name)
	if _, known := ast.BuiltinMap[name]; known {
		return name
	}
	return ""
}

// ParseError turns what OPA's reader says of a bundle into a *LoadError.
func ParseError(bundle string, err error) error {
	var fs findings
	fs.addOPA(idParse, "correct the file; opa check shows the same", err)
	for i := range fs {
		if fs[i].File == "" {
			fs[i].File = bundle
		}
	}
	return fs.err()
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
