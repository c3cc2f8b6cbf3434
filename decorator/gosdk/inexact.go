package gosdk

import (
	"encoding"
	stdjson "encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy/strictjson"
)

// inexactIn returns what finds a number in arguments that is rounded when they are
// decoded into a value of type t.
func inexactIn(t reflect.Type) func(arguments []byte) error {
	narrow := hasFloat32(t, map[reflect.Type]bool{})
	return func(arguments []byte) error {
		if !narrow && adapter.Inexact(arguments) == nil {
			return nil // the usual case, without looking at the type
		}
		v, err := strictjson.Parse(arguments, generous)
		if err != nil {
			return nil // the gate refuses it, and says why
		}
		return rounded(v, t, "")
	}
}

// rounded looks for a number that t doesn't hold where it goes, at a JSON Pointer.
func rounded(v any, t reflect.Type, pointer string) error {
	for t.Kind() == reflect.Pointer && !decodesItself(t) {
		t = t.Elem()
	}
	if decodesItself(t) {
		return nil
	}
	switch v := v.(type) {
	case stdjson.Number:
		if holds(t, v.String()) {
			return nil
		}
		return fmt.Errorf("%s: the handler would get another number than was sent, because a %v doesn't hold that one exactly", pointer, t)
	case []any:
		switch t.Kind() {
		case reflect.Slice, reflect.Array:
			t = t.Elem()
		case reflect.Interface:
		default:
			return nil // can't be decoded, so the handler doesn't run
		}
		for i, e := range v {
			if err := rounded(e, t, fmt.Sprintf("%s/%d", pointer, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, e := range v {
			if member, ok := memberType(t, name); ok {
				if err := rounded(e, member, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// holds reports whether a value of type t can be the number that a literal stands for.
func holds(t reflect.Type, literal string) bool {
	switch t.Kind() {
	case reflect.Float64, reflect.Interface:
		return adapter.Survives(literal)
	case reflect.Float32:
		return adapter.Survives32(literal)
	default:
		return true // integers are exact or an error, strings keep the literal
	}
}

// decodesItself reports whether a type reads its JSON itself, or keeps it as it is.
func decodesItself(t reflect.Type) bool {
	for _, method := range []reflect.Type{
		reflect.TypeFor[stdjson.Unmarshaler](), reflect.TypeFor[json.UnmarshalerFrom](), reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if t.Implements(method) || reflect.PointerTo(t).Implements(method) {
			return true
		}
	}
	return false
}

// memberType returns the type that an object's member is decoded into, if any is.
func memberType(t reflect.Type, name string) (reflect.Type, bool) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), true
	case reflect.Interface:
		return t, true
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && (tag == name || tag == "" && f.Name == name) {
				return f.Type, true
			}
		}
	}
	return nil, false
}

// hasFloat32 reports whether a float32 is decoded somewhere in a value of type t.
func hasFloat32(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || decodesItself(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Float32:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return hasFloat32(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if hasFloat32(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}
