package closures

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ir"
)

// not compiles a negation.
//
// OPA's plan of the newer `not` sets a marker where the body holds and tests it at the
// end of the same block. That has two faults (docs/adr/0021). The marker is never taken
// back, so that what an earlier iteration, or another rule body with the same local,
// left there counts as success. And a statement of the body that ends the block after
// the marker was set keeps it from being tested. Here the marker is cleared first, and
// tested however the body ends.
func (b *body) not(s *ir.NotStmt) statement {
	test, ok := markerOf(s)
	if !ok {
		if endsAnyway(s.Block) {
			panic(unsupported("the plan of a `not` of the older kind doesn't say whether the negated reference, through data and rules of the same name, or a rule that the call names, holds; in %s:%d", b.loc(s.GetLocation()).File, s.GetLocation().Row))
		}
		return b.notBlock(s.Block.Stmts)
	}
	n := len(s.Block.Stmts)
	inside := newUses()
	inside.block(s.Block)
	if n > 1 && inside.written[test] == 1 {
		if a, ok := s.Block.Stmts[n-2].(*ir.AssignVarStmt); ok && a.Target == test && a.Source.Value == ir.Val(ir.Bool(true)) {
			return b.notBlock(s.Block.Stmts[:n-2]) // the marker says no more than that the block ends
		}
	}
	x, marker := b.block(s.Block.Stmts[:n-1]), int(test)
	return func(f *frame) int {
		f.locals[marker] = val{}
		if r := x.run(f); r > undefined {
			return negated(r)
		}
		if f.locals[marker].defined() {
			return undefined
		}
		return next
	}
}

// endsAnyway reports whether the end of a block is reached whatever its last statement
// finds: `not data.d[input.x]` of the older kind, where data.d is in data and has rules
// as well, ends with an iteration; `not data.p[input.x] == 1`, where data.p is a package,
// with a block, which goes on behind its own undefined statements (docs/adr/0021).
func endsAnyway(b *ir.Block) bool {
	if len(b.Stmts) == 0 {
		return false
	}
	switch last := b.Stmts[len(b.Stmts)-1].(type) {
	case *ir.ScanStmt, *ir.BlockStmt:
		return true
	default:
		return slices.ContainsFunc(nested(last), endsAnyway)
	}
}

// notBlock holds where the statements don't.
func (b *body) notBlock(stmts []ir.Stmt) statement {
	x := b.block(stmts)
	switch len(x) {
	case 0:
		return never
	case 1:
		only := x[0]
		return func(f *frame) int { return negated(only(f)) }
	}
	return func(f *frame) int { return negated(x.run(f)) }
}

func negated(r int) int {
	switch {
	case r == next:
		return undefined
	case r == undefined:
		return next
	case r >= stop:
		return r
	}
	return r - 1
}

// marks finds iterations that do nothing but set a marker (the bodies of every, and, or):
// once it is set, nothing can change, and topdown stops there. It doesn't in the body of
// `not`, whose other solutions may fail.
func marks(b *ir.Block) (ir.Local, bool) {
	if len(b.Stmts) == 0 {
		return 0, false
	}
	switch s := b.Stmts[len(b.Stmts)-1].(type) {
	case *ir.AssignVarStmt:
		return s.Target, s.Source.Value == ir.Val(ir.Bool(true))
	case *ir.ScanStmt:
		return marks(s.Block)
	}
	return 0, false
}

func (b *body) scan(s *ir.ScanStmt) statement {
	iterate := b.iterate(s)
	if b.literals.scans[s] == written && fillsArray(s.Block) {
		iterate = inOrder(b.local(s.Source), iterate)
	}
	return func(f *frame) int {
		if r := iterate(f); r != enough {
			return r
		}
		return next
	}
}

// inOrder leaves an iteration over a set that is written in another order to topdown.
func inOrder(src operand, iterate statement) statement {
	return func(f *frame) int {
		if src.get(f).mixed {
			f.eval.halt(ErrUnsure)
			return stop
		}
		return iterate(f)
	}
}

func (b *body) iterate(s *ir.ScanStmt) statement {
	src := b.local(s.Source)
	k, v := int(s.Key), int(s.Value)
	if src.path && b.once(s.Value) {
		b.below[s.Value] = true
	}
	each := b.iteration(s)
	if src.kind == fromConstant && src.constant.table != nil && src.constant.table.elems != nil {
		elems := src.constant.table.elems
		indexed := b.all.read[s.Key] > 0
		return func(f *frame) int {
			for i := range elems {
				if indexed {
					f.locals[k] = intVal(int64(i))
				}
				f.locals[v] = elems[i]
				if r := each(f); r != next {
					return r
				}
			}
			return next
		}
	}
	return func(f *frame) int {
		x := src.get(f)
		if x.kind == list {
			for i, elem := range x.other.([]any) {
				f.locals[k] = intVal(int64(i))
				f.eval.setJSON(&f.locals[v], elem)
				if r := each(f); r != next {
					return r
				}
			}
			return next
		}
		return f.eval.each(x, func(kk, vv val) int {
			f.locals[k], f.locals[v] = kk, vv
			return each(f)
		})
	}
}

// iteration compiles what is done for one member.
func (b *body) iteration(s *ir.ScanStmt) statement {
	x := b.block(s.Block.Stmts)
	marker, ok := marks(s.Block)
	if !ok || !b.uses.pinned[marker] || b.uses.negated[marker] || b.literals.scans[s] != noLiteral {
		return func(f *frame) int {
			if !f.step() {
				return stop
			}
			return left(x.run(f))
		}
	}
	return func(f *frame) int {
		if !f.step() {
			return stop
		}
		if r := left(x.run(f)); r != next {
			return r
		}
		if f.locals[marker].defined() {
			return enough
		}
		return next
	}
}

// with compiles a replacement of input, of data, or of a local.
func (b *body) with(s *ir.WithStmt) statement {
	value := b.operand(s.Value)
	path := make([]string, len(s.Path))
	for i, p := range s.Path {
		path[i] = b.text(p)
	}
	x := b.block(s.Block.Stmts)
	if s.Local != ir.Input && s.Local != ir.Data {
		if len(path) > 0 {
			panic(unsupported("`with` on a part of a local"))
		}
		return withLocal(int(s.Local), value, x)
	}
	isInput := s.Local == ir.Input
	saved, isLocal := s.Value.Value.(ir.Local)
	back := isLocal && len(path) == 0 && b.saves[saved]
	return func(f *frame) int {
		in, data := f.in, f.data
		if back {
			f.comeBack(isInput, f.saved[int(saved)])
		} else {
			f.replace(isInput, path, value)
			if !isInput && f.eval.hides(path, value.get(f)) {
				f.eval.halt(ErrUnsure)
				return stop
			}
		}
		r := x.run(f)
		f.in, f.data = in, data
		return leftWith(r)
	}
}

// comeBack puts a version in force that was in force before.
func (f *frame) comeBack(isInput bool, old *root) {
	if isInput {
		f.in = old
	} else {
		f.data = old
	}
}

func (f *frame) replace(isInput bool, path []string, value operand) {
	v := *value.get(f)
	if !isInput {
		f.data = f.eval.replaced(f.data, path, &v, false)
		return
	}
	f.in = f.eval.replaced(f.in, path, &v, true)
	f.in.data = f.data
}

func withLocal(t int, value operand, x block) statement {
	return func(f *frame) int {
		old := f.locals[t]
		f.locals[t] = *value.get(f)
		r := x.run(f)
		f.locals[t] = old
		return leftWith(r)
	}
}

func leftWith(r int) int {
	if r == next || r == undefined || r >= stop {
		return r
	}
	return r - 1
}
