package lint

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/regoeval/internal/typecheck"
)

// Options say what to look at beside the bundle.
type Options struct {
	// Tools are all tools that the servers declare. Without any, nothing is said of
	// arguments.
	Tools []*policy.Tool
	// Pinned says that Tools come from the bundle's own pins, which are not compared with
	// themselves.
	Pinned bool
	// Ruleset are the options of the ruleset.
	Ruleset regoeval.Options
}

// A Report is what was found.
type Report struct {
	Findings []Finding `json:"findings"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	// Tools and Packages are how many were looked at.
	Tools    int `json:"tools"`
	Packages int `json:"packages"`
}

// Verify looks at a bundle. The error says that it could not be looked at.
func Verify(ctx context.Context, s regoeval.Source, o Options) (r Report, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = Report{}, fmt.Errorf("verify: panic: %v: report it with the bundle", p)
		}
	}()
	var fs findings
	i, found, err := regoeval.Inspect(ctx, s, o.Ruleset)
	if err != nil {
		return Report{}, err
	}
	fs.contract(found)
	r.Tools = len(o.Tools)
	if i != nil {
		v := &verifier{Inspection: i, Options: o, fs: &fs, memories: memories(), quiet: memories()}
		v.all()
		r.Packages = len(i.Packages())
	}
	return r.with(fs), nil
}

// Broken is the report on a bundle that can't be read: err is what regoeval or bundles
// said of it.
func Broken(found []regoeval.Finding) Report {
	var fs findings
	fs.contract(found)
	return Report{}.with(fs)
}

func (r Report) with(fs findings) Report {
	r.Findings = fs.sorted()
	if r.Findings == nil {
		r.Findings = []Finding{} // [] and not null, for programs
	}
	for _, f := range r.Findings {
		if f.Severity == Error {
			r.Errors++
		} else {
			r.Warnings++
		}
	}
	return r
}

// A verifier looks at one bundle.
type verifier struct {
	*regoeval.Inspection
	Options
	fs *findings
	// memories are one for each worker, of checks with the data; quiet of those without.
	memories, quiet []*typecheck.Memory
}

func (v *verifier) all() {
	v.arguments()
	v.silence()
	v.surface()
	v.pins()
	v.reachable()
	v.habits()
	v.system()
}

// setOf lists the rules of one set of the packages that are asked about a tool.
func (v *verifier) setOf(packages []regoeval.Surface, set string) []*ast.Rule {
	var out []*ast.Rule
	for _, p := range packages {
		out = append(out, v.Rules(p, set)...)
	}
	return out
}
