package regoeval

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/internal/typecheck"
)

// An Inspection is a source looked at before any call, also one that breaks the
// load-time contract. It can't decide anything.
type Inspection struct{ b *build }

// Inspect brings a source together, compiles it and checks the load-time contract. The
// inspection is nil when there is nothing to look at, because a file doesn't parse or
// the modules don't compile; the findings say why.
func Inspect(ctx context.Context, s Source, o Options) (*Inspection, []Finding, error) {
	var fs findings
	b, err := newBuild(ctx, s, o, &fs)
	if err != nil {
		var load *LoadError
		if errors.As(err, &load) {
			return nil, load.Findings, nil
		}
		return nil, nil, err
	}
	var load *LoadError
	if errors.As(fs.err(), &load) {
		return &Inspection{b}, load.Findings, nil
	}
	return &Inspection{b}, nil, nil
}

// A Surface is one package that decides something, and for which tools.
type Surface struct {
	Ref      ast.Ref
	Path     string // as in a package clause
	Location *ast.Location
	Common   bool      // for every tool
	Mappings []Mapping // that name it
}

// Rules returns the rules of one set of the package: deny or warn.
func (i *Inspection) Rules(s Surface, set string) []*ast.Rule {
	return i.b.rules.compiler.GetRulesExact(s.Ref.Append(ast.StringTerm(set)))
}

// Compiler returns the compiled modules. They must not be modified.
func (i *Inspection) Compiler() *ast.Compiler { return i.b.rules.compiler }

// Data returns the data document. It must not be modified.
func (i *Inspection) Data() map[string]any { return i.b.source.data }

// DataAt returns what the data document has at a place, and whether it has anything
// there. It must not be modified.
func (i *Inspection) DataAt(ref ast.Ref) (any, bool) {
	var x any = i.b.source.data
	for _, key := range ref[1:] {
		name, _ := key.Value.(ast.String)
		m, ok := x.(map[string]any)
		if !ok {
			return nil, false
		}
		if x, ok = m[string(name)]; !ok {
			return nil, false
		}
	}
	return x, true
}

// Reached reports whether a rule has a part in a decision, or checks settings.
func (i *Inspection) Reached(r *ast.Rule) bool { return i.b.reached[r] }

// Packages lists the packages that decide something, in the order of their paths.
func (i *Inspection) Packages() []Surface {
	var out []Surface
	for _, e := range i.b.rules.packages {
		out = append(out, i.surface(e))
	}
	slices.SortFunc(out, func(a, b Surface) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// For lists the packages that are asked about a tool.
func (i *Inspection) For(server, tool string) []Surface {
	entries, _ := i.b.rules.entriesFor(server, tool)
	out := make([]Surface, len(entries))
	for n, e := range entries {
		out[n] = i.surface(e)
	}
	return out
}

func (i *Inspection) surface(e *entry) Surface {
	s := Surface{Ref: e.ref, Path: e.info.Path, Location: e.loc, Common: slices.Contains(i.b.rules.common, e)}
	for _, m := range i.b.rules.mappings {
		if m.entry == e {
			s.Mappings = append(s.Mappings, m.Mapping)
		}
	}
	return s
}

// Checkable returns the rules as the type check of a tool wants them, and whether a
// package is written for that tool.
func (i *Inspection) Checkable(server, tool string) typecheck.Rules {
	return i.b.rules.checkable(i.b.rules.ownPackages(server, tool))
}

// CheckableWithData is Checkable for a check that also looks at what the data has now.
func (i *Inspection) CheckableWithData(server, tool string) typecheck.Rules {
	r := i.Checkable(server, tool)
	r.Data = i.DataAt
	return r
}

// TypeOf is what the type check knows of a tool.
func TypeOf(t *policy.Tool) typecheck.Tool { return typeOf(t) }
