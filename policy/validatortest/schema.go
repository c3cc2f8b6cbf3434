package validatortest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/regogate/regogate/policy/strictjson"
)

// An object is a decoded JSON object.
type object = map[string]any

// maxDepth bounds how deep values are made, for schemas that refer to themselves.
const maxDepth = 6

// A schemaReader makes values for the schemas of one document.
type schemaReader struct{ root object }

func readSchema(raw []byte) (*schemaReader, error) {
	root, err := strictjson.ParseObject(raw, strictjson.Limits{Bytes: 16 << 20})
	if err != nil {
		return nil, fmt.Errorf("the tool's input schema: %w", err)
	}
	return &schemaReader{root}, nil
}

// resolve follows local references and lays the parts of allOf over each other, and the
// first alternative of anyOf and oneOf, which is as much as making one value needs.
func (s *schemaReader) resolve(schema any, depth int) object {
	m, ok := schema.(object)
	if !ok || depth > maxDepth {
		return object{}
	}
	out := maps.Clone(m)
	if ref, ok := m["$ref"].(string); ok && strings.HasPrefix(ref, "#") {
		overlay(out, s.resolve(s.lookup(ref[1:]), depth+1))
	}
	if all, ok := m["allOf"].([]any); ok {
		for _, part := range all {
			overlay(out, s.resolve(part, depth+1))
		}
	}
	for _, either := range []string{"anyOf", "oneOf"} {
		if some, ok := m[either].([]any); ok && len(some) > 0 {
			overlay(out, s.resolve(some[0], depth+1))
		}
	}
	return out
}

// overlay adds to a schema what another one says beside it.
func overlay(to, from object) {
	for key, value := range from {
		have, there := to[key]
		switch properties, isObject := have.(object); {
		case !there:
			to[key] = value
		case key == "properties" && isObject:
			if more, ok := value.(object); ok {
				both := maps.Clone(more)
				maps.Copy(both, properties)
				to[key] = both
			}
		case key == "required":
			a, _ := have.([]any)
			b, _ := value.([]any)
			to[key] = append(slices.Clone(a), b...)
		}
	}
}

func (s *schemaReader) lookup(pointer string) any {
	var v any = s.root
	for _, name := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			return v
		}
		m, ok := v.(object)
		if !ok {
			return nil
		}
		v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return v
}

// value makes a value that the schema is likely to accept.
func (s *schemaReader) value(schema any, depth int) any {
	m := s.resolve(schema, 0)
	if v, ok := m["const"]; ok {
		return v
	}
	for _, key := range []string{"enum", "examples"} {
		if list, ok := m[key].([]any); ok && len(list) > 0 {
			return list[0]
		}
	}
	if v, ok := m["default"]; ok && v != nil {
		return v
	}
	switch typeOf(m) {
	case "object":
		return s.objectValue(m, depth)
	case "array":
		list := []any{}
		for range min(number(m, "minItems", 0), 16) {
			list = append(list, s.value(m["items"], depth+1))
		}
		return list
	case "string":
		return stringValue(m)
	case "boolean":
		return true
	case "null":
		return nil
	case "integer", "number":
		return numberValue(m)
	default:
		return "text"
	}
}

func (s *schemaReader) objectValue(m object, depth int) object {
	out := object{}
	properties, _ := m["properties"].(object)
	required, _ := m["required"].([]any)
	for name, schema := range properties {
		if depth < 2 || slices.Contains(required, any(name)) && depth < maxDepth {
			out[name] = s.value(schema, depth+1)
		}
	}
	for _, name := range required {
		if name, ok := name.(string); ok {
			if _, there := out[name]; !there && depth < maxDepth {
				out[name] = s.value(m["additionalProperties"], depth+1)
			}
		}
	}
	return out
}

// typeOf returns the type that values are made of.
func typeOf(m object) string {
	switch t := m["type"].(type) {
	case string:
		return t
	case []any:
		for _, name := range t {
			if name, ok := name.(string); ok && name != "null" {
				return name
			}
		}
		return "null"
	}
	for _, hint := range [][2]string{{"properties", "object"}, {"required", "object"}, {"items", "array"}, {"pattern", "string"},
		{"format", "string"}, {"minLength", "string"}, {"maxLength", "string"}, {"minimum", "number"}, {"maximum", "number"}} {
		if _, ok := m[hint[0]]; ok {
			return hint[1]
		}
	}
	return ""
}

// number returns a keyword's value as a small number.
func number(m object, key string, def int) int {
	if n, ok := m[key].(json.Number); ok {
		if f, err := n.Float64(); err == nil && f >= -1e9 && f <= 1e9 {
			return int(f)
		}
	}
	return def
}
