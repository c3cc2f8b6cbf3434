package closures

import (
	"slices"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// dot compiles a look-up: of a slot where the path is constant, of a constant where
// the document is.
func (b *body) dot(s *ir.DotStmt, rest []ir.Stmt) compiled {
	if l, ok := s.Source.Value.(ir.Local); ok && b.keyed[l] != notKeyed {
		return b.dotKeyed(s, b.keyed[l])
	}
	return b.dotPlain(s, rest)
}

func (b *body) dotPlain(s *ir.DotStmt, rest []ir.Stmt) compiled {
	src, key := b.operand(s.Source), b.operand(s.Key)
	if src.path && b.once(s.Target) {
		b.below[s.Target] = true
	}
	switch {
	case src.kind == fromSlot && key.isConstantText():
		return b.dotSlot(s, rest, src, key)
	case src.kind == fromConstant && key.isConstantText():
		return b.dotConstant(s, src, key)
	case src.kind == fromConstant && src.constant.table != nil && src.constant.table.byName != nil:
		return plain(dotTable(int(s.Target), src, key))
	}
	t, path := int(s.Target), src.path
	return plain(func(f *frame) int {
		from, k := src.get(f), key.get(f)
		v := f.eval.get(from, k)
		if !v.defined() && path {
			v = f.eval.storePath(from, k)
		}
		if !v.defined() {
			return undefined
		}
		f.locals[t] = v
		return next
	})
}

func (b *body) dotSlot(s *ir.DotStmt, rest []ir.Stmt, src, key operand) compiled {
	o := operand{kind: fromSlot, index: b.slot(src.index, key.constant.val.s)}
	if b.once(s.Target) {
		b.known[s.Target] = o
		if b.asksNext(s.Target, rest) {
			return compiled{}
		}
		return compiled{run: isDefined(o), pure: true}
	}
	t := int(s.Target)
	return plain(func(f *frame) int {
		v := o.get(f)
		if !v.defined() {
			return undefined
		}
		f.locals[t] = *v
		return next
	})
}

// asksNext reports whether the next statement is undefined by itself where a local has no
// value, so that there is no need to ask before: what is below exists only if the local
// does, no built-in is called without all of its operands, and nothing is equal, or not
// equal, to what isn't there.
func (b *body) asksNext(l ir.Local, rest []ir.Stmt) bool {
	if len(rest) == 0 {
		return false
	}
	switch s := rest[0].(type) {
	case *ir.AssignVarStmt: // another name for it
		return s.Source.Value == ir.Val(l) && b.once(s.Target) && b.asksNext(s.Target, rest[1:])
	case *ir.DotStmt:
		return s.Source.Value == ir.Val(l)
	case *ir.CallStmt:
		return b.byName[s.Func] == nil && slices.ContainsFunc(s.Args, func(o ir.Operand) bool { return o.Value == ir.Val(l) })
	case *ir.EqualStmt:
		return s.A.Value == ir.Val(l) || s.B.Value == ir.Val(l)
	case *ir.NotEqualStmt:
		return s.A.Value == ir.Val(l) || s.B.Value == ir.Val(l)
	}
	return false
}

func (b *body) dotConstant(s *ir.DotStmt, src, key operand) compiled {
	none := &evaluation{}
	v := none.get(&src.constant.val, &key.constant.val)
	if !v.defined() && src.path {
		v = none.storePath(&src.constant.val, &key.constant.val)
	}
	if !v.defined() {
		return compiled{run: never, pure: true, dead: true}
	}
	if v.kind == text {
		v = constantVal(ast.String(v.s))
	}
	if b.once(s.Target) {
		o := b.data.constant(v)
		o.path = src.path
		b.known[s.Target] = o
		return compiled{}
	}
	return plain(set(s.Target, v))
}

func dotTable(t int, src, key operand) statement {
	byName, path := src.constant.table.byName, src.path
	return func(f *frame) int {
		k := key.get(f)
		if k.kind == text {
			if v := byName[k.s]; v != nil {
				f.locals[t] = *v
				return next
			}
		}
		if path {
			if v := f.eval.storePath(&src.constant.val, k); v.defined() {
				f.locals[t] = v
				return next
			}
		}
		return undefined
	}
}

// storePath looks a key up the way the store does, where names are text and so are
// indices: data.x[2] reads the member "2", and data.l["1"] the element 1.
func (e *evaluation) storePath(src, key *val) val {
	if src.kind != term {
		return val{}
	}
	switch c := src.other.(type) {
	case ast.Object:
		if key.kind == number {
			name := string(key.toTerm(e).(ast.Number))
			if t := c.Get(ast.StringTerm(name)); t != nil {
				return fromTerm(t.Value)
			}
		}
	case *ast.Array:
		if key.kind == text {
			i, err := strconv.Atoi(key.s)
			if err == nil && i >= 0 && i < c.Len() && strconv.Itoa(i) == key.s {
				return fromTerm(c.Elem(i).Value)
			}
		}
	}
	return val{}
}
