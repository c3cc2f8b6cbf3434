package lint

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/regoeval/internal/projector"
	"github.com/regogate/regogate/regoeval/internal/shape"
	"github.com/regogate/regogate/regoeval/internal/typecheck"
)

const manyPatterns = 100 // regular expressions that OPA keeps by itself

func anything() *shape.Shape { return projector.Arguments(nil) }

// habits reports what costs or hides something.
func (v *verifier) habits() {
	for _, name := range sortedModules(v.Compiler().Modules) {
		for _, r := range v.Compiler().Modules[name].Rules {
			if v.Reached(r) {
				v.lists(r)
				v.defaults(r)
			}
		}
	}
}

// patterns reports a package with more regular expressions than OPA keeps.
func (v *verifier) patterns(p regoeval.Surface, sets ...map[string]*ast.Location) {
	all := map[string]*ast.Location{}
	var first *ast.Location
	for _, set := range sets {
		for pattern, at := range set {
			all[pattern] = at
			if first == nil || at != nil && at.Compare(first) < 0 {
				first = at
			}
		}
	}
	if len(all) <= manyPatterns {
		return
	}
	v.fs.add(Finding{ID: idPatterns, Severity: Warning,
		Message: fmt.Sprintf("package %s has %d distinct regular expressions: OPA keeps %d compiled ones by itself, and compiles the others at every call", p.Path, len(all), manyPatterns),
		Fix:     "join patterns that are asked together with |, or ask for constants with in, startswith and endswith"}, first)
}

func sortedModules(ms map[string]*ast.Module) []string {
	var names []string
	for n := range ms {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// namesIn are the places and constants that the variables of a rule stand for.
func namesIn(r *ast.Rule) map[ast.Var]*ast.Term {
	out := map[ast.Var]*ast.Term{}
	ast.WalkExprs(r, func(e *ast.Expr) bool {
		if e.IsEquality() && !e.Negated {
			if x, ok := e.Operand(0).Value.(ast.Var); ok {
				out[x] = e.Operand(1)
			}
			if x, ok := e.Operand(1).Value.(ast.Var); ok && out[x] == nil {
				out[x] = e.Operand(0)
			}
		}
		return false
	})
	return out
}

func behind(t *ast.Term, names map[ast.Var]*ast.Term) *ast.Term {
	for range 8 {
		x, ok := t.Value.(ast.Var)
		if !ok || names[x] == nil {
			break
		}
		t = names[x]
	}
	return t
}

// lists reports look-ups in long lists of the data.
func (v *verifier) lists(r *ast.Rule) {
	names := namesIn(r)
	ast.WalkExprs(r, func(e *ast.Expr) bool {
		if !e.IsCall() {
			return false
		}
		if !e.IsEquality() && !e.Operator().Equal(ast.Equal.Ref()) {
			return false
		}
		for _, side := range []int{0, 1} { // what is looked for with in, the type check has seen
			t, other := e.Operand(side), behind(e.Operand(1-side), names)
			if x, ok := t.Value.(ast.Var); ok && names[x] != nil && names[x] != e.Operand(1-side) || !ok {
				if ref, ok := behind(t, names).Value.(ast.Ref); ok && len(ref) > 2 && isVar(ref[len(ref)-1]) && fromInput(other) {
					v.list(e, ast.NewTerm(ref[:len(ref)-1]))
				}
			}
		}
		return false
	})
}

func isVar(t *ast.Term) bool { _, ok := t.Value.(ast.Var); return ok }

func fromInput(t *ast.Term) bool {
	ref, ok := t.Value.(ast.Ref)
	return ok && ref.HasPrefix(ast.InputRootRef)
}

func (v *verifier) list(e *ast.Expr, t *ast.Term) {
	ref, ok := t.Value.(ast.Ref)
	if !ok || !ref.IsGround() || !ref.HasPrefix(ast.DefaultRootRef) {
		return
	}
	x, _ := v.DataAt(ref)
	l, ok := x.([]any)
	if !ok {
		return
	}
	if f := typecheck.LongList(e.Location, ref.String(), len(l)); f != nil {
		v.fs.add(Finding{ID: idList, Severity: Warning, Message: f.Message, Fix: f.Fix}, f.Location)
	}
}

// defaults reports a default, or a last else, that stands in for data that is missing.
func (v *verifier) defaults(r *ast.Rule) {
	var places []string
	for b := r; b != nil; b = b.Else {
		if ref := v.dataValue(b); ref != "" {
			places = append(places, ref)
		}
	}
	if len(places) == 0 {
		return
	}
	at := locationOf(r)
	hides := false
	for b := r.Else; b != nil; b = b.Else {
		if b.Else == nil && b.Head.Value != nil && ast.IsConstant(b.Head.Value.Value) {
			hides = true
		}
	}
	for _, other := range v.Compiler().GetRulesExact(r.Ref().GroundPrefix()) {
		if other.Default {
			hides, at = true, locationOf(other)
		}
	}
	if hides {
		v.fs.add(Finding{ID: idDefault, Severity: Warning,
			Message: fmt.Sprintf("%s has a default that hides a missing %s: the rules go on with it, whatever was meant", r.Head.Name, places[0]),
			Fix:     "leave the default out, so that missing data is an error when the bundle is loaded; or put the value into the data"}, at)
	}
}

// dataValue returns the place in the data that is a branch's value, "" when it is none.
func (v *verifier) dataValue(r *ast.Rule) string {
	if r.Default || r.Head.RuleKind() != ast.SingleValue || len(r.Head.Ref()) > 1 || r.Head.Value == nil {
		return ""
	}
	names := namesIn(r)
	if ref, ok := behind(r.Head.Value, names).Value.(ast.Ref); ok && v.isData(ref) {
		return ref.String()
	}
	// A flag: true where the data says so.
	if r.Head.Value.Equal(ast.BooleanTerm(true)) && len(r.Body) == 1 && len(r.Head.Args) == 0 {
		if t, ok := r.Body[0].Terms.(*ast.Term); ok && !r.Body[0].Negated {
			if ref, ok := behind(t, names).Value.(ast.Ref); ok && v.isData(ref) {
				return ref.String()
			}
		}
	}
	return ""
}

// isData reports whether a place is in the data document, and not made by rules.
func (v *verifier) isData(ref ast.Ref) bool {
	return ref.HasPrefix(ast.DefaultRootRef) && len(ref) > 2 && len(v.Compiler().GetRulesDynamicWithOpts(ref, ast.RulesOptions{})) == 0
}
