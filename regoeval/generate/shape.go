package generate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Property is one argument, or a part of one, as its schema declares it.
type Property struct {
	Path     []string // names from the arguments down; "[]" for the elements of an array
	Type     string   // for people: string, integer, array of string, "a" | "b", …
	Required bool     // where what contains it is there
}

// Shape lists what a tool's input schema declares, in order, up to most properties.
// more says how many are left out. Names and values come from the schema as they are:
// whoever shows them has to make them harmless.
func Shape(schema []byte, most int) (properties []Property, more int, err error) {
	root, err := readSchema(schema)
	if err != nil {
		return nil, 0, err
	}
	s := shaper{maker: maker{root: root}, most: most}
	for _, top := range s.branches(root, 0)[:1] {
		s.object(top, nil)
	}
	return s.properties, s.more, nil
}

type shaper struct {
	maker
	properties []Property
	most, more int
}

const shapeDepth = 3

func (s *shaper) object(n node, path []string) {
	for _, name := range n.names() {
		if len(s.properties) >= s.most {
			s.more++
			continue
		}
		at := append(append([]string{}, path...), name)
		alternatives := s.branches(n.property(name), 0)
		var types []string
		for _, a := range alternatives {
			if t := s.typeOf(a, 0); len(types) == 0 || types[len(types)-1] != t {
				types = append(types, t)
			}
		}
		s.properties = append(s.properties, Property{Path: at, Type: strings.Join(types, " | "), Required: n.requires(name)})
		if len(at) >= shapeDepth {
			continue
		}
		for _, a := range alternatives {
			s.inside(a, at)
		}
	}
}

// inside goes on into objects and into arrays of them.
func (s *shaper) inside(n node, at []string) {
	if _, is := n["properties"].(map[string]any); is {
		s.object(n, at)
		return
	}
	if items, is := n["items"].(map[string]any); is {
		item := s.branches(items, 0)[0]
		if _, is := item["properties"].(map[string]any); is {
			s.object(item, append(append([]string{}, at...), "[]"))
		}
	}
}

// typeOf says what a value may be.
func (s *shaper) typeOf(n node, depth int) string {
	if v, ok := n["const"]; ok {
		return text(v)
	}
	if values := list(n["enum"]); len(values) > 0 {
		return oneOfText(values)
	}
	if n["type"] == nil && n["properties"] == nil && n["items"] == nil {
		return "any value"
	}
	var kinds []string
	for _, kind := range n.types() {
		if kind == "array" && depth < 3 {
			if items, ok := n["items"].(map[string]any); ok {
				kind = "array of " + s.typeOf(s.branches(items, 0)[0], depth+1)
			}
		}
		kinds = append(kinds, kind)
	}
	return strings.Join(kinds, " or ") + bounds(n)
}

func oneOfText(values []any) string {
	const shown = 8
	var parts []string
	for _, v := range values[:min(len(values), shown)] {
		parts = append(parts, text(v))
	}
	if more := len(values) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, " | ")
}

// bounds says what else limits a value.
func bounds(n node) string {
	var parts []string
	if f, ok := n["format"].(string); ok {
		parts = append(parts, f)
	}
	for _, b := range []struct{ keyword, text string }{
		{"minimum", "at least "}, {"exclusiveMinimum", "above "}, {"maximum", "at most "}, {"exclusiveMaximum", "below "},
		{"minLength", "length at least "}, {"maxLength", "length at most "}, {"minItems", "items at least "}, {"maxItems", "items at most "},
	} {
		if v, ok := n[b.keyword].(json.Number); ok {
			parts = append(parts, b.text+text(v))
		}
	}
	if v, ok := n["default"]; ok {
		parts = append(parts, "default "+text(v))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// text is a value as short JSON.
func text(v any) string {
	raw, err := encode(v)
	if err != nil {
		return "?"
	}
	const most = 60
	if s := []rune(string(raw)); len(s) > most {
		return string(s[:most]) + "… (" + strconv.Itoa(len(s)) + " characters)"
	}
	return string(raw)
}
