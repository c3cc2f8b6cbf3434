package typecheck

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// A Result is what a check says of the rules for one tool.
type Result struct {
	// Own are findings that the tool has with rules written for it, and with what these
	// call; and errors that its calls run into anywhere.
	Own []*Finding
	// Shared are the sites in packages that are for several tools. One that is idle for
	// this tool may be there for another: only when it is idle for all is it a finding.
	Shared Tallies
	// Elements are what the rules that were asked contribute to their sets.
	Elements map[*ast.Rule]*shape.Shape
	// Reads are the places that each of the rules reads.
	Reads map[*ast.Rule][]string
	// Patterns are the regular expressions that are asked, each with one place.
	Patterns map[string]*ast.Location
}

// Check evaluates deny and warn rules for a tool.
func Check(r Rules, t Tool, rules []*ast.Rule) Result {
	c := newChecker(r, t, state{})
	out := Result{Shared: Tallies{}, Elements: map[*ast.Rule]*shape.Shape{}, Reads: map[*ast.Rule][]string{}}
	for _, rule := range rules {
		s, _, reads := c.ask(rule)
		out.Elements[rule] = s
		for path := range reads {
			out.Reads[rule] = append(out.Reads[rule], path)
		}
		slices.Sort(out.Reads[rule])
	}
	for key, tally := range c.sites {
		all := tally.Failed > 0 && tally.Failed == tally.Reached
		if !tally.own {
			out.Shared[key] = tally
		}
		for _, f := range tally.Findings {
			if (all || f.Kind.Once()) && (tally.own || f.Hard || f.Kind.Once()) && !slices.ContainsFunc(out.Own, f.same) {
				out.Own = append(out.Own, f)
			}
		}
	}
	slices.SortFunc(out.Own, compareFindings)
	out.Patterns = c.patterns
	return out
}

// ask evaluates one rule of a set.
func (c *checker) ask(r *ast.Rule) (*shape.Shape, verdict, map[string]*read) {
	outer := c.reads
	c.reads = map[string]*read{}
	c.enter(r)
	s, v := c.element(r)
	reads := c.reads
	c.reads = outer
	return s, v, reads
}

func (f *Finding) same(g *Finding) bool {
	return f.Kind == g.Kind && f.Path == g.Path && compareLocations(f.Location, g.Location) == 0
}

func compareFindings(a, b *Finding) int {
	if n := compareLocations(a.Location, b.Location); n != 0 {
		return n
	}
	return slices.Compare([]string{string(a.Kind), a.Path}, []string{string(b.Kind), b.Path})
}

func compareLocations(a, b *ast.Location) int {
	if a == nil || b == nil {
		return 0
	}
	return a.Compare(b)
}
