package closures

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

func set(l ir.Local, v val) statement {
	t := int(l)
	return func(f *frame) int { f.locals[t] = v; return next }
}

// statement compiles what needs no look at the next one.
func (b *body) statement(s ir.Stmt) compiled {
	switch s := s.(type) {
	case *ir.ReturnLocalStmt:
		src, t := b.local(s.Source), b.fn.ret
		return plain(func(f *frame) int { f.locals[t] = *src.get(f); return stop })
	case *ir.BlockStmt:
		return plain(b.blocks(s))
	case *ir.NotStmt:
		return plain(b.not(s))
	case *ir.ScanStmt:
		return plain(b.scan(s))
	case *ir.WithStmt:
		return plain(b.with(s))
	case *ir.CallDynamicStmt:
		return plain(b.callByPath(s))
	case *ir.EqualStmt:
		return b.equalTo(s)
	case *ir.NotEqualStmt:
		x, y := b.operand(s.A), b.operand(s.B)
		return plain(func(f *frame) int {
			v, w := x.get(f), y.get(f)
			if v.defined() && w.defined() && !f.eval.equal(v, w) {
				return next
			}
			return undefined
		})
	case *ir.IsDefinedStmt:
		return compiled{run: isDefined(b.local(s.Source)), pure: true}
	case *ir.IsUndefinedStmt:
		o := b.local(s.Source)
		return plain(func(f *frame) int {
			if o.get(f).defined() {
				return undefined
			}
			return next
		})
	case *ir.IsArrayStmt:
		return plain(isA[*ast.Array](b.operand(s.Source)))
	case *ir.IsObjectStmt:
		return plain(isA[ast.Object](b.operand(s.Source)))
	case *ir.IsSetStmt:
		return plain(isA[ast.Set](b.operand(s.Source)))
	case *ir.ResultSetAddStmt:
		v := b.local(s.Value)
		return plain(func(f *frame) int { f.eval.rows = append(f.eval.rows, v.get(f).toTerm(f.eval)); return next })
	}
	return b.assignment(s)
}

func (b *body) blocks(s *ir.BlockStmt) statement {
	blocks := make([]block, len(s.Blocks))
	for i, x := range s.Blocks {
		blocks[i] = b.block(x.Stmts)
	}
	return func(f *frame) int {
		for _, x := range blocks {
			if r := left(x.run(f)); r != next {
				return r
			}
		}
		return next
	}
}

func (b *body) equalTo(s *ir.EqualStmt) compiled {
	x, y := b.operand(s.A), b.operand(s.B)
	if x.kind == fromConstant && y.kind != fromConstant {
		x, y = y, x
	}
	out := compiled{}
	if x.kind == fromSlot && y.kind == fromConstant {
		out.equals = newSlotIs(x.index, y.constant.val)
	}
	if y.isConstantText() {
		want := y.constant.val.s
		out.run = func(f *frame) int {
			if v := x.get(f); v.kind == text && v.s == want {
				return next
			}
			return undefined
		}
		return out
	}
	out.run = func(f *frame) int {
		v, w := x.get(f), y.get(f)
		if v.defined() && w.defined() && f.eval.equal(v, w) {
			return next
		}
		return undefined
	}
	return out
}

// isA tests for a type of collection, without converting decoded JSON.
func isA[T ast.Value](o operand) statement {
	_, array := ast.Value(ast.NewArray()).(T)
	_, object := ast.Value(ast.NewObject()).(T)
	return func(f *frame) int {
		v := o.get(f)
		ok := false
		switch v.kind {
		case list:
			ok = array
		case record:
			ok = object
		case document, term, setMade, listMade, recordMade:
			_, ok = v.toTerm(f.eval).(T)
		}
		if ok {
			return next
		}
		return undefined
	}
}

// assignment compiles what gives a local a value.
func (b *body) assignment(s ir.Stmt) compiled {
	switch s := s.(type) {
	case *ir.LenStmt:
		src, t := b.operand(s.Source), int(s.Target)
		return plain(func(f *frame) int {
			n, ok := f.eval.length(src.get(f))
			if !ok {
				return undefined
			}
			f.locals[t] = intVal(int64(n))
			return next
		})
	case *ir.AssignIntStmt:
		return plain(set(s.Target, intVal(s.Value)))
	case *ir.MakeNumberIntStmt:
		return plain(set(s.Target, intVal(s.Value)))
	case *ir.MakeNullStmt:
		return b.make(s.Target, val{kind: null})
	case *ir.MakeNumberRefStmt:
		b.mention(json.Number(b.text(s.Index)))
		return b.make(s.Target, numberVal(b.text(s.Index)))
	case *ir.AssignVarOnceStmt:
		return plain(b.assignOnce(s))
	case *ir.MakeSetStmt:
		return plain(set(s.Target, val{kind: setMade}))
	case *ir.MakeArrayStmt:
		t, n := int(s.Target), int(s.Capacity)
		return plain(func(f *frame) int {
			f.locals[t] = val{kind: listMade, other: &listMaker{make([]val, 0, n)}}
			return next
		})
	case *ir.MakeObjectStmt:
		t := int(s.Target)
		return plain(func(f *frame) int { f.locals[t] = val{kind: recordMade, other: &recordMaker{}}; return next })
	}
	return plain(b.insertion(s))
}

// make gives a local a constant.
func (b *body) make(l ir.Local, v val) compiled {
	if b.once(l) {
		b.known[l] = scalarOperand(v)
		return compiled{}
	}
	return plain(set(l, v))
}

func conflict(loc *ast.Location, format string, args ...any) error {
	return &topdown.Error{Code: topdown.ConflictErr, Message: fmt.Sprintf(format, args...), Location: loc}
}

func (b *body) assignOnce(s *ir.AssignVarOnceStmt) statement {
	src, t := b.operand(s.Source), int(s.Target)
	_, path, _ := strings.Cut(b.fn.name, ".")
	text := "rule %s produced conflicting values"
	if !b.fn.document {
		text = "function %s produced conflicting values for the same inputs"
	}
	err := conflict(b.loc(s.GetLocation()), text, path)
	return func(f *frame) int {
		v := src.get(f)
		if !f.locals[t].defined() {
			f.locals[t] = *v
			return next
		}
		return f.again(&f.locals[t], v, err)
	}
}
