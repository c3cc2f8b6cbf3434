package projector

import (
	"regexp"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// fields projects what a schema says of an object's members; nil when that is nothing.
func (p *projector) fields(s object, at place) *shape.Fields {
	f := &shape.Fields{Openness: shape.Loose, Members: map[string]*shape.Field{}, Required: map[string]bool{}}
	for _, r := range list(s["required"]) {
		if name, ok := r.(string); ok {
			f.Required[name] = true
		}
	}
	properties, said := s["properties"].(object)
	if said {
		f.Openness = shape.Implicit
	}
	for name, e := range properties {
		m, _ := e.(object)
		_, filled := m["default"]
		f.Members[name] = &shape.Field{Lazy: p.later(e, at), Filled: filled}
	}
	patterns, _ := s["patternProperties"].(object)
	for _, pattern := range sortedKeys(patterns) {
		f.Openness = shape.Implicit
		re, err := regexp.Compile(pattern)
		if err != nil {
			f.Openness = shape.Open // nobody can say which names these are
			break
		}
		f.Patterns = append(f.Patterns, shape.Pattern{Name: re, Lazy: p.later(patterns[pattern], at)})
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		rest, ok := s[keyword]
		if !ok {
			continue
		}
		switch rest := rest.(type) {
		case bool:
			f.Openness = shape.Open
			if !rest {
				f.Openness = shape.Closed
			}
		case object:
			f.Openness = shape.Open
			f.Rest = p.later(rest, at)
		}
		break
	}
	if f.Openness == shape.Loose && len(f.Required) == 0 {
		return nil
	}
	return f
}

// items projects what a schema says of an array's elements; nil when that is nothing.
func (p *projector) items(s object, at place) *shape.Items {
	out := &shape.Items{Rest: shape.Now(shape.Of(shape.JSON))}
	prefix, rest := list(s["prefixItems"]), s["items"]
	if tuple, ok := rest.([]any); ok { // until draft 2019-09
		prefix, rest = tuple, s["additionalItems"]
	}
	if len(prefix) == 0 && rest == nil {
		return nil
	}
	for _, e := range prefix {
		out.Prefix = append(out.Prefix, p.later(e, at))
	}
	switch rest := rest.(type) {
	case bool:
		if !rest {
			out.Rest = nil
		}
	case object:
		out.Rest = p.later(rest, at)
	}
	return out
}

func kindsOf(t any) shape.Kinds {
	names := list(t)
	if s, ok := t.(string); ok {
		names = []any{s}
	}
	var k shape.Kinds
	for _, n := range names {
		switch n {
		case "null":
			k |= shape.Null
		case "boolean":
			k |= shape.Boolean
		case "integer", "number":
			k |= shape.Number
		case "string":
			k |= shape.String
		case "array":
			k |= shape.Array
		case "object":
			k |= shape.Object
		default:
			return shape.JSON
		}
	}
	if k == 0 {
		return shape.JSON
	}
	return k
}

// wholeOnly reports whether the numbers that a type admits have no fraction.
func wholeOnly(t any) bool {
	names := list(t)
	if s, ok := t.(string); ok {
		names = []any{s}
	}
	return slices.Contains(names, any("integer")) && !slices.Contains(names, any("number"))
}

// constants is the shape of an enumeration. Of lists and objects it keeps the kind.
func constants(vs []any) *shape.Shape {
	var scalars []ast.Value
	var kinds shape.Kinds
	for _, v := range vs {
		switch v.(type) {
		case []any:
			kinds |= shape.Array
		case object:
			kinds |= shape.Object
		default:
			x, err := ast.InterfaceToValue(v)
			if err != nil {
				return shape.Of(shape.JSON)
			}
			scalars = append(scalars, x)
		}
	}
	out := shape.Constants(scalars)
	out.Kinds |= kinds
	return out
}

// weak keeps of a shape nothing but the names that it declares: where the condition
// doesn't hold, they may be anything.
func weak(s *shape.Shape) *shape.Shape {
	out := shape.Of(shape.JSON)
	if s.Fields == nil {
		return out
	}
	anything := shape.Now(shape.Of(shape.JSON))
	f := &shape.Fields{Openness: shape.Loose, Members: map[string]*shape.Field{}}
	if s.Fields.Openness == shape.Open {
		f.Openness = shape.Open
	}
	for name := range s.Fields.Members {
		f.Members[name] = &shape.Field{Lazy: anything, Weak: true}
	}
	for _, p := range s.Fields.Patterns {
		f.Patterns = append(f.Patterns, shape.Pattern{Name: p.Name, Lazy: anything})
	}
	out.Fields = f
	return out
}
