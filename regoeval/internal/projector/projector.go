// Package projector turns a tool's input schema into the shape of its arguments, for
// the type check of rules.
//
// OPA's own converter is never asked: it closes objects that are open, drops the
// second type of a list, ignores oneOf, fails on allOf, fetches references and ends
// the process on {"$ref": "#"}. Here a schema of any dialect, also one that is no
// valid schema, becomes a shape that admits everything the schema accepts. What isn't
// understood (references to elsewhere, anchors, cycles) admits anything.
//
// A name that no part of a schema declares counts as undeclared although JSON Schema
// accepts it, unless the schema says that there are further names
// (additionalProperties, patternProperties) or says nothing of names at all.
//
// # Limits
//
// A reference that is met again inside of itself is cut: below the second occurrence
// anything goes. `not`, `contains`, `propertyNames`, bounds, lengths and patterns of
// values are not looked at, nor is anything deeper than 64 levels.
package projector

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/util"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

const (
	maxDepth = 64
	maxNodes = 50_000 // of one schema, looked at
)

type object = map[string]any

// A projector projects one schema.
type projector struct {
	root  any
	old   bool // draft 7 or earlier: what stands beside $ref is ignored
	ids   bool // an $id inside: references may lead elsewhere
	nodes int
}

// Arguments returns the shape of the arguments that a schema accepts: always objects.
// nil, and what isn't JSON, accept any object.
func Arguments(schema []byte) *shape.Shape {
	everything := shape.Of(shape.Object)
	if len(schema) == 0 {
		return everything
	}
	var root any
	if err := util.UnmarshalJSON(schema, &root); err != nil {
		return everything
	}
	p := &projector{root: root, nodes: maxNodes}
	if m, ok := root.(object); ok {
		dialect, _ := m["$schema"].(string)
		p.old = strings.Contains(dialect, "draft-07") || strings.Contains(dialect, "draft-06") || strings.Contains(dialect, "draft-04")
		for k, v := range m {
			p.ids = p.ids || k != "$id" && hasID(v, maxDepth)
		}
	}
	return p.project(root, place{seen: []string{"#"}}).Only(shape.Object)
}

// A place is where in a schema a projection is: under which references, how deep.
type place struct {
	seen  []string
	depth int
}

func (at place) deeper() place { return place{at.seen, at.depth + 1} }

func (p *projector) project(schema any, at place) *shape.Shape {
	if p.nodes--; p.nodes < 0 || at.depth > maxDepth {
		return shape.Of(shape.JSON)
	}
	switch s := schema.(type) {
	case bool:
		if !s {
			return &shape.Shape{}
		}
	case object:
		return p.object(s, at.deeper())
	}
	return shape.Of(shape.JSON)
}

// object projects one schema object: what it says itself, and what it refers to.
func (p *projector) object(s object, at place) *shape.Shape {
	if _, ok := s["$dynamicRef"]; ok {
		return shape.Of(shape.JSON)
	}
	if _, ok := s["$recursiveRef"]; ok {
		return shape.Of(shape.JSON)
	}
	out := p.own(s, at)
	if ref, ok := s["$ref"].(string); ok {
		target, known := p.resolve(ref)
		if !known || slices.Contains(at.seen, ref) {
			return shape.Of(shape.JSON)
		}
		there := p.project(target, place{append(slices.Clip(slices.Clone(at.seen)), ref), at.depth})
		if p.old {
			return shape.Intersect(there, weak(out))
		}
		out = shape.Intersect(there, out)
	}
	for _, e := range list(s["allOf"]) {
		out = shape.Intersect(out, p.project(e, at))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		branches := list(s[keyword])
		if len(branches) == 0 {
			continue
		}
		union := &shape.Shape{}
		for _, e := range branches {
			union = shape.Union(union, p.project(e, at))
		}
		out = shape.Intersect(out, union)
	}
	if e, ok := s["if"].(object); ok { // names a condition asks for, whatever their values
		out = shape.Intersect(out, weak(p.project(e, at)))
	}
	for _, e := range conditional(s) {
		out = shape.Intersect(out, weak(p.project(e, at)))
	}
	return out
}

// conditional lists the subschemas that hold in some cases only, and declare names.
func conditional(s object) []any {
	var out []any
	for _, keyword := range []string{"then", "else"} {
		if e, ok := s[keyword].(object); ok {
			out = append(out, e)
		}
	}
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		if m, ok := s[keyword].(object); ok {
			for _, name := range sortedKeys(m) {
				if e, ok := m[name].(object); ok {
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// own projects what a schema says without its subschemas for the same value.
func (p *projector) own(s object, at place) *shape.Shape {
	out := shape.Of(kindsOf(s["type"]))
	out.Whole = wholeOnly(s["type"])
	if c, ok := s["const"]; ok {
		out = shape.Intersect(out, constants([]any{c}))
	}
	if e, ok := s["enum"].([]any); ok {
		out = shape.Intersect(out, constants(e))
	}
	if out.Kinds&shape.Object != 0 {
		out.Fields = p.fields(s, at)
	}
	if out.Kinds&shape.Array != 0 {
		out.Items = p.items(s, at)
	}
	return out
}

func (p *projector) later(schema any, at place) *shape.Lazy {
	return shape.Later(func() *shape.Shape { return p.project(schema, at) })
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func sortedKeys(m object) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
