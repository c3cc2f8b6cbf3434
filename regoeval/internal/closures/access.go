package closures

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

func (e *evaluation) equal(a, b *val) bool {
	switch {
	case a.kind == text && b.kind == text:
		return a.s == b.s
	case a.kind == number && b.kind == number && a.exact && b.exact:
		return a.n == b.n
	case a.kind == boolean && b.kind == boolean:
		return a.n == b.n
	case (a.kind <= text || b.kind <= text) && a.kind != b.kind: // a scalar and something of another type
		return false
	}
	return a.toTerm(e).Compare(b.toTerm(e)) == 0
}

// looksLike reports whether equal values are written alike: 1 and 1.0 are equal, and not
// the same to see. Which of the two a rule keeps depends on the order in which its
// bodies are evaluated, and that isn't always topdown's.
func (e *evaluation) looksLike(a, b *val) bool {
	switch {
	case a.kind == null, a.kind == boolean, a.kind == text:
		return true
	case a.exact && b.exact && a.s == b.s:
		return true
	}
	return a.toTerm(e).String() == b.toTerm(e).String()
}

// compare is OPA's total order over all types.
func (e *evaluation) compare(a, b *val) int {
	switch {
	case a.kind == number && b.kind == number && a.exact && b.exact:
		switch {
		case a.n < b.n:
			return -1
		case a.n > b.n:
			return 1
		}
		return 0
	case a.kind == text && b.kind == text:
		return strings.Compare(a.s, b.s)
	}
	return a.toTerm(e).Compare(b.toTerm(e))
}

// get looks a key up; the result is undefined unless src is a collection that has it.
func (e *evaluation) get(src, key *val) val {
	switch src.kind {
	case record:
		if key.kind == text {
			if x, ok := src.other.(map[string]any)[key.s]; ok {
				return e.fromJSON(x)
			}
		}
	case document:
		if key.kind == text {
			if x, ok := src.other.(Document).Member(key.s); ok {
				return e.fromJSON(x)
			}
		}
	case list:
		return e.element(src.other.([]any), key)
	case recordMade:
		m := src.other.(*recordMaker)
		if i := m.find(key.newTerm(e)); i >= 0 {
			return m.members[i].val
		}
	case term, setMade, listMade:
		return e.member(src, key)
	}
	return val{}
}

func (e *evaluation) element(elems []any, key *val) val {
	if key.kind != number {
		return val{}
	}
	n, ok := key.n, key.exact
	if !ok { // 1.0 and 1e0 are indices as well
		var i int
		i, ok = ast.Number(key.s).Int()
		n = int64(i)
	}
	if ok && n >= 0 && n < int64(len(elems)) {
		return e.fromJSON(elems[n])
	}
	return val{}
}

func (e *evaluation) member(src, key *val) val {
	switch c := src.toTerm(e).(type) {
	case ast.Object:
		if t := c.Get(key.newTerm(e)); t != nil {
			return fromTerm(t.Value)
		}
	case *ast.Array:
		if key.kind == number {
			if t := c.Get(key.newTerm(e)); t != nil {
				return fromTerm(t.Value)
			}
		}
	case ast.Set:
		if c.Contains(key.newTerm(e)) {
			return *key
		}
	}
	return val{}
}

// each visits a collection in topdown's order, objects and sets sorted: what is
// collected into an array depends on it. A result other than next ends the visit.
func (e *evaluation) each(src *val, visit func(k, v val) int) int {
	switch src.kind {
	case list:
		for i, x := range src.other.([]any) {
			if r := visit(intVal(int64(i)), e.fromJSON(x)); r != next {
				return r
			}
		}
	case record, document:
		return e.eachMember(src, visit)
	case term, setMade, listMade, recordMade:
		return eachTerm(src.toTerm(e), visit)
	}
	return next
}

func (e *evaluation) eachMember(src *val, visit func(k, v val) int) int {
	var m map[string]any
	if d, ok := src.other.(Document); ok {
		m = d.Whole()
	} else {
		m = src.other.(map[string]any)
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if r := visit(textVal(k), e.fromJSON(m[k])); r != next {
			return r
		}
	}
	return next
}

func eachTerm(x ast.Value, visit func(k, v val) int) int {
	switch c := x.(type) {
	case *ast.Array:
		for i := range c.Len() {
			if r := visit(intVal(int64(i)), fromTerm(c.Elem(i).Value)); r != next {
				return r
			}
		}
	case ast.Object:
		for _, k := range c.Keys() {
			if r := visit(fromTerm(k.Value), fromTerm(c.Get(k).Value)); r != next {
				return r
			}
		}
	case ast.Set:
		for _, k := range c.Slice() {
			v := fromTerm(k.Value)
			if r := visit(v, v); r != next {
				return r
			}
		}
	}
	return next
}

// length is the number of members of a collection.
func (e *evaluation) length(v *val) (int, bool) {
	switch v.kind {
	case list:
		return len(v.other.([]any)), true
	case record:
		return len(v.other.(map[string]any)), true
	case listMade:
		return len(v.other.(*listMaker).elems), true
	case document, term, setMade, recordMade:
		switch c := v.toTerm(e).(type) {
		case *ast.Array:
			return c.Len(), true
		case ast.Object:
			return c.Len(), true
		case ast.Set:
			return c.Len(), true
		}
	}
	return 0, false
}
