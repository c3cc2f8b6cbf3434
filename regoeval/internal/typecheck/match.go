package typecheck

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// equality evaluates `a = b`: either names something, or takes it apart, or compares.
func (c *checker) equality(e *ast.Expr, a, b *ast.Term, sc *scope) verdict {
	if c.open(a, sc) && !c.open(b, sc) {
		a, b = b, a
	}
	if !c.open(b, sc) {
		x, v := c.term(a, sc)
		if !v.reached() {
			return c.because(e, v)
		}
		y, w := c.term(b, sc)
		if v = v.and(w); !v.reached() {
			return c.because(e, v)
		}
		v = v.and(c.compare(placeOf(e), "eq", x, y))
		if v.reached() {
			learn(sc, a, x, y)
			learn(sc, b, y, x)
		}
		return v
	}
	if ref, ok := a.Value.(ast.Ref); ok && ref.HasPrefix(ast.InputRootRef) {
		if x, ok := b.Value.(ast.Var); ok {
			sc.direct[x] = true
		}
	}
	s, v := c.term(a, sc)
	if v = c.because(e, v); !v.reached() {
		return v
	}
	return v.and(c.match(b, s, sc, e))
}

// because makes a helper rule that never holds a finding of the rule that reads it.
func (c *checker) because(e *ast.Expr, v verdict) verdict {
	if !c.own {
		return v
	}
	t := c.visit(e, "read")
	if v.outcome == fails && len(v.causes) > 0 {
		return t.found(fails, v.causes...).because(v)
	}
	return v
}

// open reports whether a term has a variable that nothing has given a value.
func (c *checker) open(t *ast.Term, sc *scope) bool {
	switch v := t.Value.(type) {
	case ast.Var:
		return sc.vars[v] == nil
	case *ast.Array:
		return v.Until(func(x *ast.Term) bool { return c.open(x, sc) })
	case ast.Object:
		return v.Until(func(_, x *ast.Term) bool { return c.open(x, sc) })
	default:
		return false
	}
}

// match unifies a pattern with a value. e is where it stands, nil for parameters.
func (c *checker) match(t *ast.Term, s *shape.Shape, sc *scope, e *ast.Expr) verdict {
	switch p := t.Value.(type) {
	case ast.Var:
		if old := sc.vars[p]; old != nil {
			return c.compare(c.patternPlace(t, e), "eq", old, s)
		}
		if sc.vars[p] = s; s.Empty() {
			return never
		}
		return always
	case *ast.Array:
		return c.matchArray(p, s, sc, e)
	case ast.Object:
		return c.matchObject(p, s, sc, e)
	}
	x, v := c.term(t, sc)
	if !v.reached() {
		return v
	}
	return v.and(c.compare(c.patternPlace(t, e), "eq", x, s))
}

// patternPlace is where a part of a pattern is asked: its expression, or a parameter.
func (c *checker) patternPlace(t *ast.Term, e *ast.Expr) place {
	if e != nil {
		return placeOf(e)
	}
	if t.Location == nil {
		return place{}
	}
	return place{t, t.Location}
}

// learn remembers what a place is equal to from here on.
func learn(sc *scope, t *ast.Term, s, other *shape.Shape) {
	only, ok := other.Single()
	if !ok || s.Path == "" || strings.Contains(s.Path, "[_]") || other.Path != "" {
		return
	}
	sc.equal[s.Path] = only
	if v, ok := t.Value.(ast.Var); ok && sc.vars[v] != nil {
		known := shape.Constant(only).At(s.Path)
		known.FromCall = s.FromCall
		sc.vars[v] = known
	}
}

func (c *checker) matchArray(p *ast.Array, s *shape.Shape, sc *scope, e *ast.Expr) verdict {
	if s.Kinds&shape.Array == 0 {
		c.bindUnknown(ast.NewTerm(p), sc)
		return c.compare(c.patternPlace(ast.NewTerm(p), e), "eq", shape.Of(shape.Array), s)
	}
	v := perhaps
	if s.Kinds == shape.Array && s.Items != nil && s.Items.Rest == nil && s.Items.Sure == p.Len() {
		v = always
	}
	for i := range p.Len() {
		child := c.any(s)
		if s.Items != nil {
			x, ok := s.Items.Element(i)
			if !ok {
				c.bindUnknown(ast.NewTerm(p), sc)
				return never
			}
			child = x
		}
		child, w := c.arrive(s, child, within(s.Path), v.outcome == holds, false, sc)
		v = v.and(w.capped()).and(c.match(p.Elem(i), child, sc, e))
	}
	if s.Items == nil || s.Items.Rest != nil {
		v = v.capped()
	}
	return v
}

func (c *checker) matchObject(p ast.Object, s *shape.Shape, sc *scope, e *ast.Expr) verdict {
	if s.Kinds&shape.Object == 0 {
		c.bindUnknown(ast.NewTerm(p), sc)
		return c.compare(c.patternPlace(ast.NewTerm(p), e), "eq", shape.Of(shape.Object), s)
	}
	v := perhaps
	p.Foreach(func(k, x *ast.Term) {
		name, ok := k.Value.(ast.String)
		if !ok {
			c.bindUnknown(x, sc)
			return
		}
		child, w := c.member(s, string(name), k, site{k, "pattern"}, k.Location, sc)
		if w.outcome == fails {
			c.bindUnknown(x, sc)
		} else {
			w = w.and(c.match(x, child, sc, e))
		}
		v = v.and(w)
	})
	return v
}
