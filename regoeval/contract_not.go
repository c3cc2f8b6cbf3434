package regoeval

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// checkNot refuses `not` in its old meaning where an operand can be undefined: the
// compiler evaluates the operands before the negation, so that `not startswith(x, p)`
// over an absent x makes the whole rule silent, not true.
func (l loader) checkNot(fs *findings, m *ast.Module) {
	for _, r := range m.Rules {
		if name := string(r.Head.Name); strings.HasPrefix(name, "test_") || strings.HasPrefix(name, "todo_test_") {
			continue
		}
		ast.WalkExprs(r, func(e *ast.Expr) bool {
			// With rego.v2 or future.keywords.not the parser makes an ast.Not of it, which is safe.
			if e.Negated && !l.holdsWhenUndefined(m, e) {
				fs.add(idNot, e.Location, "add `import rego.v2` (or `import future.keywords.not`) to the file",
					"`%s` is neither true nor false when an operand is undefined, and the rule falls silent", oneLine(string(e.Location.Text)))
			}
			return false
		})
	}
}

// holdsWhenUndefined reports whether the negation also holds over something that is
// undefined, or nothing in it can be.
func (l loader) holdsWhenUndefined(m *ast.Module, e *ast.Expr) bool {
	for _, w := range e.With {
		if !l.defined(m, w.Value) {
			return false
		}
	}
	switch t := e.Terms.(type) {
	case *ast.Term:
		return l.plain(t) || l.defined(m, t)
	case []*ast.Term:
		if comparesWithConstant(t) && l.plain(t[1]) && l.plain(t[2]) {
			return true
		}
		return !slices.ContainsFunc(t[1:], func(op *ast.Term) bool { return !l.defined(m, op) })
	case *ast.Every:
		return l.defined(m, t.Domain)
	default:
		return false
	}
}

// comparesWithConstant: x == "a" is one look-up, and is undefined inside the negation.
func comparesWithConstant(t []*ast.Term) bool {
	if len(t) != 3 {
		return false
	}
	op := t[0].Value.String()
	return (op == "eq" || op == "equal" || op == "=" || op == "==") && (ast.IsScalar(t[1].Value) || ast.IsScalar(t[2].Value))
}

// plain reports whether a term is a scalar, a variable, or a reference without a
// call inside.
func (l loader) plain(t *ast.Term) bool {
	calls := false
	ast.WalkTerms(t, func(x *ast.Term) bool {
		if _, ok := x.Value.(ast.Call); ok {
			calls = true
		}
		return false
	})
	if calls {
		return false
	}
	switch t.Value.(type) {
	case ast.Ref, ast.Var, ast.Null, ast.Boolean, ast.Number, ast.String:
		return true
	default:
		return false
	}
}

// alwaysThere are the members of the input document that every call has.
var alwaysThere = func() []ast.Ref {
	var refs []ast.Ref
	for _, s := range []string{
		"input", "input.arguments",
		"input.tool", "input.tool.name", "input.tool.server", "input.tool.title", "input.tool.annotations",
		"input.caller", "input.caller.subject", "input.caller.tenant", "input.caller.scopes", "input.caller.claims",
		"input.call", "input.call.id", "input.call.session", "input.call.transport", "input.call.time", "input.call.responses",
	} {
		refs = append(refs, ast.MustParseRef(s))
	}
	return refs
}()

// defined reports whether a term always has a value.
func (l loader) defined(m *ast.Module, t *ast.Term) bool {
	switch v := t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String, *ast.TemplateString:
		return true
	case ast.Var:
		return !isImport(m, v) // a variable in a negation is bound before it
	case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
		return true
	case ast.Ref:
		return l.definedRef(v)
	case *ast.Array:
		return v.Until(func(x *ast.Term) bool { return !l.defined(m, x) }) == false
	case ast.Set:
		return v.Until(func(x *ast.Term) bool { return !l.defined(m, x) }) == false
	case ast.Object:
		return v.Until(func(k, x *ast.Term) bool { return !l.defined(m, k) || !l.defined(m, x) }) == false
	case ast.Call:
		return l.builtin(v[0]) && !slices.ContainsFunc(v[1:], func(x *ast.Term) bool { return !l.defined(m, x) })
	default:
		return false
	}
}

// isImport reports whether a variable is the name of an import, which stands for a
// path that may lead nowhere.
func isImport(m *ast.Module, v ast.Var) bool {
	return slices.ContainsFunc(m.Imports, func(i *ast.Import) bool { return i.Name() == v })
}

// builtin reports whether an operator is one of OPA's functions: they have a value
// or an error for every operand, and an error makes the call undecided.
func (l loader) builtin(op *ast.Term) bool {
	_, ok := ast.BuiltinMap[op.Value.String()]
	return ok
}

// definedRef reports whether a reference always leads somewhere: a member that every
// input has, or data that is in the store.
func (l loader) definedRef(ref ast.Ref) bool {
	if slices.ContainsFunc(alwaysThere, func(r ast.Ref) bool { return r.Equal(ref) }) {
		return true
	}
	return ref.IsGround() && ref.HasPrefix(ast.DefaultRootRef) && len(l.compiler.GetRules(ref)) == 0 && l.supplied(ref)
}
