package closures

import (
	"github.com/open-policy-agent/opa/v1/ir"
)

// not compiles a negation.
//
// OPA's plan of the newer `not` sets a marker where the body holds, tests it at the
// end, and never takes it back, as it does for `and` and `or`: what an earlier
// iteration, or another rule body with the same local, left there counts as success,
// and a rule stays silent. Here the marker is cleared first (docs/adr/0021).
func (b *body) not(s *ir.NotStmt) statement {
	marker := -1
	if n := len(s.Block.Stmts); n > 0 {
		if d, ok := s.Block.Stmts[n-1].(*ir.IsDefinedStmt); ok && d.Source > ir.Data {
			marker = int(d.Source)
		}
	}
	x := b.block(s.Block.Stmts)
	if len(x) == 0 {
		return never
	}
	if len(x) == 1 && marker < 0 {
		only := x[0]
		return func(f *frame) int { return negated(only(f)) }
	}
	return func(f *frame) int {
		if marker >= 0 {
			f.locals[marker] = val{}
		}
		return negated(x.run(f))
	}
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

// marks finds iterations that do nothing but set a marker (the bodies of not, every,
// and, or): once it is set, nothing can change, and topdown stops there.
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
	return func(f *frame) int {
		if r := iterate(f); r != enough {
			return r
		}
		return next
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
		return func(f *frame) int {
			for i := range elems {
				f.locals[k], f.locals[v] = intVal(int64(i)), elems[i]
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
				f.locals[k], f.locals[v] = intVal(int64(i)), f.eval.fromJSON(elem)
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
	if !ok || !b.uses.pinned[marker] {
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
