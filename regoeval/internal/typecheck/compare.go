package typecheck

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// compare evaluates a comparison of two values.
func (c *checker) compare(at place, op string, a, b *shape.Shape) verdict {
	v := c.compareShapes(at, op, a, b)
	if aboutKind(a, b) {
		v.kind = true
		v.meant = v.outcome == fails && (op == "neq" || isNull(a) || isNull(b))
	}
	return v
}

// compareAndLearn evaluates a comparison, and remembers an equality that it finds.
func (c *checker) compareAndLearn(e *ast.Expr, op string, terms []*ast.Term, args []*shape.Shape, sc *scope) verdict {
	v := c.compare(placeOf(e), op, args[0], args[1])
	if op == "equal" && v.reached() && !e.Negated && len(e.Operands()) == len(terms) {
		learn(sc, terms[0], args[0], args[1])
		learn(sc, terms[1], args[1], args[0])
	}
	return v
}

// A place is where something is asked: a node of the source, and its location.
type place struct {
	node any
	loc  *ast.Location
}

func placeOf(e *ast.Expr) place { return place{e, e.Location} }

// aboutKind reports whether a comparison asks of which kind a value is.
func aboutKind(a, b *shape.Shape) bool {
	return isNull(a) || isNull(b) || a.KindOf != "" || b.KindOf != ""
}

func isNull(s *shape.Shape) bool {
	only, ok := s.Single()
	return ok && only.Compare(ast.NullValue) == 0
}

func (c *checker) compareShapes(at place, op string, a, b *shape.Shape) verdict {
	if a.Empty() || b.Empty() {
		return never
	}
	x, okX := a.Single()
	y, okY := b.Single()
	if okX && okY {
		v := verdictOf(compares(op, x.Compare(y)))
		if v.outcome == holds {
			c.compared(at, op, a, b, false)
			return v
		}
		idle := shape.Disjoint(a, b) && (op == "eq" || op == "equal" || op == "neq" || a.Kinds != b.Kinds)
		return c.compared(at, op, a, b, idle).because(v)
	}
	disjoint := shape.Disjoint(a, b)
	switch op {
	case "eq", "equal":
		if disjoint {
			return c.compared(at, op, a, b, true).because(never)
		}
	case "neq":
		if disjoint {
			return c.compared(at, op, a, b, true).because(always)
		}
	default:
		if a.Kinds&b.Kinds == 0 {
			v := perhaps
			if a.Kinds.One() && b.Kinds.One() {
				rank := 1
				if a.Kinds < b.Kinds {
					rank = -1
				}
				v = verdictOf(compares(op, rank))
			}
			return c.compared(at, op, a, b, true).because(v)
		}
	}
	c.compared(at, op, a, b, false)
	if op == "eq" || op == "equal" || op == "neq" {
		c.compareHints(at, a, b)
	}
	return perhaps
}

// because gives an outcome the causes of v.
func (v verdict) because(w verdict) verdict {
	return verdict{outcome: w.outcome, causes: v.causes, kind: w.kind, meant: w.meant}
}

func verdictOf(b bool) verdict {
	if b {
		return always
	}
	return never
}

func compares(op string, cmp int) bool {
	switch op {
	case "eq", "equal":
		return cmp == 0
	case "neq":
		return cmp != 0
	case "lt":
		return cmp < 0
	case "lte":
		return cmp <= 0
	case "gt":
		return cmp > 0
	case "gte":
		return cmp >= 0
	default:
		return false
	}
}

// compared counts a comparison, and one that can only come out in one way.
func (c *checker) compared(at place, op string, a, b *shape.Shape, idle bool) verdict {
	if at.node == nil || subject(a) == "" && subject(b) == "" {
		return verdict{}
	}
	t := c.visit(at.node, "compare")
	if !idle {
		return verdict{}
	}
	f := mismatch(at.loc, a, b)
	if f == nil {
		return verdict{}
	}
	if op == "neq" || op != "eq" && op != "equal" && f.Kind == WrongType {
		f.Message += ": the comparison comes out the same whatever the call"
	}
	return t.found(fails, f)
}
