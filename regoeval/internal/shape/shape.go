// Package shape describes sets of values before any of them is known: which kinds a
// value can have, which constants it can be, what members it declares.
//
// A shape over-approximates: it may admit values that never occur, and never leaves
// out one that does. Two shapes without a common value therefore prove that a
// comparison never holds, and everything else proves nothing. Members are made when
// they are looked at, so that a schema of megabytes costs what the rules look into.
//
// # Limits
//
// Shapes know constants of scalars only, no bounds, lengths or patterns. A shape is
// for one goroutine: its members are filled in on first use.
package shape

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Kinds is a set of kinds of values.
type Kinds uint8

// The kinds in the order in which Rego compares values of different kinds.
const (
	Null Kinds = 1 << iota
	Boolean
	Number
	String
	Array
	Object
	Set

	Scalar = Null | Boolean | Number | String
	JSON   = Scalar | Array | Object
	All    = JSON | Set
)

var kindNames = []struct {
	kind Kinds
	name string
}{{Null, "null"}, {Boolean, "boolean"}, {Number, "number"}, {String, "string"}, {Array, "array"}, {Object, "object"}, {Set, "set"}}

// Names lists the kinds as JSON calls them.
func (k Kinds) Names() []string {
	var out []string
	for _, n := range kindNames {
		if k&n.kind != 0 {
			out = append(out, n.name)
		}
	}
	return out
}

// Each calls f with every single kind in k.
func (k Kinds) Each(f func(Kinds)) {
	for _, n := range kindNames {
		if k&n.kind != 0 {
			f(n.kind)
		}
	}
}

// One reports whether k is a single kind.
func (k Kinds) One() bool { return bits.OnesCount8(uint8(k)) == 1 }

// KindOf returns the kind of a constant, 0 for what is none.
func KindOf(v ast.Value) Kinds {
	switch v.(type) {
	case ast.Null:
		return Null
	case ast.Boolean:
		return Boolean
	case ast.Number:
		return Number
	case ast.String:
		return String
	case *ast.Array:
		return Array
	case ast.Object:
		return Object
	case ast.Set:
		return Set
	default:
		return 0
	}
}

// A Shape is a set of values. It is immutable; the zero Shape has no value.
type Shape struct {
	Kinds Kinds
	// Limited are the scalar kinds of which only Values are possible.
	Limited Kinds
	Values  []ast.Value
	// Fields says what objects have, Items what arrays and sets have. nil says nothing.
	Fields *Fields
	Items  *Items
	// Path is where in the input document the value is, "" when it isn't from there as
	// it is: input.arguments.rows[_].id.
	Path string
	// FromCall says that the call brings the value along, or a part of it.
	FromCall bool
	// Made is where a value of the call was made a part of this one; nil when it is the
	// value as it came.
	Made *ast.Location
	Origin
}

// An Origin says what a value was made of, where that is known.
type Origin struct {
	// From is the place in the input document of which the value was made, Names the
	// place of which it is the name of a member, Data where in the data document it is.
	From, Names, Data string
	// KindOf is the place of which it is the name of the kind.
	KindOf string
	// Entries is how many elements a list has that is written out, or in the data.
	Entries int
	// Hints are the scalars that are in the data now. They may be others tomorrow: they
	// limit nothing.
	Hints []ast.Value
	// Case says that a text went through lower or upper.
	Case Case
	// Whole says that a number has no fraction.
	Whole bool
}

// A Case is what a text was made by: it has no letter that would come out different.
type Case uint8

// The cases.
const (
	AnyCase Case = iota
	Lower
	Upper
)

// Fits reports whether a text can be the result of a Case.
func (c Case) Fits(s string) bool {
	switch c {
	case Lower:
		return strings.ToLower(s) == s
	case Upper:
		return strings.ToUpper(s) == s
	default:
		return true
	}
}

// common is what is known of a value that is of either origin.
func (o Origin) common(p Origin) Origin {
	out := Origin{}
	if o.From == p.From {
		out.From = o.From
	}
	if o.Names == p.Names {
		out.Names = o.Names
	}
	if o.Data == p.Data {
		out.Data, out.Hints = o.Data, o.Hints
	}
	return out
}

// both is what is known of a value that is of both origins.
func (o Origin) both(p Origin) Origin {
	out := o
	out.Whole = o.Whole || p.Whole
	if out.Case == AnyCase {
		out.Case = p.Case
	}
	return out
}

// Anything returns the shape of every value.
func Anything() *Shape { return &Shape{Kinds: All} }

// Of returns the shape of all values of some kinds.
func Of(k Kinds) *Shape { return &Shape{Kinds: k} }

// Constant returns the shape of one scalar.
func Constant(v ast.Value) *Shape {
	k := KindOf(v)
	return &Shape{Kinds: k, Limited: k & Scalar, Values: []ast.Value{v}}
}

// Constants returns the shape of a few scalars.
func Constants(vs []ast.Value) *Shape {
	s := &Shape{Values: vs}
	for _, v := range vs {
		s.Kinds |= KindOf(v)
	}
	s.Limited = s.Kinds & Scalar
	return s
}

// Empty reports whether there is no value of this shape.
func (s *Shape) Empty() bool { return s.Kinds == 0 }

// Single returns the one value that is possible.
func (s *Shape) Single() (ast.Value, bool) {
	if len(s.Values) == 1 && s.Kinds == s.Limited && s.Kinds.One() {
		return s.Values[0], true
	}
	return nil, false
}

// Finite returns all values that are possible, when they are known.
func (s *Shape) Finite() ([]ast.Value, bool) {
	return s.Values, s.Kinds != 0 && s.Kinds == s.Limited && len(s.Values) > 0
}

// Only returns the values of s that are of kinds k.
func (s *Shape) Only(k Kinds) *Shape {
	if s.Kinds&^k == 0 {
		return s
	}
	out := *s
	out.Kinds &= k
	out.Limited &= k
	out.Values = ofKinds(s.Values, out.Limited)
	if out.Kinds&Object == 0 {
		out.Fields = nil
	}
	if out.Kinds&(Array|Set) == 0 {
		out.Items = nil
	}
	return &out
}

// At returns s as it is found at a place.
func (s *Shape) At(path string) *Shape {
	out := *s
	out.Path = path
	return &out
}

// Calls returns s as brought along by the call.
func (s *Shape) Calls() *Shape {
	if s.FromCall {
		return s
	}
	out := *s
	out.FromCall = true
	return &out
}

func ofKinds(vs []ast.Value, k Kinds) []ast.Value {
	var out []ast.Value
	for _, v := range vs {
		if KindOf(v)&k != 0 {
			out = append(out, v)
		}
	}
	return out
}

// Has reports whether the scalar v is possible.
func (s *Shape) Has(v ast.Value) bool {
	k := KindOf(v)
	if s.Kinds&k == 0 {
		return false
	}
	if s.Limited&k == 0 {
		return s.allows(v)
	}
	return slices.ContainsFunc(s.Values, func(x ast.Value) bool { return x.Compare(v) == 0 })
}

// allows reports whether nothing that is known of all values speaks against v.
func (s *Shape) allows(v ast.Value) bool {
	switch v := v.(type) {
	case ast.String:
		return s.Case.Fits(string(v))
	case ast.Number:
		return !s.Whole || whole(v)
	default:
		return true
	}
}

// whole reports whether a number has no fraction, as far as its text says.
func whole(n ast.Number) bool {
	_, fraction, ok := strings.Cut(string(n), ".")
	return !ok || strings.Trim(fraction, "0") == "" || strings.ContainsAny(fraction, "eE")
}
