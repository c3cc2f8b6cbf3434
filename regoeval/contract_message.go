package regoeval

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// checkMessage refuses a rule whose message can be undefined although everything
// else in its body holds: then the denial, and not only its text, disappears. The
// usual form is sprintf over an optional argument.
//
// It looks at the compiled rule, where every nested call and reference has become
// an expression of its own. Those that serve only to make the message are told from
// those that decide; what the former read must be read by the latter too, or always
// be there.
func (l loader) checkMessage(fs *findings, rule *ast.Rule) {
	if rule.Head.Key == nil {
		return
	}
	making := messageExprs(rule)
	for i, e := range rule.Body {
		if !making[i] {
			continue
		}
		for _, t := range undefinable(e) {
			ref, isRef := t.Value.(ast.Ref)
			if isRef && (l.alwaysDefined(ref) || l.needed(rule.Body, making, ref)) {
				continue
			}
			fs.add(idMessage, place(e, rule), `write the message as a template string, $"… {x} …", or read the value with object.get and a default`,
				"the message reads %s, which can be undefined while the rule holds: the denial would disappear", display(t))
		}
	}
}

func place(e *ast.Expr, rule *ast.Rule) *ast.Location {
	if e.Location != nil {
		return e.Location
	}
	return rule.Loc()
}

func display(t *ast.Term) string {
	if ref, ok := t.Value.(ast.Ref); ok {
		return ref.String()
	}
	return "a value"
}

// messageExprs returns which expressions of the rule's body serve only to make its
// element: those that bind a variable which nothing else uses but the element and
// other such expressions.
func messageExprs(rule *ast.Rule) []bool {
	making := make([]bool, len(rule.Body))
	needed := ast.VarSet{}
	needed.Update(varsOf(rule.Head.Key))
	for changed := true; changed; {
		changed = false
		for i, e := range rule.Body {
			out, ok := binds(e)
			if making[i] || !ok || !needed.Contains(out) || usedByOthers(rule.Body, making, i, out) {
				continue
			}
			making[i], changed = true, true
			needed.Update(varsOf(e))
		}
	}
	return making
}

// binds returns the variable that an expression gives a value to: the output of a
// call, or one side of a unification.
func binds(e *ast.Expr) (ast.Var, bool) {
	terms, ok := e.Terms.([]*ast.Term)
	if !ok || e.Negated || len(terms) < 2 {
		return "", false
	}
	if e.IsEquality() || e.IsAssignment() {
		for _, t := range terms[1:] {
			if v, ok := t.Value.(ast.Var); ok {
				return v, true
			}
		}
		return "", false
	}
	v, ok := terms[len(terms)-1].Value.(ast.Var)
	return v, ok
}

func usedByOthers(body ast.Body, making []bool, self int, v ast.Var) bool {
	for i, e := range body {
		if i != self && !making[i] && varsOf(e).Contains(v) {
			return true
		}
	}
	return false
}

func varsOf(x any) ast.VarSet {
	vis := ast.NewVarVisitor().WithParams(ast.VarVisitorParams{SkipRefHead: false})
	vis.Walk(x)
	return vis.Vars()
}

// undefinable lists what an expression reads that might not be there: references,
// and calls of functions that the author wrote. Comprehensions have a value whatever
// is undefined inside them, and a template string says <undefined>.
func undefinable(e *ast.Expr) []*ast.Term {
	var out []*ast.Term
	skip := func(x any) bool {
		switch x := x.(type) {
		case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.TemplateString, *ast.Every, *ast.Not:
			return true
		case *ast.Term:
			ref, ok := x.Value.(ast.Ref)
			if !ok || isBuiltinRef(ref) {
				return false
			}
			out = append(out, x)
		}
		return false
	}
	ast.NewGenericVisitor(skip).Walk(e)
	return out
}

func isBuiltinRef(ref ast.Ref) bool {
	_, ok := ast.BuiltinMap[ref.String()]
	return ok
}

// alwaysDefined reports whether a reference has a value for every call.
func (l loader) alwaysDefined(ref ast.Ref) bool {
	if l.definedRef(ref) {
		return true
	}
	rules := l.compiler.GetRules(ref)
	return len(rules) > 0 && ref.IsGround() && slices.ContainsFunc(rules, l.total)
}

// total reports whether a rule has a value whatever the input: a default, a partial
// rule (empty at least), or a constant without a condition.
func (l loader) total(r *ast.Rule) bool {
	switch {
	case r.Default, r.Head.RuleKind() == ast.MultiValue:
		return true
	case slices.ContainsFunc(r.Head.Args, func(a *ast.Term) bool { _, ok := a.Value.(ast.Var); return !ok }):
		return false
	}
	for _, e := range r.Body {
		if b, ok := e.Terms.(*ast.Term); ok && b.Equal(ast.BooleanTerm(true)) {
			continue
		}
		if _, ok := binds(e); !ok {
			return false
		}
		for _, t := range undefinable(e) {
			if ref, ok := t.Value.(ast.Ref); !ok || !l.definedRef(ref) && !isFunctionArg(r, ref) {
				return false
			}
		}
	}
	return true
}

// isFunctionArg: a function's own argument has a value, its members need not.
func isFunctionArg(r *ast.Rule, ref ast.Ref) bool {
	return len(ref) == 1 && slices.ContainsFunc(r.Head.Args, func(a *ast.Term) bool { return a.Equal(ref[0]) })
}

// needed reports whether an expression that decides reads ref, or something below
// it, in a way that fails when it isn't there.
func (l loader) needed(body ast.Body, making []bool, ref ast.Ref) bool {
	for i, e := range body {
		if making[i] || e.Negated {
			continue
		}
		for _, t := range undefinable(e) {
			if r, ok := t.Value.(ast.Ref); ok && r.HasPrefix(ref) {
				return true
			}
		}
	}
	return false
}
