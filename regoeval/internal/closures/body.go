package closures

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// A body compiles one top-level block of a function: one rule body, in most cases.
type body struct {
	*compilation
	fn    *function
	first ir.Local // the first local that belongs to the body alone
	all   *uses    // of the whole function
	uses  *uses    // of this body
	known map[ir.Local]operand
	// below holds locals that were reached from data by a reference.
	below map[ir.Local]bool
	// keyed holds what partial rules over data came to (see keyed.go).
	keyed map[ir.Local]keyedKind
	// saves holds locals that keep a version of input or data, for `with` to come back to.
	saves map[ir.Local]bool
	guard *guard
	depth int // of blocks
}

// once reports whether a local is given a value at one place of this body, and only
// ever read as that value. Such a local needs no memory: it is another name.
func (b *body) once(l ir.Local) bool {
	return l >= b.first && b.uses.written[l] == 1 && !b.uses.pinned[l]
}

func (b *body) operand(o ir.Operand) operand {
	switch v := o.Value.(type) {
	case ir.StringIndex:
		b.mention(b.text(int(v)))
		return scalarOperand(constantVal(ast.String(b.text(int(v)))))
	case ir.Bool:
		return scalarOperand(boolVal(bool(v)))
	case ir.Local:
		return b.local(v)
	}
	panic(unsupported("an operand of type %T", o.Value))
}

func (b *body) local(l ir.Local) operand {
	switch l {
	case ir.Input:
		if b.uses.withInput { // a name for a slot would be read with the other input
			return operand{kind: fromInput}
		}
		return operand{kind: fromSlot}
	case ir.Data:
		if b.foldData {
			o := b.data.constant(b.data.root)
			o.path = true
			return o
		}
		return operand{kind: fromData, path: true}
	}
	if o, ok := b.known[l]; ok {
		return o
	}
	return operand{kind: fromLocal, index: int(l), path: b.below[l]}
}

// maxConstants is how many constants are kept, to make inputs of.
const maxConstants = 48

func (b *body) mention(x any) {
	if p := b.program; len(p.constants) < maxConstants && !slices.Contains(p.constants, x) {
		p.constants = append(p.constants, x)
	}
}

func (b *body) operands(ops []ir.Operand) []operand {
	out := make([]operand, len(ops))
	for i := range ops {
		out[i] = b.operand(ops[i])
	}
	return out
}

// block compiles statements. Some need the one after them.
func (b *body) block(stmts []ir.Stmt) block {
	out := block{}
	b.depth++
	defer func() { b.depth-- }()
	for i := 0; i < len(stmts); i++ {
		if r, ok := constantOutcome(stmts[i]); ok {
			if r != next {
				return append(out, func(*frame) int { return r })
			}
			continue
		}
		s, both := b.pair(stmts[i], stmts[i+1:])
		if both {
			i++
		}
		if s.run == nil {
			continue
		}
		if b.depth == 1 {
			b.guard.note(s)
		}
		out = append(out, s.run)
		if s.dead {
			return out
		}
	}
	return out
}

// compiled is one statement, and what is known of it.
type compiled struct {
	run statement // nil: nothing to do
	// pure says that it does nothing but look whether something has a value.
	pure bool
	// dead says that it never goes on to the next statement.
	dead bool
	// equals says that it goes on if and only if a slot is a constant.
	equals *slotIs
}

func plain(run statement) compiled { return compiled{run: run} }

// pair compiles a statement, together with the next one where that makes one of two.
func (b *body) pair(s ir.Stmt, rest []ir.Stmt) (out compiled, both bool) {
	var after ir.Stmt
	if len(rest) > 0 {
		after = rest[0]
	}
	switch s := s.(type) {
	case *ir.DotStmt:
		return b.dot(s, rest), false
	case *ir.CallStmt:
		if out, ok := b.aliased(s, rest); ok {
			return out, false
		}
		// call; result != false: one condition
		if ne, ok := after.(*ir.NotEqualStmt); ok && ne.A.Value == ir.Val(s.Result) && ne.B.Value == ir.Val(ir.Bool(false)) && b.uses.read[s.Result] == 1 && s.Result >= b.first {
			if run := b.condition(s); run != nil {
				return plain(run), true
			}
		}
		return plain(b.call(s)), false
	case *ir.AssignVarStmt:
		// marker := true; is the marker set: nothing
		if d, ok := after.(*ir.IsDefinedStmt); ok && d.Source == s.Target && s.Source.Value == ir.Val(ir.Bool(true)) && b.uses.read[s.Target] == 1 && s.Target >= b.first {
			return compiled{}, true
		}
		return b.assign(s), false
	case *ir.ResetLocalStmt:
		if b.all.read[s.Target] == 0 {
			return compiled{}, false
		}
		t := int(s.Target)
		return plain(func(f *frame) int { f.locals[t] = val{}; return next }), false
	}
	return b.statement(s), false
}

// assign makes a local another name where it can.
func (b *body) assign(s *ir.AssignVarStmt) compiled {
	src := b.operand(s.Source)
	from, isLocal := s.Source.Value.(ir.Local)
	if b.once(s.Target) && (!isLocal || src.kind != fromLocal || b.once(from)) && src.kind != fromInput && src.kind != fromData {
		src.path = false // a variable
		b.known[s.Target] = src
		if src.kind == fromSlot && src.index == 0 { // there may be no input
			return compiled{run: isDefined(src), pure: true}
		}
		return compiled{}
	}
	t := int(s.Target)
	if isLocal && (from == ir.Input || from == ir.Data) && b.uses.written[s.Target] == 1 {
		b.saves[s.Target] = true
		return plain(b.save(from, t, src))
	}
	return plain(func(f *frame) int { f.locals[t] = *src.get(f); return next })
}

// save keeps a version of input or data, for a `with` that comes back to it.
func (b *body) save(from ir.Local, t int, src operand) statement {
	return func(f *frame) int {
		f.locals[t] = *src.get(f)
		if f.saved == nil {
			f.saved = map[int]*root{}
		}
		f.saved[t] = f.data
		if from == ir.Input {
			f.saved[t] = f.in
		}
		return next
	}
}

func isDefined(o operand) statement {
	if o.kind == fromSlot {
		i := o.index
		return func(f *frame) int {
			if f.eval.slot(f.in, i).defined() {
				return next
			}
			return undefined
		}
	}
	return func(f *frame) int {
		if o.get(f).defined() {
			return next
		}
		return undefined
	}
}

// constantOutcome finds out what blocks come to that hold nothing but blocks and breaks.
func constantOutcome(s ir.Stmt) (int, bool) {
	switch s := s.(type) {
	case *ir.NopStmt:
		return next, true
	case *ir.BreakStmt:
		return int(s.Index) + 1, true
	case *ir.BlockStmt:
		for _, b := range s.Blocks {
			r, ok := constantBlock(b)
			if !ok {
				return 0, false
			}
			if r = left(r); r != next {
				return r, true
			}
		}
		return next, true
	}
	return 0, false
}

func constantBlock(b *ir.Block) (int, bool) {
	for _, s := range b.Stmts {
		if r, ok := constantOutcome(s); !ok || r != next {
			return r, ok
		}
	}
	return next, true
}
