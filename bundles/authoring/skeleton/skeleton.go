package skeleton

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/regogate/regogate/policy"
)

// Options say what to write.
type Options struct {
	// Dir is the bundle's folder. It is made when it isn't there.
	Dir string
	// Server is what the configuration calls the server; "" pins the tools for every server.
	Server string
	// Tools are all tools that the server lists.
	Tools []policy.ToolSpec
	// Allow makes new tools callable without a review. It is without effect on tools
	// that have a package already, and where data.json is there already.
	Allow bool
	// UpdatePins accepts what has changed at the server.
	UpdatePins bool
}

// maxName bounds the name of a tool, in bytes. The protocol has at most 128 characters.
const maxName = 1024

// ErrNoTools says that there is nothing to write a bundle for.
var ErrNoTools = errors.New("the server lists no tools")

// A Report says what was done, and what somebody should look at. Lists are in order.
type Report struct {
	Dir     string   `json:"dir"`
	Tools   int      `json:"tools"`   // how many the server lists
	Written []string `json:"written"` // files, below Dir
	Kept    int      `json:"kept"`    // files that were there, and stayed as they are
	Added   []string `json:"added"`   // tools that got a package
	Pinned  []string `json:"pinned"`  // tools that got a pin, or another
	Drift   []Drift  `json:"drift"`   // between the pins and what the server lists
	// Updated says that the pins follow the drift now.
	Updated bool `json:"updated"`
	// Problems are what keeps a part of the bundle from working, each with what to do.
	Problems []string `json:"problems"`
	// Notes are what else to do.
	Notes []string `json:"notes"`
}

// Clean reports whether there is nothing that somebody has to decide about.
func (r Report) Clean() bool { return (len(r.Drift) == 0 || r.Updated) && len(r.Problems) == 0 }

// Write writes the bundle, or what of it is missing. The error says what kept it from
// being written; files that were written before stay.
func Write(o Options) (Report, error) {
	r := Report{Dir: o.Dir, Tools: len(o.Tools), Written: []string{}, Added: []string{}, Pinned: []string{}, Drift: []Drift{}, Problems: []string{}, Notes: []string{}}
	if len(o.Tools) == 0 {
		return r, ErrNoTools
	}
	w, err := open(o.Dir, &r)
	if err != nil {
		return r, err
	}
	defer w.root.Close()
	tools, err := w.usable(o)
	if err != nil {
		return r, err
	}
	if err := w.packages(tools); err != nil {
		return r, err
	}
	if err := w.pins(o, tools); err != nil {
		return r, err
	}
	if err := w.rest(o, tools); err != nil {
		return r, err
	}
	slices.Sort(r.Written)
	return r, nil
}

// A tool is one that gets a package.
type tool struct {
	policy.ToolSpec
	ready *policy.Tool
}

// usable returns the tools in the order of their names, and reports those that can't
// be called whatever the policy says.
func (w *writer) usable(o Options) ([]tool, error) {
	gate, err := policy.NewGate(policy.Options{})
	if err != nil {
		return nil, err
	}
	gate.Use(schemaOnly{})
	w.gate = gate
	var tools []tool
	for _, spec := range o.Tools {
		if len(spec.Name) > maxName {
			w.problem("a tool's name has %d bytes, more than %d, and begins with %s: it has no package, so that its calls are refused", len(spec.Name), maxName, quoted(spec.Name[:40]))
			continue
		}
		spec.Server = o.Server
		t := tool{spec, gate.Tool(spec)}
		if err := t.ready.SchemaErr(); err != nil {
			w.problem("%s: its calls will be refused (schema_unusable) until the server declares it otherwise: %s", quoted(spec.Name), harmless(firstLine(err.Error()), 300))
		}
		tools = append(tools, t)
	}
	slices.SortStableFunc(tools, func(a, b tool) int { return strings.Compare(a.Name, b.Name) })
	return tools, nil
}

// packages writes rules and tests for each tool that has no package.
func (w *writer) packages(tools []tool) error {
	for _, t := range tools {
		if w.existing[t.Name] {
			continue
		}
		rules, err := w.rules(t)
		if err != nil {
			return err
		}
		tests, err := w.tests(t)
		if err != nil {
			return err
		}
		stem := w.stem(t.Name)
		if err := w.create("tools/"+stem+".rego", rules); err != nil {
			return err
		}
		if err := w.create("tests/"+stem+"_test.rego", tests); err != nil {
			return err
		}
		w.report.Added = append(w.report.Added, t.Name)
	}
	return nil
}

// rest writes what a bundle needs beside its rules.
func (w *writer) rest(o Options, tools []tool) error {
	if err := w.manifest(); err != nil {
		return err
	}
	_, err := w.root.Stat("data.json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		content, err := settings(tools, o.Allow)
		if err != nil {
			return err
		}
		return w.create("data.json", content)
	case err != nil:
		return fmt.Errorf("%s/data.json: %w", o.Dir, pathless(err))
	}
	w.report.Kept++
	if len(w.report.Added) > 0 {
		w.note(`new tools are refused until data.json says settings.reviewed[NAME]: true`)
	}
	return nil
}

func (w *writer) problem(format string, args ...any) {
	w.report.Problems = append(w.report.Problems, fmt.Sprintf(format, args...))
}

func (w *writer) note(s string) { w.report.Notes = append(w.report.Notes, s) }

func firstLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return first
}

func pathless(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
