package closures

import (
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
)

// replaced makes the input or the data document that `with` asks for: v at a path below
// the old one. Nothing of the old one is changed.
func (e *evaluation) replaced(old *root, path []string, v *val, isInput bool) *root {
	n := &root{}
	if isInput {
		*n = e.newInput()
	}
	n.val = e.upsert(old.val, path, v)
	return n
}

// upsert puts v at a path below base. What isn't an object on the way becomes one.
func (e *evaluation) upsert(base val, path []string, v *val) val {
	if len(path) == 0 {
		return *v
	}
	switch base.kind {
	case record:
		return e.upsertJSON(maps.Clone(base.other.(map[string]any)), path, v)
	case document:
		return e.upsertJSON(base.other.(Document).Whole(), path, v)
	}
	var o ast.Value
	if base.defined() {
		o = base.toTerm(e)
	}
	return fromTerm(upsertTerm(o, path, v.toTerm(e)))
}

// upsertJSON changes m, which is the caller's own.
func (e *evaluation) upsertJSON(m map[string]any, path []string, v *val) val {
	var child val
	if x, ok := m[path[0]]; ok {
		child = e.fromJSON(x)
	}
	child = e.upsert(child, path[1:], v)
	switch child.kind {
	case record, list:
		m[path[0]] = child.other
	default:
		m[path[0]] = child.toTerm(e)
	}
	return val{kind: record, other: m}
}

// hides reports whether v, at a path of data, hides something of an object in data: for
// who reads what is above, topdown merges the two objects.
func (e *evaluation) hides(path []string, v *val) bool {
	old := e.data.val
	for _, name := range path {
		key := textVal(name)
		if old = e.get(&old, &key); !old.defined() {
			return false
		}
	}
	if old.kind != term || len(path) == 0 {
		return false
	}
	under, ok := old.other.(ast.Object)
	if !ok || v.kind <= text {
		return false
	}
	over, ok := v.toTerm(e).(ast.Object)
	return ok && merged(over, under).Compare(over) != 0
}

func upsertTerm(base ast.Value, path []string, v ast.Value) ast.Value {
	if len(path) == 0 {
		return v
	}
	key := ast.StringTerm(path[0])
	out := ast.NewObject()
	var child ast.Value
	if o, ok := base.(ast.Object); ok {
		o.Foreach(func(k, x *ast.Term) {
			if k.Equal(key) {
				child = x.Value
			} else {
				out.Insert(k, x)
			}
		})
	}
	out.Insert(key, ast.NewTerm(upsertTerm(child, path[1:], v)))
	return out
}

// merged puts b under a: where both have a key, a wins, and objects are merged.
func merged(a, b ast.Object) ast.Object {
	out := ast.NewObject()
	b.Foreach(func(k, v *ast.Term) { out.Insert(k, v) })
	a.Foreach(func(k, v *ast.Term) {
		if other := b.Get(k); other != nil {
			x, ok1 := v.Value.(ast.Object)
			y, ok2 := other.Value.(ast.Object)
			if ok1 && ok2 {
				v = ast.NewTerm(merged(x, y))
			}
		}
		out.Insert(k, v)
	})
	return out
}
