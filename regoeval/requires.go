package regoeval

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// needed reports whether places that are required have a value only where ref has one.
func (l loader) needed(required []ast.Ref, f *flow, ref ast.Ref) bool {
	for _, r := range required {
		if f.isPrefix(ref, r) {
			return true
		}
		// One of many in the data document is there: do all of them have what ref names?
		if ref.HasPrefix(ast.DefaultRootRef) && f.isPrefix(r, ref) && !l.shadowed(ref) && l.rulesAt(ref) == nil && l.supplied(ref, every) {
			return true
		}
	}
	return false
}

// isPrefix reports whether a place lies at, or above, another.
func (f *flow) isPrefix(prefix, ref ast.Ref) bool {
	return len(prefix) <= len(ref) && slices.EqualFunc(prefix, ref[:len(prefix)], f.same)
}

// needsCall reports whether what decides makes the same call.
func (m *messages) needsCall(body ast.Body, p parts, f *flow, call *ast.Expr) bool {
	arity := len(m.userFunction(call)[0].Head.Args)
	for i, e := range body {
		if p[i] != decides || e.Negated || len(e.With) > 0 || !e.IsCall() || !e.Operator().Equal(call.Operator()) {
			continue
		}
		if slices.EqualFunc(e.Operands()[:arity], call.Operands()[:arity], f.same) {
			return true
		}
	}
	return false
}

// same reports whether two terms are the same value in one evaluation of a rule.
func (f *flow) same(a, b *ast.Term) bool {
	if a.Equal(b) {
		return true
	}
	p, q := f.placeOf(a), f.placeOf(b)
	return rooted(p) && rooted(q) && p.Equal(q)
}

// requires lists the places without which a body does not hold. p says which
// expressions are left out because they only make a message; nil leaves out none.
func (l loader) requires(body ast.Body, p parts, f *flow) []ast.Ref {
	var out []ast.Ref
	for i, e := range body {
		if e.Negated || len(e.With) > 0 || p != nil && p[i] == makes {
			continue
		}
		switch t := e.Terms.(type) {
		case *ast.Every:
			if d := f.placeOf(t.Domain); d != nil {
				out = append(out, d)
			}
		case *ast.LogicalAnd:
			out = append(out, l.requires(t.Lhs, nil, f)...)
			out = append(out, l.requires(t.Rhs, nil, f)...)
		case *ast.LogicalOr:
			out = append(out, common(l.requires(t.Lhs, nil, f), l.requires(t.Rhs, nil, f))...)
		case *ast.Term, []*ast.Term:
			out = append(out, l.requiredBy(e, f)...)
		}
	}
	return once(out)
}

// once drops what is in a list twice: helpers that use others twice would double it at
// each level.
func once(refs []ast.Ref) []ast.Ref {
	seen := make(map[string]bool, len(refs))
	return slices.DeleteFunc(refs, func(r ast.Ref) bool {
		key := r.String()
		again := seen[key]
		seen[key] = true
		return again
	})
}

// requiredBy lists what one plain expression requires: what it reads, and what the
// helper rules that it reads require.
func (l loader) requiredBy(e *ast.Expr, f *flow) []ast.Ref {
	out := f.readBy(e)
	for _, t := range operandsOf(e) {
		if place := f.placeOf(t); place != nil {
			out = append(out, place)
		}
	}
	if fn := l.userFunction(e); fn != nil {
		return append(out, l.requiredByRules(fn, f.callArgs(e))...)
	}
	for _, ref := range slices.Clone(out) {
		if ref.IsGround() {
			out = append(out, l.requiredByRules(l.compiler.GetRulesExact(ref), nil)...)
		}
	}
	return out
}

func operandsOf(e *ast.Expr) []*ast.Term {
	if e.IsCall() {
		return e.Operands()
	}
	if t, ok := e.Terms.(*ast.Term); ok {
		return []*ast.Term{t}
	}
	return nil
}

// requiredByRules lists what every way to get a value from rules requires. Sets are
// there whatever happens.
func (l loader) requiredByRules(rules []*ast.Rule, args []ast.Ref) []ast.Ref {
	if len(rules) == 0 {
		return nil
	}
	key := visitOf(rules[0], args) // the rules of one name go together
	if known, ok := l.required[key]; ok {
		return known
	}
	l.required[key] = nil // OPA refuses recursion; should it not, this is the careful answer
	var out []ast.Ref
	first := true
	for _, r := range rules {
		if r.Default || r.Head.RuleKind() == ast.MultiValue || len(r.Head.Ref()) > 1 {
			return nil
		}
		for _, b := range branches(r) {
			req := l.requires(b.Body, nil, newFlow(r, args))
			if first {
				out, first = req, false
				continue
			}
			out = common(out, req)
		}
	}
	l.required[key] = out
	return out
}

// common returns what both lists require.
func common(a, b []ast.Ref) []ast.Ref {
	var out []ast.Ref
	for _, x := range a {
		for _, y := range b {
			switch {
			case y.HasPrefix(x):
				out = append(out, x)
			case x.HasPrefix(y):
				out = append(out, y)
			}
		}
	}
	return once(out)
}
