package regoeval

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A negation is one `not` as its author wrote it, with the names of rules and imports
// resolved, and the rule that it is in.
type negation struct {
	rule *ast.Rule
	expr *ast.Expr
}

// collectNegations is a stage of the compiler: later ones take the operands out of
// negations, and then nothing tells what was inside.
func (n *negations) collect(c *ast.Compiler) *ast.Error {
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			ast.WalkExprs(r, func(e *ast.Expr) bool {
				if _, body := e.Terms.(*ast.Not); e.Negated || body && len(e.With) > 0 {
					n.found = append(n.found, negation{r, e.Copy()})
				}
				return false
			})
		}
	}
	return nil
}

// negations collects every `not` whose meaning depends on more than its operands.
type negations struct{ found []negation }

// checkNot refuses `not` in its old meaning where an operand can be undefined: the
// compiler evaluates the operands before the negation, so that `not startswith(x, p)`
// over an absent x makes the whole rule silent, not true. With rego.v2 or
// future.keywords.not only the values of `with` are still evaluated before.
func (l loader) checkNot(fs *findings, reached map[*ast.Rule]bool) {
	for _, n := range l.negations.found {
		if isTestRule(n.rule) && !reached[n.rule] {
			continue
		}
		if l.holdsWhenUndefined(n.expr) {
			continue
		}
		text := oneLine(string(n.expr.Location.Text))
		if !n.expr.Negated {
			fs.add(idNot, n.expr.Location, "give the value a name before, or read it with object.get and a default",
				"`%s` is neither true nor false when the value that `with` puts in place is undefined, and the rule falls silent", text)
			continue
		}
		fs.add(idNot, n.expr.Location, "add `import rego.v2` (or `import future.keywords.not`) to the file",
			"`%s` is neither true nor false when an operand is undefined, and the rule falls silent", text)
	}
}

func isTestRule(r *ast.Rule) bool {
	name := string(r.Head.Name)
	return strings.HasPrefix(name, "test_") || strings.HasPrefix(name, "todo_test_")
}

// holdsWhenUndefined reports whether the negation also holds over something that is
// undefined, or nothing in it can be.
func (l loader) holdsWhenUndefined(e *ast.Expr) bool {
	for _, w := range e.With {
		if !l.defined(w.Value) {
			return false
		}
	}
	if !e.Negated {
		return true
	}
	switch t := e.Terms.(type) {
	case *ast.Term:
		return plain(t) || l.defined(t)
	case []*ast.Term:
		lookup := e.IsEquality() || e.Operator().Equal(ast.Equal.Ref())
		return !slices.ContainsFunc(t[1:], func(op *ast.Term) bool { return !(lookup && plain(op)) && !l.defined(op) })
	case *ast.Every:
		return l.defined(t.Domain)
	default:
		return false
	}
}

// plain reports whether a term is a scalar, a variable, or a reference by constants
// and variables: a look-up, which is made inside the negation. What stands in the
// brackets of a reference is evaluated before.
func plain(t *ast.Term) bool {
	switch v := t.Value.(type) {
	case ast.Var, ast.Null, ast.Boolean, ast.Number, ast.String:
		return true
	case ast.Ref:
		return !slices.ContainsFunc(v, func(x *ast.Term) bool {
			switch x.Value.(type) {
			case ast.Var, ast.String, ast.Number, ast.Boolean, ast.Null:
				return false
			default:
				return true
			}
		})
	default:
		return false
	}
}

// defined reports whether a term always has a value.
func (l loader) defined(t *ast.Term) bool {
	switch v := t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String:
		return true
	case *ast.TemplateString, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
		return true
	case ast.Var:
		return true // rules and imports are references by now, so that it is bound before the negation
	case ast.Ref:
		return l.alwaysThere(v, nothingKnown())
	case *ast.Array:
		return !v.Until(func(x *ast.Term) bool { return !l.defined(x) })
	case ast.Set:
		return !v.Until(func(x *ast.Term) bool { return !l.defined(x) })
	case ast.Object:
		return !v.Until(func(k, x *ast.Term) bool { return !l.defined(k) || !l.defined(x) })
	case ast.Call:
		return l.totalCall(v)
	default:
		return false
	}
}

// totalCall reports whether a call has a value, or an error, for every operand: an
// error makes the decision undecided.
func (l loader) totalCall(call ast.Call) bool {
	if slices.ContainsFunc(call[1:], func(x *ast.Term) bool { return !l.defined(x) }) {
		return false
	}
	op, ok := call[0].Value.(ast.Ref)
	if !ok {
		return false
	}
	if op.HasPrefix(ast.DefaultRootRef) {
		rules := l.compiler.GetRulesExact(op)
		return len(rules) > 0 && l.totalFunction(rules, make([]ast.Ref, len(call)-1), nothingKnown())
	}
	name := op.String()
	_, known := ast.BuiltinMap[name]
	return known && !slices.Contains(partialBuiltins, name) && !l.replaced(name)
}
