package regoeval

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/internal/projector"
	"github.com/regogate/regogate/regoeval/internal/typecheck"
)

// A coverKey is a tool of a server.
type coverKey struct{ server, tool string }

// A declaration is all that the coverage of a tool depends on: what is proven about a
// rule holds for one declaration of the tool only.
type declaration struct {
	coverKey
	digest string
}

// maxCovers bounds how many coverages are kept. Whoever declares tools without end
// makes them be made again.
const maxCovers = 16_384

// covers keeps what the ruleset has for tools. What it holds is derived from what never
// changes, so that it can only ever hold one value for a key.
type covers struct {
	made  atomic.Pointer[sync.Map] // declaration → policy.Coverage
	count atomic.Int64
}

// Cover returns the rules for one tool: of its own package, of every mapping that
// matches, and the common ones, in one validator. Its Err says that rules which are
// written for the tool don't fit its input schema.
func (r *Ruleset) Cover(t *policy.Tool) policy.Coverage {
	key := declaration{coverKey{t.Server(), t.Name()}, t.Digest()}
	made := r.covers.made.Load()
	if made != nil {
		if c, ok := made.Load(key); ok {
			return c.(policy.Coverage)
		}
	}
	c := r.cover(key.coverKey, t)
	if c.Deny != nil && t.Known() && t.SchemaErr() == nil && !t.Spec().NoSchema {
		c.Err = r.fits(t)
	}
	if made == nil || r.covers.count.Add(1) > maxCovers {
		made = &sync.Map{}
		r.covers.made.Store(made)
		r.covers.count.Store(1)
	}
	made.Store(key, c)
	return c
}

// fits says why the deny rules don't fit a tool; nil when nothing speaks against it.
func (r *Ruleset) fits(t *policy.Tool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the rules could not be checked against the tool's input schema: %v", p)
		}
	}()
	own := r.ownPackages(t.Server(), t.Name())
	entries, _ := r.entriesFor(t.Server(), t.Name())
	var rules []*ast.Rule
	for _, e := range entries {
		if own(e.ref) { // what is idle in a package for several tools may be there for another
			rules = append(rules, r.compiler.GetRulesExact(e.rule("deny"))...)
		}
	}
	if len(rules) == 0 {
		return nil
	}
	found := typecheck.Check(r.checkable(own), typeOf(t), rules).Own
	// A rule may look for what the schema leaves open and doesn't name; a name that is
	// nearly a declared one is a mistake.
	found = slices.DeleteFunc(found, func(f *typecheck.Finding) bool {
		return f.Advice || f.Kind == typecheck.Undeclared && f.Near == ""
	})
	if len(found) == 0 {
		return nil
	}
	const most = 3
	lines := []string{"they don't fit its input schema"}
	for i, f := range found {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more: regogate verify lists them", len(found)-most))
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %s: %s; %s", f.Location, f.Kind, f.Message, f.Fix))
	}
	return errors.New(strings.Join(lines, ": "))
}

// typeOf is what the type check knows of a tool.
func typeOf(t *policy.Tool) typecheck.Tool {
	return typecheck.Tool{Name: t.Name(), Server: t.Server(), Arguments: projector.Arguments(t.Spec().InputSchema)}
}

// checkable is the ruleset for the type check. own reports which packages are written
// for the tool.
func (r *Ruleset) checkable(own func(ast.Ref) bool) typecheck.Rules {
	return typecheck.Rules{
		Compiler: r.compiler,
		Replaced: func(ref ast.Ref) bool {
			for _, target := range r.withTargets {
				if ref.HasPrefix(target) || target.HasPrefix(ref) {
					return true
				}
			}
			return false
		},
		ReplacedBuiltin: func(name string) bool { return loader{Ruleset: r, withTargets: r.withTargets}.replaced(name) },
		Own:             own,
	}
}

// ownPackages tells the packages that are written for one tool from those that are
// there for several: its own, and those that one mapping gives it by its exact name.
func (r *Ruleset) ownPackages(server, tool string) func(ast.Ref) bool {
	own := toolPackage(tool)
	return func(path ast.Ref) bool {
		if path.Equal(own) {
			return true
		}
		times, exact := 0, false
		for _, m := range r.mappings {
			if m.ref.Equal(path) {
				times++
				exact = m.Tool == tool && !strings.ContainsAny(m.Tool, `*?[]{}\`) && m.matches(server, tool)
			}
		}
		for _, c := range r.common {
			if c.ref.Equal(path) {
				return false
			}
		}
		return times == 1 && exact
	}
}
