package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval"
)

// A Severity says what a finding means for the bundle.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // something doesn't do what it is there for
	Warning Severity = "warning" // something may not
)

// The ids of findings, beside those of the load-time contract. They are part of the API:
// docs/verify.md explains each.
const (
	idElement    = "deny-element"
	idSilent     = "silent"
	idUncovered  = "tool-uncovered"
	idUnusable   = "tool-schema"
	idTwice      = "tool-twice"
	idUnused     = "package-unused"
	idUnreached  = "rule-unreached"
	idDrift      = "pin-drift"
	idPinMissing = "pin-missing"
	idUnpinned   = "tool-unpinned"
	idMessage    = "message-value"
	idList       = "list-lookup"
	idPatterns   = "many-patterns"
	idDefault    = "default-hides-data"
	idLog        = "log-name"
)

// A Finding is one thing to look at.
type Finding struct {
	// ID is stable: programs match on it. See docs/verify.md and docs/contract.md.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// File, Line and Col say where; File is "" when it is about the bundle as a whole.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
	// Server and Tool say for which tool it is so; "" when for none in particular.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Message says what is wrong, Fix what to do.
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// String is one line: file:line:col: severity: id: tool: message; fix.
func (f Finding) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, max(f.Col, 1))
		}
		b.WriteString(": ")
	}
	fmt.Fprintf(&b, "%s: %s: ", f.Severity, f.ID)
	if f.Tool != "" {
		fmt.Fprintf(&b, "tool %q: ", f.Tool)
	}
	b.WriteString(f.Message)
	if f.Fix != "" {
		b.WriteString("; " + f.Fix)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// findings collects what was found.
type findings []Finding

func (fs *findings) add(f Finding, at *ast.Location) {
	if at != nil {
		f.File, f.Line, f.Col = at.File, at.Row, at.Col
	}
	*fs = append(*fs, f)
}

// contract adds breaches of the load-time contract: errors, all of them.
func (fs *findings) contract(found []regoeval.Finding) {
	for _, f := range found {
		*fs = append(*fs, Finding{ID: f.ID, Severity: Error, File: f.File, Line: f.Line, Col: f.Col, Message: f.Message, Fix: f.Fix})
	}
}

// sorted returns each finding once, in the order of files and lines. What is said of one
// place for several tools in the same words stays, once for each tool.
func (fs findings) sorted() []Finding {
	out := slices.Clone(fs)
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.ID, b.ID), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Message, b.Message), cmp.Compare(a.Severity, b.Severity))
	})
	return slices.Compact(out)
}
