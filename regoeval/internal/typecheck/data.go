package typecheck

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

const (
	maxEntries = 4096 // of a list in the data, of which each is looked at
	longList   = 50   // a list that is better an object with its entries as keys
)

// inData returns what the data document has at the longest beginning of a place that no
// rule is at or below, and what is left of the place.
func (c *checker) inData(ref ast.Ref) (*shape.Shape, ast.Ref, bool) {
	if c.Data == nil {
		return nil, nil, false
	}
	node, n := c.Compiler.RuleTree, 0
	for n < len(ref) && node != nil {
		node = node.Child(ref[n].Value)
		n++
	}
	if node != nil || !ref[:n].IsGround() {
		return nil, nil, false
	}
	v, ok := c.Data(ref[:n])
	if !ok {
		return nil, nil, false
	}
	place := ref[:n].String()
	if c.Memory == nil {
		return dataShape(v, place), ref[n:], true
	}
	s, known := c.Memory.data[place]
	if !known {
		s = dataShape(v, place)
		c.Memory.data[place] = s
	}
	return s, ref[n:], true
}

// dataShape is what a value of the data is. It says of which kinds it and its parts
// are; which values there are is a hint, for tomorrow there may be others.
func dataShape(v any, place string) *shape.Shape {
	var out *shape.Shape
	switch v := v.(type) {
	case map[string]any:
		out = shape.Of(shape.Object)
		out.Fields = &shape.Fields{Openness: shape.Open, Members: map[string]*shape.Field{}, Required: map[string]bool{}}
		for name, m := range v {
			out.Fields.Members[name] = &shape.Field{Lazy: shape.Later(func() *shape.Shape { return dataShape(m, below(place, name)) })}
		}
	case []any:
		out = shape.Of(shape.Array)
		out.Entries = len(v)
		out.Items = &shape.Items{Rest: shape.Later(func() *shape.Shape { return elements(v, within(place)) })}
	default:
		x, err := ast.InterfaceToValue(v)
		if err != nil || shape.KindOf(x) == 0 {
			return shape.Anything()
		}
		out = shape.Of(shape.KindOf(x))
		out.Hints = []ast.Value{x}
	}
	out.Data = place
	return out
}

// elements is what any element of a list in the data is.
func elements(list []any, place string) *shape.Shape {
	if len(list) == 0 || len(list) > maxEntries {
		return shape.Anything()
	}
	out := &shape.Shape{}
	var hints []ast.Value
	for _, v := range list {
		s := dataShape(v, place)
		hints = append(hints, s.Hints...)
		out = shape.Union(out, s)
	}
	out = out.At("")
	out.Data, out.Hints = place, hints
	return out
}

// compareHints reports that none of the values that are in the data now is possible.
func (c *checker) compareHints(at place, a, b *shape.Shape) {
	if len(a.Hints) > 0 {
		a, b = b, a
	}
	if at.node == nil || subject(a) == "" || len(b.Hints) == 0 || b.Data == "" {
		return
	}
	t := c.visit(at.node, "data")
	if !slices.ContainsFunc(b.Hints, a.Has) {
		if f := mismatch(at.loc, a, shape.Constants(b.Hints)); f != nil {
			f.Message += fmt.Sprintf(", which is all that %s has", b.Data)
			f.Advice, f.Soft = true, f.Near == ""
			t.found(fails, f)
		}
	}
}

// memberHints reports entries of a list that are nearly what a value can be, and none
// of the values.
func (c *checker) memberHints(e *ast.Expr, x, all *shape.Shape) {
	entries := all.Hints
	if subject(all) == "" {
		entries = append(slices.Clone(entries), all.Values...)
	}
	if _, finite := x.Finite(); !finite || subject(x) == "" || len(entries) > maxEntries {
		return
	}
	if all.Data != "" && !slices.ContainsFunc(entries, x.Has) {
		c.compareHints(placeOf(e), x, all)
		return
	}
	for _, v := range entries {
		t := c.visit(e, "entry "+v.String())
		if x.Has(v) {
			continue
		}
		if f := mismatch(e.Location, x, shape.Constant(v)); f != nil && f.Near != "" {
			f.Advice = true
			t.found(fails, f)
		}
	}
}

// dataOperand reports a value of the data that a built-in doesn't take.
func (c *checker) dataOperand(e *ast.Expr, b *ast.Builtin, i int, s *shape.Shape, want types.Type) verdict {
	c.visit(e, fmt.Sprint("operand ", i)).found(errs, &Finding{
		Kind: DataType, Location: e.Location, Path: s.Data, Hard: true, Advice: true,
		Message: fmt.Sprintf("%s is %s, and %s takes %s: every call that gets there is undecided", s.Data, kinds(s), b.Name, typeName(want)),
		Fix:     "correct the data, or use a function for its type",
	})
	return perhaps
}

// long reports that a value is looked for in a long list.
func (c *checker) long(e *ast.Expr, coll *shape.Shape) {
	if coll.Kinds != shape.Array {
		return
	}
	if f := LongList(e.Location, coll.Data, coll.Entries); f != nil {
		c.visit(e, "long").found(fails, f)
	}
}

// LongList says that looking for a value in a list takes long; nil for a short one. data
// is the list's place in the data document, "" for one that is written out.
func LongList(at *ast.Location, data string, entries int) *Finding {
	if entries < longList {
		return nil
	}
	f := &Finding{Kind: ListLookup, Location: at, Path: data, Soft: true, Advice: true}
	if data == "" {
		f.Message = fmt.Sprintf("the list of %d entries is searched from its beginning at every call", entries)
		f.Fix = "write it as a set, {…}"
		return f
	}
	f.Message = fmt.Sprintf("%s is a list of %d entries, which is searched from its beginning at every call", data, entries)
	f.Fix = fmt.Sprintf("make it an object with the entries as keys, and ask %s[x]", data)
	return f
}

// text writes a constant as JSON.
func text(v ast.Value) string {
	if b, err := json.Marshal(v); err == nil {
		return string(b)
	}
	return v.String()
}
