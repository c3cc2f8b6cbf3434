package regoeval

import (
	"bytes"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A part says what an expression of a rule's body does for the rule's message.
type part int

const (
	decides  part = iota // the rule holds only where the expression does
	iterates             // one message for each of something
	makes                // only the message uses what it binds
)

// parts are the roles of a body's expressions.
type parts []part

// conditional reports whether something other than the message decides.
func (p parts) conditional() bool { return slices.Contains(p, decides) }

// partition tells the expressions that serve only to make the message from those
// that decide: the former bind variables which nothing uses but the message and
// other such expressions. What an author writes to iterate (`some f in files`) is no
// part of the message even where only the message uses it: without any file there
// is nothing to refuse.
func partition(body ast.Body, message *ast.Term, args ast.VarSet) parts {
	p := make(parts, len(body))
	needed := varsOf(message)
	for changed := true; changed; {
		changed = false
		for i, e := range body {
			if p[i] != decides {
				continue
			}
			if isTrue(e) {
				p[i], changed = makes, true
				continue
			}
			outs := outputs(body, i)
			if !servesOnly(body, p, i, outs, needed) {
				continue
			}
			if !e.Generated && (isGenerator(body, i, args) || isSome(e)) {
				p[i] = iterates
			} else {
				p[i] = makes
				needed.Update(varsOf(e))
			}
			changed = true
		}
	}
	for i, e := range body { // what tells over what to iterate
		if p[i] == decides && e.Generated && servesIteration(body, p, i) {
			p[i] = iterates
		}
	}
	return p
}

func isTrue(e *ast.Expr) bool {
	t, ok := e.Terms.(*ast.Term)
	return ok && !e.Negated && t.Equal(ast.BooleanTerm(true))
}

// servesOnly reports whether what an expression binds is needed for the message, and
// for nothing that decides.
func servesOnly(body ast.Body, p parts, self int, outs []ast.Var, needed ast.VarSet) bool {
	if !slices.ContainsFunc(outs, needed.Contains) {
		return false
	}
	for i, e := range body {
		if i == self || p[i] == makes {
			continue
		}
		if used := varsOf(e); slices.ContainsFunc(outs, used.Contains) {
			return false
		}
	}
	return true
}

func servesIteration(body ast.Body, p parts, self int) bool {
	outs := outputs(body, self)
	served := false
	for i, e := range body {
		if i == self {
			continue
		}
		if used := varsOf(e); slices.ContainsFunc(outs, used.Contains) {
			if p[i] == decides {
				return false
			}
			served = true
		}
	}
	return served
}

// outputs returns the variables that an expression gives a value to: the output of a
// call, the named side of a unification, or the variables of a pattern.
func outputs(body ast.Body, i int) []ast.Var {
	e := body[i]
	terms, ok := e.Terms.([]*ast.Term)
	if !ok || e.Negated || len(terms) < 2 {
		return nil
	}
	if !e.IsEquality() && !e.IsAssignment() {
		return callOutputs(e)
	}
	for _, t := range terms[1:] {
		if v, ok := t.Value.(ast.Var); ok && !boundElsewhere(body, i, v) {
			return []ast.Var{v}
		}
	}
	for _, t := range terms[1:] {
		switch t.Value.(type) {
		case *ast.Array, ast.Object:
			if vars := varsOf(t); len(vars) > 0 {
				return vars.Sorted()
			}
		}
	}
	return nil
}

// callOutputs returns what a call binds. A relation such as walk gives many results,
// so that it decides.
func callOutputs(e *ast.Expr) []ast.Var {
	op := e.Operator()
	n := len(e.Operands())
	if b, ok := ast.BuiltinMap[op.String()]; ok {
		if b.Relation || n <= b.Decl.Arity() {
			return nil
		}
	}
	if v, ok := e.Operand(n - 1).Value.(ast.Var); ok {
		return []ast.Var{v}
	}
	return nil
}

// namesOne reports whether a unification gives one variable the other side's value.
func namesOne(body ast.Body, i int) bool {
	return slices.ContainsFunc(body[i].Operands(), func(t *ast.Term) bool {
		v, ok := t.Value.(ast.Var)
		return ok && !boundElsewhere(body, i, v)
	})
}

// isSome reports whether an author wrote `some … in …`.
func isSome(e *ast.Expr) bool {
	return e.Location != nil && bytes.HasPrefix(e.Location.Text, []byte("some "))
}

// boundElsewhere reports whether an expression other than self certainly gives v its
// value.
func boundElsewhere(body ast.Body, self int, v ast.Var) bool {
	for i, e := range body {
		if i == self || e.Negated {
			continue
		}
		if e.IsEquality() || e.IsAssignment() {
			if bindsByEquality(e, v) {
				return true
			}
			continue
		}
		if e.IsCall() && slices.Contains(callOutputs(e), v) {
			return true
		}
	}
	return false
}

// bindsByEquality: v = something that is no variable itself.
func bindsByEquality(e *ast.Expr, v ast.Var) bool {
	a, b := e.Operand(0), e.Operand(1)
	for _, side := range [][2]*ast.Term{{a, b}, {b, a}} {
		if x, ok := side[0].Value.(ast.Var); ok && x == v {
			_, isVar := side[1].Value.(ast.Var)
			return !isVar
		}
	}
	return false
}

// isGenerator reports whether an expression has one result for each member of
// something: a reference in which a variable stands that nothing else binds.
func isGenerator(body ast.Body, i int, args ast.VarSet) bool {
	found := false
	ast.WalkTerms(body[i], func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
			return true
		case ast.Ref:
			for _, seg := range v[1:] {
				if x, ok := seg.Value.(ast.Var); ok && !args.Contains(x) && !boundElsewhere(body, i, x) {
					found = true
				}
			}
		}
		return found
	})
	return found
}

// varsOf returns the variables in x, closures included.
func varsOf(x any) ast.VarSet {
	vis := ast.NewVarVisitor().WithParams(ast.VarVisitorParams{})
	vis.Walk(x)
	return vis.Vars()
}

func argVars(rule *ast.Rule) ast.VarSet {
	vars := ast.VarSet{}
	for _, a := range rule.Head.Args {
		vars.Update(varsOf(a))
	}
	return vars
}
