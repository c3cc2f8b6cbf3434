package validatortest

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// A change makes arguments that a schema is likely to refuse.
type change struct {
	fact   string
	what   string // for a failure's message
	change func(arguments object)
}

// changes lists what can be done to the arguments of a schema, for objects within
// objects too. Whether the schema refuses the result is for a gate to say.
func (s *schemaReader) changes(schema any, path []string) []change {
	if len(path) > 3 {
		return nil
	}
	m := s.resolve(schema, 0)
	list := []change{{undeclared, where(path, "an argument that nobody declared"), func(a object) {
		if o := inside(a, path); o != nil {
			o["regogate-undeclared"] = "x"
		}
	}}}
	required, _ := m["required"].([]any)
	for _, r := range required {
		if name, ok := r.(string); ok {
			list = append(list, change{missing, where(path, name+" is missing"), func(a object) { delete(inside(a, path), name) }})
		}
	}
	properties, _ := m["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := s.resolve(properties[name], 0)
		set := func(fact, what string, v any) {
			list = append(list, change{fact, where(path, name+" "+what), func(a object) {
				if o := inside(a, path); o != nil {
					o[name] = v
				}
			}})
		}
		for _, wrong := range []any{json.Number("7"), "7", true, nil, []any{}, object{}} {
			set(wrongType, "has another type", wrong)
		}
		for _, far := range outOfRangeValues(s, property) {
			set(outOfRange, "is out of range", far)
		}
		_, patterned := property["pattern"]
		_, formatted := property["format"]
		if patterned || formatted {
			for _, text := range append([]string{"\x01", "~"}, usual...) {
				set(pattern, "doesn't match", text)
			}
		}
		if typeOf(property) == "object" {
			list = append(list, s.changes(property, append(slices.Clone(path), name))...)
		}
	}
	return list
}

func where(path []string, what string) string {
	if len(path) == 0 {
		return what
	}
	return strings.Join(path, "/") + ": " + what
}

// inside returns the object at a path, nil when there is none.
func inside(a object, path []string) object {
	for _, name := range path {
		next, ok := a[name].(object)
		if !ok {
			return nil
		}
		a = next
	}
	return a
}

// outOfRangeValues are beyond the bounds that a schema sets.
func outOfRangeValues(s *schemaReader, m object) (far []any) {
	one := big.NewRat(1, 1)
	if least, _ := bound(m, "minimum", "exclusiveMinimum"); least != nil {
		far = append(far, literal(new(big.Rat).Sub(least, one)))
	}
	if most, _ := bound(m, "maximum", "exclusiveMaximum"); most != nil {
		far = append(far, literal(new(big.Rat).Add(most, one)))
	}
	if n := number(m, "minLength", 0); n > 0 && n < 1<<16 {
		far = append(far, strings.Repeat("a", n-1))
	}
	if n := number(m, "maxLength", -1); n >= 0 && n < 1<<16 {
		far = append(far, strings.Repeat("a", n+1))
	}
	if n := number(m, "minItems", 0); n > 0 && n < 1<<10 {
		far = append(far, slices.Repeat([]any{s.value(m["items"], 1)}, n-1))
	}
	if n := number(m, "maxItems", -1); n >= 0 && n < 1<<10 {
		far = append(far, slices.Repeat([]any{s.value(m["items"], 1)}, n+1))
	}
	if _, listed := m["enum"]; listed {
		far = append(far, "regogate-not-listed")
	}
	return far
}

// odd are values that a careless type assertion falls over.
var odd = []any{nil, "", " ", "\u0000", strings.Repeat("é", 5000), json.Number("9007199254740993"), json.Number("-0.0"), json.Number("1e308"),
	false, []any{}, []any{nil, []any{}}, object{}, object{"": nil}}
