package typecheck

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// expr evaluates one expression.
func (c *checker) expr(e *ast.Expr, sc *scope) verdict {
	if c.steps--; c.steps < 0 {
		return perhaps
	}
	if e.Location != nil {
		c.at = e.Location
	}
	if len(e.With) > 0 {
		defer c.replace(e, sc)()
	}
	v := c.terms(e, sc)
	if e.Negated {
		v = v.not()
	}
	if len(e.With) > 0 {
		v = v.capped()
		if v.outcome == fails {
			v = perhaps // what rules come to under it isn't known
		}
	}
	return v
}

func (c *checker) bindUnknown(t *ast.Term, sc *scope) {
	ast.WalkVars(t, func(v ast.Var) bool {
		if _, bound := sc.vars[v]; !bound {
			sc.vars[v] = shape.Anything()
		}
		return false
	})
}

func (c *checker) terms(e *ast.Expr, sc *scope) verdict {
	switch t := e.Terms.(type) {
	case *ast.Term:
		s, v := c.term(t, sc)
		return v.and(truth(s))
	case *ast.Not:
		return c.negation(t, sc)
	case *ast.Every:
		return c.every(t, sc)
	case *ast.LogicalAnd:
		return c.body(t.Lhs, sc).and(c.body(t.Rhs, sc))
	case *ast.LogicalOr:
		return c.body(t.Lhs, sc.child()).or(c.body(t.Rhs, sc.child()))
	case []*ast.Term:
		return c.call(e, t, sc)
	default:
		return perhaps
	}
}

// truth is the verdict on a value as a condition: everything but false holds.
func truth(s *shape.Shape) verdict {
	switch {
	case s.Kinds&shape.Boolean == 0 || !s.Has(ast.Boolean(false)):
		return always
	case s.Kinds == shape.Boolean && !s.Has(ast.Boolean(true)):
		return never
	default:
		return perhaps
	}
}

// negation evaluates `not`, and learns from `not is_string(x)` what x is afterwards.
func (c *checker) negation(n *ast.Not, sc *scope) verdict {
	inner := sc.child()
	v := c.body(n.Body, inner).not()
	last := n.Body[len(n.Body)-1]
	if !last.IsCall() || last.Negated || len(last.With) > 0 || !onlyNames(n.Body[:len(n.Body)-1]) {
		return v
	}
	if k, ok := predicates[last.Operator().String()]; ok && len(last.Operands()) == 1 {
		x := last.Operand(0)
		if y, ok := x.Value.(ast.Var); ok && sc.vars[y] == nil {
			if s := inner.vars[y]; s != nil && s.Path != "" && v.reached() {
				narrowPath(sc, s.Path, shape.All&^k)
			}
			return v
		}
		narrow(sc, x, shape.All&^k)
	}
	return v
}

// onlyNames reports whether expressions do nothing but give names to places.
func onlyNames(b ast.Body) bool {
	for _, e := range b {
		if e.Negated || !e.IsEquality() || len(e.With) > 0 {
			return false
		}
		ref, ok := e.Operand(1).Value.(ast.Ref)
		if _, isVar := e.Operand(0).Value.(ast.Var); !isVar || !ok || !ref.IsGround() || !ref.HasPrefix(ast.InputRootRef) {
			return false
		}
	}
	return true
}

func narrowPath(sc *scope, path string, k shape.Kinds) {
	if old, ok := sc.narrowed[path]; ok {
		k &= old
	}
	sc.narrowed[path] = k
}

// narrow remembers of which kinds a value is from here on.
func narrow(sc *scope, t *ast.Term, k shape.Kinds) {
	v, ok := t.Value.(ast.Var)
	if !ok || sc.vars[v] == nil {
		return
	}
	s := sc.vars[v]
	sc.vars[v] = s.Only(k)
	if s.Path != "" {
		narrowPath(sc, s.Path, k)
	}
}

func (c *checker) every(e *ast.Every, sc *scope) verdict {
	domain, v := c.term(e.Domain, sc)
	if !v.reached() {
		return v
	}
	inner := sc.child()
	key, ok := ast.Var("key@every"), false
	if e.Key != nil {
		if key, ok = e.Key.Value.(ast.Var); !ok {
			return perhaps
		}
	}
	delete(inner.vars, key)
	element, w := c.iterate(domain, key, site{e, "domain"}, e.Domain.Location, inner)
	if w.outcome == fails {
		if domain.Kinds&(shape.Array|shape.Object|shape.Set) != 0 {
			return v.and(always) // nothing to ask
		}
		return v.and(w)
	}
	if x, ok := e.Value.Value.(ast.Var); ok {
		inner.vars[x] = element
	}
	switch b := c.body(e.Body, inner); b.outcome {
	case holds:
		return v
	case errs, mayErr:
		return verdict{outcome: mayErr}
	case fails:
		if w.outcome == holds {
			return v.and(b)
		}
		return perhaps
	default:
		return perhaps
	}
}

// call evaluates an equality, a function of the bundle's or a built-in.
func (c *checker) call(e *ast.Expr, terms []*ast.Term, sc *scope) verdict {
	if e.IsEquality() || e.IsAssignment() {
		return c.equality(e, terms[1], terms[2], sc)
	}
	op, ok := terms[0].Value.(ast.Ref)
	if !ok {
		return perhaps
	}
	operands := terms[1:]
	if op.HasPrefix(ast.DefaultRootRef) {
		return c.function(e, op, operands, sc)
	}
	return c.builtin(e, op.String(), operands, sc)
}

// function evaluates a call of a function of the bundle's.
func (c *checker) function(e *ast.Expr, op ast.Ref, operands []*ast.Term, sc *scope) verdict {
	rules := c.Compiler.GetRulesExact(op)
	if len(rules) == 0 || len(rules[0].Head.Args) > len(operands) || c.Replaced(op) {
		for _, t := range operands {
			c.bindUnknown(t, sc)
		}
		return perhaps
	}
	arity := len(rules[0].Head.Args)
	args, v := c.operands(operands[:arity], sc)
	if !v.reached() {
		return v
	}
	s, w := c.rules(rules, args)
	if c.own && w.outcome == fails && len(w.causes) > 0 {
		w = c.visit(e, "call").found(fails, w.causes...).because(w)
	} else if c.own {
		c.visit(e, "call")
	}
	if v = v.and(w); !v.reached() {
		return v
	}
	if len(operands) == arity {
		return v.and(truth(s))
	}
	return v.and(c.match(operands[arity], s, sc, e))
}

func (c *checker) operands(ts []*ast.Term, sc *scope) ([]*shape.Shape, verdict) {
	v := always
	out := make([]*shape.Shape, len(ts))
	for i, t := range ts {
		s, w := c.term(t, sc)
		if v = v.and(w); !v.reached() {
			return nil, v
		}
		out[i] = s
	}
	return out, v
}
