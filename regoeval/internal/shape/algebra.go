package shape

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Union returns what is of one shape or the other.
func Union(a, b *Shape) *Shape {
	switch {
	case a.Empty():
		return b
	case b.Empty() || a == b:
		return a
	}
	out := &Shape{Kinds: a.Kinds | b.Kinds, FromCall: a.FromCall || b.FromCall, Made: a.Made}
	if out.Made == nil {
		out.Made = b.Made
	}
	out.Origin = a.common(b.Origin)
	out.Whole = (a.Whole || a.Kinds&Number == 0) && (b.Whole || b.Kinds&Number == 0)
	switch {
	case a.Case == b.Case || b.Kinds&String == 0:
		out.Case = a.Case
	case a.Kinds&String == 0:
		out.Case = b.Case
	}
	if a.Path == b.Path {
		out.Path = a.Path
	}
	(out.Kinds & Scalar).Each(func(k Kinds) {
		inA, inB := a.Kinds&k != 0, b.Kinds&k != 0
		if inA && a.Limited&k == 0 || inB && b.Limited&k == 0 {
			return
		}
		out.Limited |= k
	})
	for _, v := range slices.Concat(ofKinds(a.Values, out.Limited), ofKinds(b.Values, out.Limited)) {
		if !slices.ContainsFunc(out.Values, func(x ast.Value) bool { return x.Compare(v) == 0 }) {
			out.Values = append(out.Values, v)
		}
	}
	const enough = 4096
	if len(out.Values) > enough {
		out.Values, out.Limited = nil, 0
	}
	out.Fields = fieldsOf(a, b)
	out.Items = itemsOf(a, b)
	return out
}

// fieldsOf returns what is known of the objects of a union.
func fieldsOf(a, b *Shape) *Fields {
	switch {
	case a.Kinds&Object == 0:
		return b.Fields
	case b.Kinds&Object == 0:
		return a.Fields
	case a.Fields == nil && b.Fields == nil:
		return nil
	case a.Fields == nil:
		return joinFields(&Fields{Openness: Loose}, b.Fields)
	case b.Fields == nil:
		return joinFields(a.Fields, &Fields{Openness: Loose})
	default:
		return joinFields(a.Fields, b.Fields)
	}
}

// itemsOf returns what is known of the arrays and sets of a union.
func itemsOf(a, b *Shape) *Items {
	switch {
	case a.Kinds&(Array|Set) == 0:
		return b.Items
	case b.Kinds&(Array|Set) == 0:
		return a.Items
	case a.Items == nil || b.Items == nil:
		return nil
	default:
		return joinItems(a.Items, b.Items)
	}
}

// Intersect returns what is of both shapes.
func Intersect(a, b *Shape) *Shape {
	out := &Shape{Kinds: a.Kinds & b.Kinds, Path: a.Path, FromCall: a.FromCall, Made: a.Made, Origin: a.both(b.Origin)}
	(out.Kinds & Scalar).Each(func(k Kinds) {
		if (a.Limited|b.Limited)&k == 0 {
			return
		}
		from, other := a, b
		if a.Limited&k == 0 {
			from, other = b, a
		}
		n := len(out.Values)
		for _, v := range ofKinds(from.Values, k) {
			if other.Has(v) {
				out.Values = append(out.Values, v)
			}
		}
		if out.Limited |= k; len(out.Values) == n {
			out.Kinds &^= k
			out.Limited &^= k
		}
	})
	if out.Kinds&Object != 0 {
		out.Fields = meet(a.Fields, b.Fields, meetFields)
	}
	if out.Kinds&(Array|Set) != 0 {
		out.Items = meet(a.Items, b.Items, meetItems)
	}
	return out
}

func meet[F any](a, b *F, both func(a, b *F) *F) *F {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return both(a, b)
	}
}

// Disjoint reports whether no value is of both shapes, as far as kinds and constants say.
func Disjoint(a, b *Shape) bool {
	common := a.Kinds & b.Kinds
	if common&^Scalar != 0 {
		return false
	}
	possible := false
	common.Each(func(k Kinds) {
		if (a.Limited&b.Limited)&k == 0 {
			if (a.Limited|b.Limited)&k == 0 {
				possible = true
			} else if a.Limited&k != 0 {
				possible = possible || slices.ContainsFunc(ofKinds(a.Values, k), b.Has)
			} else {
				possible = possible || slices.ContainsFunc(ofKinds(b.Values, k), a.Has)
			}
			return
		}
		possible = possible || slices.ContainsFunc(ofKinds(a.Values, k), b.Has)
	})
	return !possible
}
