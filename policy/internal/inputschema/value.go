package inputschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A kind is a JSON type, as a bit so that several can be allowed at once.
type kind uint8

const (
	kindNull kind = 1 << iota
	kindBoolean
	kindNumber
	kindInteger // only in sets: an integer's own kind is kindNumber
	kindString
	kindArray
	kindObject

	kindNone kind = 0
)

var kindNames = []struct {
	kind    kind
	name    string
	article string
}{
	{kindNull, "null", "null"},
	{kindBoolean, "boolean", "a boolean"},
	{kindNumber, "number", "a number"},
	{kindInteger, "integer", "an integer"},
	{kindString, "string", "a string"},
	{kindArray, "array", "an array"},
	{kindObject, "object", "an object"},
}

// article names one kind with its article.
func (k kind) article() string {
	for _, n := range kindNames {
		if n.kind == k {
			return n.article
		}
	}
	return "no JSON value"
}

// alternatives names the kinds of a set, like "a string or null".
func (k kind) alternatives() string {
	var names []string
	for _, n := range kindNames {
		if k&n.kind != 0 {
			names = append(names, n.article)
		}
	}
	return joinOr(names)
}

// kindNamed returns the kind with a keyword's name.
func kindNamed(name string) kind {
	for _, n := range kindNames {
		if n.name == name {
			return n.kind
		}
	}
	return kindNone
}

// kindOf returns the kind of a decoded JSON value, kindNone for anything else.
func kindOf(v any) kind {
	switch v.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBoolean
	case string:
		return kindString
	case json.Number, float64, float32, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return kindNumber
	case []any:
		return kindArray
	case map[string]any:
		return kindObject
	default:
		return kindNone
	}
}

// literal returns a number's JSON literal.
func literal(v any) string {
	switch v := v.(type) {
	case json.Number:
		return string(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

const (
	maxLiteral  = 4096
	maxExponent = 9999
)

// checkLiteral returns an error for a number that exact arithmetic would fail on or
// take too long over. strictjson lets none through by default.
func checkLiteral(s string) error {
	if len(s) > maxLiteral {
		return fmt.Errorf("a number has %d characters, more than %d", len(s), maxLiteral)
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return fmt.Errorf("a number's exponent is beyond %d", maxExponent)
		}
	}
	// Rat also reads fractions and other bases.
	if _, ok := new(big.Rat).SetString(s); !ok || strings.Trim(s, "0123456789+-.eE") != "" {
		return errors.New("a number is not finite, or not a number")
	}
	return nil
}

// plainInteger reports whether s is an optional minus and up to 18 digits: the usual
// number, which needs no exact arithmetic.
func plainInteger(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if s == "" || len(s) > 18 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// isInteger reports whether the number with literal s, which was checked, has no
// fraction.
func isInteger(s string) bool {
	if plainInteger(s) {
		return true
	}
	r, ok := new(big.Rat).SetString(s)
	return ok && r.IsInt()
}

// numberKey returns the same string for all literals of the same number, and for no
// others: its digits without zeros at either end, and the power of ten.
func numberKey(s string) string {
	s, negative := strings.CutPrefix(s, "-")
	exponent := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(s[i+1:]) // in range: the literal was checked
		s = s[:i]
	}
	if whole, fraction, ok := strings.Cut(s, "."); ok {
		s = whole + fraction
		exponent -= len(fraction)
	}
	s = strings.TrimLeft(s, "0")
	if s == "" {
		return "0"
	}
	digits := strings.TrimRight(s, "0")
	exponent += len(s) - len(digits)
	key := digits + "e" + strconv.Itoa(exponent)
	if negative {
		key = "-" + key
	}
	return key
}

// appendKey appends to b an encoding of v that equal values share, and no others. It
// charges for the work.
func (b *budget) appendKey(to []byte, v any) []byte {
	b.spend(1)
	switch v := v.(type) {
	case nil:
		return append(to, 'z')
	case bool:
		return strconv.AppendBool(to, v)
	case string:
		b.spend(len(v) / bytesPerUnit)
		to = strconv.AppendInt(append(to, 's'), int64(len(v)), 10)
		return append(append(to, ':'), v...)
	case []any:
		to = strconv.AppendInt(append(to, 'a'), int64(len(v)), 10)
		to = append(to, ':')
		for _, e := range v {
			to = b.appendKey(to, e)
		}
		return to
	case map[string]any:
		to = strconv.AppendInt(append(to, 'o'), int64(len(v)), 10)
		to = append(to, ':')
		b.spend(len(v))
		for _, name := range sortedNames(v) {
			to = b.appendKey(to, name)
			to = b.appendKey(to, v[name])
		}
		return to
	default:
		return append(append(to, b.number(v)...), ';')
	}
}

// number returns the key of a number.
func (b *budget) number(v any) string {
	if kindOf(v) != kindNumber {
		panic(notJSON(v))
	}
	s := literal(v)
	b.spend(len(s) / bytesPerUnit)
	if !plainInteger(s) {
		if err := checkLiteral(s); err != nil {
			panic(badValue{err})
		}
	}
	return numberKey(s)
}

// equal reports whether x and y are the same JSON value. It charges for the work.
func (b *budget) equal(x, y any) bool {
	b.spend(1)
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, ex := range x {
			ey, ok := y[name]
			if !ok || !b.equal(ex, ey) {
				return false
			}
		}
		return true
	case []any:
		y, ok := y.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !b.equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case string:
		y, ok := y.(string)
		return ok && x == y
	case bool:
		y, ok := y.(bool)
		return ok && x == y
	case nil:
		return y == nil
	default:
		return kindOf(y) == kindNumber && b.number(x) == b.number(y)
	}
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// same reports whether two containers are one and the same, not only equal.
func same(x, y any) bool {
	vx, vy := reflect.ValueOf(x), reflect.ValueOf(y)
	return vx.Kind() == vy.Kind() && (vx.Kind() == reflect.Map || vx.Kind() == reflect.Slice) &&
		vx.Pointer() == vy.Pointer() && vx.Len() == vy.Len()
}
