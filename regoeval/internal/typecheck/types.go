package typecheck

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// withArticle puts the article in front of the names of kinds.
func withArticle(names string) string {
	if strings.ContainsRune("aeiou", rune(names[0])) {
		return "an " + names
	}
	return "a " + names
}

func typeName(t types.Type) string {
	if k := kindsOf(t); k != shape.All {
		return withArticle(strings.Join(k.Names(), " or "))
	}
	return t.String()
}

// accepts reports whether some value of s is of type t.
func accepts(t types.Type, s *shape.Shape, depth int) bool {
	if s.Kinds&kindsOf(t) == 0 {
		return false
	}
	if depth == 0 || s.Items == nil || s.Kinds&^(shape.Array|shape.Set) != 0 {
		return true
	}
	if s.Items.Sure == len(s.Items.Prefix) { // a list that is written out: each element counts
		for _, p := range s.Items.Prefix {
			if one := p.Get(); !one.Empty() && !acceptsElement(t, one, depth) {
				return false
			}
		}
	}
	all := s.Items.All()
	if all == nil {
		return true
	}
	ok := false
	each(t, func(t types.Type) {
		switch t := t.(type) {
		case *types.Array:
			ok = ok || s.Kinds&shape.Array != 0 && (t.Dynamic() == nil || accepts(t.Dynamic(), all, depth-1))
		case *types.Set:
			ok = ok || s.Kinds&shape.Set != 0 && (t.Of() == nil || accepts(t.Of(), all, depth-1))
		default:
			ok = ok || kindsOf(t)&s.Kinds != 0
		}
	})
	return ok
}

// acceptsElement reports whether a list with such an element can be of type t.
func acceptsElement(t types.Type, element *shape.Shape, depth int) bool {
	list := shape.Of(shape.Array)
	list.Items = &shape.Items{Rest: shape.Now(element)}
	return accepts(t, list, depth)
}

// each calls f with every member of a union.
func each(t types.Type, f func(types.Type)) {
	switch u := t.(type) {
	case *types.NamedType:
		each(u.Type, f)
	case types.Any:
		if len(u) == 0 {
			f(u)
			return
		}
		for _, m := range u {
			each(m, f)
		}
	default:
		f(t)
	}
}

func kindsOf(t types.Type) shape.Kinds {
	var k shape.Kinds
	each(t, func(t types.Type) {
		switch t.(type) {
		case types.Null:
			k |= shape.Null
		case types.Boolean:
			k |= shape.Boolean
		case types.Number:
			k |= shape.Number
		case types.String:
			k |= shape.String
		case *types.Array:
			k |= shape.Array
		case *types.Object:
			k |= shape.Object
		case *types.Set:
			k |= shape.Set
		default:
			k = shape.All
		}
	})
	if k == 0 {
		return shape.All
	}
	return k
}

// shapeOf is what a built-in results in.
func shapeOf(t types.Type) *shape.Shape {
	if t == nil {
		return shape.Constant(ast.Boolean(true))
	}
	out := shape.Of(kindsOf(t))
	each(t, func(t types.Type) {
		switch t := t.(type) {
		case *types.Array:
			if t.Len() == 0 && t.Dynamic() != nil {
				out.Items = &shape.Items{Rest: shape.Later(func() *shape.Shape { return shapeOf(t.Dynamic()) })}
			}
		case *types.Set:
			if t.Of() != nil {
				out.Items = &shape.Items{Rest: shape.Later(func() *shape.Shape { return shapeOf(t.Of()) })}
			}
		}
	})
	if out.Kinds&(out.Kinds-1) != 0 {
		out.Items = nil
	}
	return out
}
