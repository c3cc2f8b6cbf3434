package typecheck

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// compare evaluates a comparison of two values.
func (c *checker) compare(e *ast.Expr, op string, a, b *shape.Shape) verdict {
	if a.Empty() || b.Empty() {
		return never
	}
	x, okX := a.Single()
	y, okY := b.Single()
	if okX && okY {
		v := verdictOf(compares(op, x.Compare(y)))
		if v.outcome == holds {
			c.compared(e, op, a, b, false)
			return v
		}
		idle := shape.Disjoint(a, b) && (op == "eq" || op == "equal" || op == "neq" || a.Kinds != b.Kinds)
		return c.compared(e, op, a, b, idle).because(v)
	}
	disjoint := shape.Disjoint(a, b)
	switch op {
	case "eq", "equal":
		if disjoint {
			return c.compared(e, op, a, b, true).because(never)
		}
	case "neq":
		if disjoint {
			return c.compared(e, op, a, b, true).because(always)
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
			return c.compared(e, op, a, b, true).because(v)
		}
	}
	c.compared(e, op, a, b, false)
	return perhaps
}

// because gives an outcome the causes of v.
func (v verdict) because(w verdict) verdict { return verdict{w.outcome, v.causes} }

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
func (c *checker) compared(e *ast.Expr, op string, a, b *shape.Shape, idle bool) verdict {
	if e == nil || a.Path == "" && b.Path == "" {
		return verdict{}
	}
	t := c.visit(e, "compare")
	if !idle {
		return verdict{}
	}
	f := mismatch(e.Location, a, b)
	if f == nil {
		return verdict{}
	}
	if op == "neq" || op != "eq" && op != "equal" && f.Kind == WrongType {
		f.Message += ": the comparison comes out the same whatever the call"
	}
	return t.found(fails, f)
}
