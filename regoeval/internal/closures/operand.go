package closures

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

type operandKind uint8

const (
	fromLocal operandKind = iota
	fromSlot
	fromConstant
	fromInput
	fromData
)

// An operand says where a statement finds a value.
type operand struct {
	kind     operandKind
	index    int       // of a local or a slot
	constant *constant // of fromConstant
	// path says that it was reached from data by a reference, and not through a
	// variable. topdown takes such a reference for a path of the store, in which
	// numbers are names as well.
	path bool
}

func (o *operand) get(f *frame) *val {
	switch o.kind {
	case fromLocal:
		return &f.locals[o.index]
	case fromSlot:
		return f.eval.slot(f.in, o.index)
	case fromConstant:
		return &o.constant.val
	case fromInput:
		return &f.in.val
	default:
		return &f.data.val
	}
}

func (o *operand) isConstantText() bool {
	return o.kind == fromConstant && o.constant.val.kind == text
}

// A constant is a value that is known when the rules are compiled.
type constant struct {
	val   val
	table *table // of a collection; nil where it is too large for one
}

// A table makes looking into a constant collection cheap.
type table struct {
	byName map[string]*val     // an object all of whose keys are strings
	elems  []val               // an array
	texts  map[string]struct{} // what is in it, when that is nothing but strings
}

// maxTable is the largest collection that gets a table. A table costs memory beside the
// document itself.
const maxTable = 20_000

// Data is the data document of a ruleset, and the tables that its programs share.
type Data struct {
	root     val
	tables   map[ast.Value]*table
	twinKeys *twinKeys // see keyed.go
}

// NewData makes the data document known to compilations. It must not change any more.
func NewData(v ast.Value) *Data {
	return &Data{root: fromTerm(v), tables: map[ast.Value]*table{}}
}

// constant returns v as an operand, with the table that belongs to it.
func (d *Data) constant(v val) operand {
	c := &constant{val: v}
	if v.kind == term {
		c.table = d.table(v.other.(ast.Value))
	}
	return operand{kind: fromConstant, constant: c}
}

func scalarOperand(v val) operand {
	return operand{kind: fromConstant, constant: &constant{val: v}}
}

func (d *Data) table(x ast.Value) *table {
	if t, ok := d.tables[x]; ok {
		return t
	}
	t := newTable(x)
	d.tables[x] = t
	return t
}

func newTable(x ast.Value) *table {
	t := &table{}
	texts := map[string]struct{}{}
	add := func(v val) {
		if v.kind == text && texts != nil {
			texts[v.s] = struct{}{}
		} else {
			texts = nil
		}
	}
	switch c := x.(type) {
	case *ast.Array:
		if c.Len() > maxTable {
			return nil
		}
		t.elems = make([]val, c.Len())
		for i := range t.elems {
			t.elems[i] = constantVal(c.Elem(i).Value)
			add(t.elems[i])
		}
	case ast.Object:
		if c.Len() > maxTable {
			return nil
		}
		t.byName = make(map[string]*val, c.Len())
		c.Foreach(func(k, v *ast.Term) {
			cv := constantVal(v.Value)
			add(cv)
			if name, ok := k.Value.(ast.String); ok && t.byName != nil {
				t.byName[string(name)] = &cv
			} else {
				t.byName = nil
			}
		})
	case ast.Set:
		if c.Len() > maxTable {
			return nil
		}
		c.Foreach(func(k *ast.Term) { add(constantVal(k.Value)) })
	}
	t.texts = texts
	return t
}
