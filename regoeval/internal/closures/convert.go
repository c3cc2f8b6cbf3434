package closures

import (
	"fmt"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// toTerm converts to one of OPA's values. Decoded JSON is converted in place, so that
// a slot or a local pays once; a constant is never decoded JSON, and stays untouched.
func (v *val) toTerm(e *evaluation) ast.Value {
	switch v.kind {
	case null:
		return ast.NullValue
	case boolean:
		return ast.InternedTerm(v.n != 0).Value
	case number:
		if v.s == "" {
			return ast.Number(strconv.FormatInt(v.n, 10))
		}
		return ast.Number(v.s)
	case text:
		return ast.String(v.s)
	case record: // converts what is looked at; a number out of range panics, which ends the evaluation
		*v = val{kind: term, other: ast.LazyObject(v.other.(map[string]any))}
		return v.other.(ast.Value)
	case document:
		*v = val{kind: term, other: ast.LazyObject(v.other.(Document).Whole())}
		return v.other.(ast.Value)
	case list:
		x, err := ast.InterfaceToValue(v.other)
		if err != nil {
			e.halt(err)
			return ast.NullValue
		}
		*v = val{kind: term, other: x}
		return x
	case term:
		return v.other.(ast.Value)
	case setMade:
		if v.other == nil {
			return ast.InternedEmptySet.Value
		}
		return v.other.(ast.Set)
	case listMade:
		return v.other.(*listMaker).toTerm(e)
	case recordMade:
		return v.other.(*recordMaker).toTerm(e)
	default:
		panic(fmt.Sprintf("closures: a value of kind %d is read", v.kind))
	}
}

func (v *val) newTerm(e *evaluation) *ast.Term { return ast.NewTerm(v.toTerm(e)) }

// freeze ends the making of a collection: from here on it is shared.
func (v *val) freeze(e *evaluation) {
	switch v.kind {
	case setMade:
		if v.other != nil {
			*v = val{kind: term, other: v.other, mixed: v.mixed}
		}
	case listMade, recordMade:
		*v = val{kind: term, other: v.toTerm(e)}
	}
}

// A listMaker is an array that is being made.
type listMaker struct{ elems []val }

func (m *listMaker) toTerm(e *evaluation) ast.Value {
	terms := make([]*ast.Term, len(m.elems))
	for i := range m.elems {
		terms[i] = m.elems[i].newTerm(e)
	}
	return ast.NewArray(terms...)
}

// A recordMaker is an object that is being made; its values may be collections that are
// being made themselves.
type recordMaker struct {
	byHash  map[int][]int
	members []madeMember
}

type madeMember struct {
	key *ast.Term
	val val
}

// searched is up to how many members are compared one after the other.
const searched = 8

func (m *recordMaker) find(key *ast.Term) int {
	if m.byHash == nil {
		for i := range m.members {
			if m.members[i].key.Equal(key) {
				return i
			}
		}
		return -1
	}
	for _, i := range m.byHash[key.Hash()] {
		if m.members[i].key.Equal(key) {
			return i
		}
	}
	return -1
}

// add puts a key that isn't there.
func (m *recordMaker) add(key *ast.Term, v val) {
	m.members = append(m.members, madeMember{key, v})
	if m.byHash != nil {
		h := key.Hash()
		m.byHash[h] = append(m.byHash[h], len(m.members)-1)
		return
	}
	if len(m.members) > searched {
		m.byHash = map[int][]int{}
		for i := range m.members {
			h := m.members[i].key.Hash()
			m.byHash[h] = append(m.byHash[h], i)
		}
	}
}

func (m *recordMaker) toTerm(e *evaluation) ast.Value {
	pairs := make([][2]*ast.Term, len(m.members))
	for i := range m.members {
		pairs[i] = [2]*ast.Term{m.members[i].key, m.members[i].val.newTerm(e)}
	}
	return ast.NewObject(pairs...)
}
