package inputschema

import (
	"net/url"
	"strconv"
	"strings"
)

// maxOddWork bounds the references to places where the dialects know no subschema,
// such as #/x/y, times the size of the document: the engine copies what it knows of
// the document for each.
const maxOddWork = 1_000_000

// How keywords hold subschemas.
const (
	holdsOne = 1 << iota
	holdsList
	holdsMap
)

var holders = map[string]int{
	"$defs": holdsMap, "definitions": holdsMap, "properties": holdsMap, "patternProperties": holdsMap,
	"dependentSchemas": holdsMap, "dependencies": holdsMap,
	"allOf": holdsList, "anyOf": holdsList, "oneOf": holdsList, "prefixItems": holdsList, "items": holdsOne | holdsList,
	"not": holdsOne, "if": holdsOne, "then": holdsOne, "else": holdsOne, "additionalProperties": holdsOne,
	"propertyNames": holdsOne, "unevaluatedProperties": holdsOne, "additionalItems": holdsOne, "contains": holdsOne,
	"unevaluatedItems": holdsOne, "contentSchema": holdsOne,
}

// isOdd reports whether a reference may lead to a place where the dialects know no
// subschema. Old dialects don't know all holders.
func isOdd(ref string, before2019, before2020 bool) bool {
	_, fragment, _ := strings.Cut(ref, "#")
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if !strings.HasPrefix(fragment, "/") {
		return false // the root, or an anchor
	}
	tokens := strings.Split(fragment[1:], "/")
	for len(tokens) > 0 {
		holds := holders[tokens[0]]
		switch tokens[0] {
		case "$defs", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
			if before2019 {
				return true
			}
		case "prefixItems":
			if before2020 {
				return true
			}
		}
		tokens = tokens[1:]
		switch {
		case holds&holdsMap != 0 && len(tokens) > 0:
			tokens = tokens[1:]
		case holds&holdsList != 0 && len(tokens) > 0 && isIndex(tokens[0]):
			tokens = tokens[1:]
		case holds&holdsOne != 0:
		default:
			return true
		}
	}
	return false
}

func isIndex(token string) bool {
	_, err := strconv.Atoi(token)
	return err == nil
}

// whereReferred returns the place of a reference that leads to a URL outside, as far
// as the texts of both tell.
func (d *document) whereReferred(url string) string {
	var at []string
	var find func(v any) bool
	find = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range sortedNames(v) {
				at = append(at, name)
				if ref, ok := v[name].(string); ok && (strings.HasSuffix(name, "ef") || name == "$schema") {
					outside, _, _ := strings.Cut(ref, "#")
					if outside != "" && strings.HasSuffix(url, strings.TrimLeft(outside, "./")) {
						return true
					}
				}
				if find(v[name]) {
					return true
				}
				at = at[:len(at)-1]
			}
		case []any:
			for i, e := range v {
				at = append(at, strconv.Itoa(i))
				if find(e) {
					return true
				}
				at = at[:len(at)-1]
			}
		}
		return false
	}
	find(d.value)
	return "#" + pointerTo(at)
}
