package generate

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	maxDepth    = 8   // of values
	maxRefs     = 16  // followed one after the other
	maxBranches = 16  // of one schema
	maxItems    = 20  // of an array
	maxProps    = 200 // of an object: more are left out unless they are required
)

// A node is one schema with its references followed and its allOf laid together. nil
// is the schema that allows everything.
type node map[string]any

// maxWork bounds what one set of arguments costs: schemas may refer to themselves.
const maxWork = 1000

// A maker makes values of schemas.
type maker struct {
	root  any
	hints []any
	work  int // since the last set of arguments
}

// spent counts a piece of work, and reports whether that was too much.
func (m *maker) spent() bool {
	m.work++
	return m.work > maxWork
}

// branches returns the alternatives of a schema: one, unless it has anyOf or oneOf.
func (m *maker) branches(schema any, depth int) []node {
	n := m.resolve(schema, 0)
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, ok := n[keyword].([]any)
		if !ok || len(list) == 0 || depth > maxDepth || m.spent() {
			continue
		}
		base := maps.Clone(n)
		delete(base, keyword)
		var out []node
		for _, alternative := range list {
			if alternative == false {
				continue
			}
			for _, b := range m.branches(alternative, depth+1) {
				// What the alternative itself offers is laid over what surrounds it, and the
				// other keyword of the two is looked at again.
				out = append(out, m.branches(map[string]any(merge(base, b)), depth+1)...)
				if len(out) >= maxBranches {
					return out[:maxBranches]
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return []node{n}
}

// resolve follows references and lays allOf together.
func (m *maker) resolve(schema any, followed int) node {
	object, ok := schema.(map[string]any)
	if !ok {
		return node{}
	}
	n := node(object)
	if ref, ok := n["$ref"].(string); ok && followed < maxRefs {
		if target, found := m.lookUp(ref); found {
			own := maps.Clone(n)
			delete(own, "$ref")
			n = merge(m.resolve(target, followed+1), own)
		}
	}
	if list, ok := n["allOf"].([]any); ok && followed < maxRefs {
		own := maps.Clone(n)
		delete(own, "allOf")
		n = node{}
		for _, part := range list {
			n = merge(n, m.resolve(part, followed+1))
		}
		n = merge(n, own)
	}
	return n
}

// lookUp finds what a reference inside the schema points to.
func (m *maker) lookUp(ref string) (any, bool) {
	if ref == "#" {
		return m.root, true
	}
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil, false
	}
	v := m.root
	for token := range strings.SplitSeq(pointer, "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[token]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// merge lays over on base: properties and required of both, everything else of over.
func merge(base, over node) node {
	out := maps.Clone(base)
	if out == nil {
		out = node{}
	}
	for k, v := range over {
		switch k {
		case "properties":
			out[k] = mergeObjects(out[k], v)
		case "required":
			out[k] = append(slices.Clone(list(out[k])), list(v)...)
		default:
			out[k] = v
		}
	}
	return out
}

func mergeObjects(a, b any) any {
	x, ok1 := a.(map[string]any)
	y, ok2 := b.(map[string]any)
	if !ok1 || !ok2 {
		return b
	}
	out := maps.Clone(x)
	for k, v := range y {
		old, had := out[k].(map[string]any)
		new, is := v.(map[string]any)
		if had && is {
			out[k] = map[string]any(merge(old, new))
		} else {
			out[k] = v
		}
	}
	return out
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// names returns the names of an object's properties, those that are required first.
func (n node) names() []string {
	properties, _ := n["properties"].(map[string]any)
	required := n.required()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if properties[name] == false {
			continue
		}
		if !slices.Contains(required, name) && len(names) < maxProps {
			names = append(names, name)
		}
	}
	return append(required, names...)
}

// required returns each required name once, in order.
func (n node) required() []string {
	var names []string
	for _, v := range list(n["required"]) {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (n node) requires(name string) bool { return slices.Contains(list(n["required"]), any(name)) }

// property returns the schema of a property.
func (n node) property(name string) any {
	properties, _ := n["properties"].(map[string]any)
	if s, ok := properties[name]; ok {
		return s
	}
	if s, ok := n["additionalProperties"].(map[string]any); ok {
		return s
	}
	return true
}

// types returns what a value may be.
func (n node) types() []string {
	switch t := n["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, v := range t {
			if s, ok := v.(string); ok && s != "null" {
				out = append(out, s)
			}
		}
		if slices.Contains(t, any("null")) {
			out = append(out, "null")
		}
		return out
	}
	for _, hint := range []struct{ keyword, kind string }{
		{"properties", "object"}, {"required", "object"}, {"additionalProperties", "object"}, {"patternProperties", "object"},
		{"items", "array"}, {"prefixItems", "array"}, {"minItems", "array"},
		{"minimum", "number"}, {"maximum", "number"}, {"exclusiveMinimum", "number"}, {"multipleOf", "number"},
	} {
		if _, ok := n[hint.keyword]; ok {
			return []string{hint.kind}
		}
	}
	return []string{"string"}
}
