package inputschema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"strings"

	"github.com/regogate/regogate/policy/strictjson"
)

// keywords are all keywords of all dialects, and what the values of those must be
// that the engine doesn't check for.
var keywords = map[string]kind{
	"$schema": kindString, "$id": kindString, "$ref": kindString, "$anchor": kindString, "$comment": kindString,
	"$dynamicRef": kindString, "$dynamicAnchor": kindString, "$recursiveRef": kindString, "$recursiveAnchor": kindBoolean,
	"$vocabulary": kindNone, "$defs": kindNone, "definitions": kindNone, "id": kindNone,

	"allOf": kindNone, "anyOf": kindNone, "oneOf": kindNone, "not": kindNone, "if": kindNone, "then": kindNone, "else": kindNone,
	"properties": kindNone, "patternProperties": kindNone, "additionalProperties": kindNone, "propertyNames": kindNone,
	"unevaluatedProperties": kindNone, "dependencies": kindNone, "dependentSchemas": kindNone, "dependentRequired": kindNone,
	"items": kindNone, "prefixItems": kindNone, "additionalItems": kindNone, "unevaluatedItems": kindNone,
	"contains": kindNone, "minContains": kindNone, "maxContains": kindNone,

	"type": kindNone, "enum": kindNone, "const": kindNone, "required": kindNone, "uniqueItems": kindBoolean,
	"minimum": kindNone, "maximum": kindNone, "exclusiveMinimum": kindNone, "exclusiveMaximum": kindNone, "multipleOf": kindNone,
	"minLength": kindNone, "maxLength": kindNone, "minItems": kindNone, "maxItems": kindNone,
	"minProperties": kindNone, "maxProperties": kindNone, "pattern": kindString,

	"format": kindString, "contentEncoding": kindString, "contentMediaType": kindString, "contentSchema": kindNone,
	"title": kindString, "description": kindString, "default": kindNone, "examples": kindNone,
	"deprecated": kindNone, "readOnly": kindNone, "writeOnly": kindNone,
}

// foldedKeywords leads from what a keyword folds to, to the keyword.
var foldedKeywords = func() map[string]string {
	m := make(map[string]string, len(keywords))
	for k := range keywords {
		m[strictjson.FoldName(k)] = k
	}
	return m
}()

// countKeywords have values that the engine keeps as 64-bit integers without looking
// whether they fit.
var countKeywords = []string{
	"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
}

// checkKeywords looks at one subschema for what the engine would overlook.
func checkKeywords(object map[string]any, location string) error {
	for _, name := range sortedNames(object) {
		if want, ok := keywords[name]; ok {
			if got := kindOf(object[name]); want != kindNone && got != want {
				return fmt.Errorf("%s/%s: must be %s, and is %s", pointerOf(location), escapeToken(name), want.article(), got.article())
			}
			continue
		}
		if like, ok := foldedKeywords[strictjson.FoldName(name)]; ok {
			return fmt.Errorf("%s: the name %.100q differs from the keyword %q by letter case only, so engines disagree about it: correct or remove it", pointerOf(location), name, like)
		}
	}
	for _, name := range countKeywords {
		n, ok := object[name].(json.Number)
		if !ok {
			continue // absent, or refused by the metaschema
		}
		if r, ok := new(big.Rat).SetString(string(n)); !ok || !r.IsInt() || !r.Num().IsInt64() {
			return fmt.Errorf("%s/%s: %s is not an integer that is less than 2^63", pointerOf(location), name, n)
		}
	}
	return nil
}

// pointerOf returns the part of the engine's location that is a JSON Pointer into the
// document, as a fragment.
func pointerOf(location string) string {
	outside, fragment, _ := strings.Cut(location, "#")
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	if outside == schemaURL {
		outside = ""
	}
	return outside + "#" + fragment
}

// pointerTo returns the JSON Pointer made of tokens.
func pointerTo(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(escapeToken(t))
	}
	return b.String()
}

func escapeToken(t string) string {
	return strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1")
}
