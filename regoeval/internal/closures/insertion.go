package closures

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// insertion compiles what adds to a collection that is being made.
func (b *body) insertion(s ir.Stmt) statement {
	switch s := s.(type) {
	case *ir.ArrayAppendStmt:
		v, t := b.operand(s.Value), int(s.Array)
		return func(f *frame) int {
			m := f.locals[t].other.(*listMaker)
			m.elems = append(m.elems, *v.get(f))
			return next
		}
	case *ir.ObjectInsertStmt:
		return b.insert(s)
	case *ir.ObjectInsertOnceStmt:
		return b.insertOnce(s)
	case *ir.ObjectMergeStmt:
		x, y, t := b.local(s.A), b.local(s.B), int(s.Target)
		err := conflict(b.loc(s.GetLocation()), "base and virtual document keys must be disjoint")
		return func(f *frame) int {
			o, ok1 := x.get(f).toTerm(f.eval).(ast.Object)
			p, ok2 := y.get(f).toTerm(f.eval).(ast.Object)
			if !ok1 || !ok2 {
				f.eval.halt(err)
				return stop
			}
			f.locals[t] = val{kind: term, other: merged(o, p)}
			return next
		}
	case *ir.SetAddStmt:
		return b.addToSet(s)
	}
	panic(unsupported("a statement of type %T", s))
}

func (b *body) addToSet(s *ir.SetAddStmt) statement {
	v, t := b.operand(s.Value), int(s.Set)
	get := func(f *frame) *ast.Term { return v.get(f).newTerm(f.eval) }
	if v.kind == fromConstant {
		x := v.constant.val.newTerm(&evaluation{})
		get = func(*frame) *ast.Term { return x }
	}
	if b.literals.adds[s] {
		return func(f *frame) int { f.locals[t].write(get(f)); return next }
	}
	return func(f *frame) int { f.locals[t].add(get(f)); return next }
}

// insert compiles an insertion that puts one value in place of another: the plan of a
// rule such as r[x][y] takes what is below x, and puts it back with more in it. No other
// plan means to. A literal such as {"a": 1, input.k: 2} gets there where input.k is "a":
// topdown then reads the first of the two in some places and the last in others.
func (b *body) insert(s *ir.ObjectInsertStmt) statement {
	k, v, t := b.operand(s.Key), b.operand(s.Value), int(s.Object)
	value, isLocal := s.Value.Value.(ir.Local)
	back := isLocal && b.uses.within[value] == s.Object
	return func(f *frame) int {
		m, key := f.locals[t].other.(*recordMaker), k.get(f).newTerm(f.eval)
		switch i := m.find(key); {
		case i < 0:
			m.add(key, *v.get(f))
		case back:
			m.members[i].val = *v.get(f)
		default:
			f.eval.halt(ErrUnsure)
			return stop
		}
		return next
	}
}

func (b *body) insertOnce(s *ir.ObjectInsertOnceStmt) statement {
	k, v, t := b.operand(s.Key), b.operand(s.Value), int(s.Object)
	err := conflict(b.loc(s.GetLocation()), "object keys must be unique")
	return func(f *frame) int {
		m, key, x := f.locals[t].other.(*recordMaker), k.get(f).newTerm(f.eval), v.get(f)
		i := m.find(key)
		if i < 0 {
			m.add(key, *x)
			return next
		}
		if m.members[i].key.String() != key.String() {
			f.eval.halt(ErrUnsure)
			return stop
		}
		return f.again(&m.members[i].val, x, err)
	}
}

// again is what a second value for the same comes to.
func (f *frame) again(first, second *val, conflict error) int {
	switch {
	case !f.eval.equal(first, second):
		f.eval.halt(conflict)
	case !f.eval.looksLike(first, second):
		f.eval.halt(ErrUnsure)
	default:
		return next
	}
	return stop
}

// add adds to a set that is being made.
func (v *val) add(t *ast.Term) {
	if v.other == nil {
		v.other = ast.NewSet(t)
		return
	}
	v.other.(ast.Set).Add(t)
}

// write adds to a set what is written after its other elements.
func (v *val) write(t *ast.Term) {
	if v.other != nil {
		elems := v.other.(ast.Set).Slice()
		v.mixed = v.mixed || elems[len(elems)-1].Value.Compare(t.Value) >= 0
	}
	v.add(t)
}
