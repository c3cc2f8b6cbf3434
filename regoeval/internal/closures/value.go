package closures

import (
	"encoding/json"
	"net/netip"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

type kind uint8

const (
	unset      kind = iota // no value was ever assigned: reads as undefined
	absent                 // found to be undefined, and remembered as such
	null                   //
	boolean                // n is 0 or 1
	number                 // s is the literal, or "" when computed; exact says that n is its value
	text                   // s; other holds a parsed network where a constant is one
	list                   // other is []any, decoded JSON
	record                 // other is map[string]any, decoded JSON
	document               // other is a Document: the input
	term                   // other is *ast.Array, ast.Object or ast.Set, never changed
	setMade                // other is nil or an ast.Set that is being made
	listMade               // other is a *listMaker
	recordMade             // other is a *recordMaker
)

// A val is a Rego value, or none.
type val struct {
	kind  kind
	exact bool
	mixed bool // of a set that is written with variables in it: its order isn't the set's
	n     int64
	s     string
	other any
}

func (v *val) defined() bool { return v.kind > absent }

func (v *val) isFalse() bool { return v.kind == boolean && v.n == 0 }

func boolVal(b bool) val {
	if b {
		return val{kind: boolean, n: 1}
	}
	return val{kind: boolean}
}

func intVal(n int64) val { return val{kind: number, exact: true, n: n} }

func textVal(s string) val { return val{kind: text, s: s} }

// maxExactDigits keeps every exact number, and the sum of two, within int64.
const maxExactDigits = 18

// numberVal keeps the literal, which OPA would print unchanged, and the value of a
// plain integer.
func numberVal(s string) val {
	v := val{kind: number, s: s}
	digits := strings.TrimPrefix(s, "-")
	if len(digits) == 0 || len(digits) > maxExactDigits {
		return v
	}
	var n int64
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return v
		}
		n = n*10 + int64(d)
	}
	if len(digits) != len(s) {
		n = -n
	}
	v.exact, v.n = true, n
	return v
}

// fromJSON wraps decoded JSON; what is below it stays as it is. x may also be, or hold,
// a value of OPA's: `with` puts them in.
func (e *evaluation) fromJSON(x any) (v val) {
	e.setJSON(&v, x)
	return v
}

// setJSON is fromJSON for where the value is to be.
func (e *evaluation) setJSON(v *val, x any) {
	switch y := x.(type) {
	case string:
		*v = val{kind: text, s: y}
	case json.Number:
		*v = numberVal(string(y))
		if !v.exact {
			if _, err := ast.NumberChecked(string(y)); err != nil {
				e.halt(err)
			}
		}
	case bool:
		*v = boolVal(y)
	case nil:
		*v = val{kind: null}
	case map[string]any:
		*v = val{kind: record, other: x} // x, not y: boxing a map is free, boxing a slice isn't
	case []any:
		*v = val{kind: list, other: x}
	case ast.Value:
		*v = fromTerm(y)
	default:
		made, err := ast.InterfaceToValue(x)
		if err != nil {
			e.halt(err)
			made = nil
		}
		*v = fromTerm(made)
	}
}

func fromTerm(x ast.Value) val {
	switch x := x.(type) {
	case nil:
		return val{}
	case ast.Null:
		return val{kind: null}
	case ast.Boolean:
		return boolVal(bool(x))
	case ast.Number:
		return numberVal(string(x))
	case ast.String:
		return textVal(string(x))
	}
	return val{kind: term, other: x}
}

// constantVal is fromTerm for what never changes: an IPv4 network is parsed once.
func constantVal(x ast.Value) val {
	v := fromTerm(x)
	if v.kind == text {
		if p, err := netip.ParsePrefix(v.s); err == nil && p.Addr().Is4() {
			v.other = p.Masked()
		}
	}
	return v
}
