package closures

import "github.com/open-policy-agent/opa/v1/ir"

// uses counts what one body does with its locals. The planner numbers the locals of
// each rule body afresh, so that nothing found out about one holds for another.
type uses struct {
	written, read map[ir.Local]int
	// pinned locals are reset, tested for having a value, changed in place, or replaced
	// by `with`: what they hold depends on when one asks.
	pinned map[ir.Local]bool
	// negated locals are markers of a `not`.
	negated map[ir.Local]bool
	// within holds of each local that was looked up in another one in which.
	within    map[ir.Local]ir.Local
	withInput bool
	highest   ir.Local
}

func newUses() *uses {
	return &uses{written: map[ir.Local]int{}, read: map[ir.Local]int{}, pinned: map[ir.Local]bool{}, negated: map[ir.Local]bool{}, within: map[ir.Local]ir.Local{}, highest: ir.Unused}
}

func (u *uses) block(b *ir.Block) {
	for _, s := range b.Stmts {
		e := effectOf(s)
		for _, l := range e.reads {
			u.read[l]++
			u.highest = max(u.highest, l)
		}
		for _, l := range e.writes {
			u.written[l]++
			u.highest = max(u.highest, l)
		}
		for _, l := range e.pins {
			u.pinned[l] = true
		}
		if l, ok := markerOf(s); ok {
			u.negated[l] = true
		}
		if d, ok := s.(*ir.DotStmt); ok {
			if from, ok := d.Source.Value.(ir.Local); ok {
				u.within[d.Target] = from
			}
		}
		if w, ok := s.(*ir.WithStmt); ok && w.Local == ir.Input {
			u.withInput = true
		}
		for _, n := range nested(s) {
			u.block(n)
		}
	}
}

// markerOf returns the local that a negation tests at its end.
func markerOf(s ir.Stmt) (ir.Local, bool) {
	n, ok := s.(*ir.NotStmt)
	if !ok || len(n.Block.Stmts) == 0 {
		return 0, false
	}
	d, ok := n.Block.Stmts[len(n.Block.Stmts)-1].(*ir.IsDefinedStmt)
	if !ok || d.Source <= ir.Data {
		return 0, false
	}
	return d.Source, true
}

// nested returns the blocks in a statement.
func nested(s ir.Stmt) []*ir.Block {
	switch s := s.(type) {
	case *ir.BlockStmt:
		return s.Blocks
	case *ir.ScanStmt:
		return []*ir.Block{s.Block}
	case *ir.NotStmt:
		return []*ir.Block{s.Block}
	case *ir.WithStmt:
		return []*ir.Block{s.Block}
	}
	return nil
}

// An effect is what a statement itself does to locals.
type effect struct{ reads, writes, pins []ir.Local }

func (e *effect) operands(ops ...ir.Operand) *effect {
	for _, o := range ops {
		if l, ok := o.Value.(ir.Local); ok {
			e.reads = append(e.reads, l)
		}
	}
	return e
}

func (e *effect) locals(ls ...ir.Local) *effect { e.reads = append(e.reads, ls...); return e }
func (e *effect) write(ls ...ir.Local) *effect  { e.writes = append(e.writes, ls...); return e }
func (e *effect) pin(l ir.Local) *effect        { e.pins = append(e.pins, l); return e }

func effectOf(s ir.Stmt) *effect {
	e := &effect{}
	switch s := s.(type) {
	case *ir.ReturnLocalStmt:
		return e.locals(s.Source)
	case *ir.CallStmt:
		return e.operands(s.Args...).write(s.Result)
	case *ir.CallDynamicStmt:
		return e.locals(s.Args...).operands(s.Path...).write(s.Result)
	case *ir.DotStmt:
		return e.operands(s.Source, s.Key).write(s.Target)
	case *ir.LenStmt:
		return e.operands(s.Source).write(s.Target)
	case *ir.ScanStmt:
		return e.locals(s.Source).write(s.Key, s.Value)
	case *ir.AssignIntStmt:
		return e.write(s.Target)
	case *ir.AssignVarStmt:
		return e.operands(s.Source).write(s.Target)
	case *ir.AssignVarOnceStmt:
		return e.operands(s.Source).write(s.Target).pin(s.Target)
	case *ir.ResetLocalStmt:
		return e.write(s.Target).pin(s.Target)
	case *ir.WithStmt:
		return e.operands(s.Value).locals(s.Local).write(s.Local).pin(s.Local)
	case *ir.EqualStmt:
		return e.operands(s.A, s.B)
	case *ir.NotEqualStmt:
		return e.operands(s.A, s.B)
	case *ir.IsArrayStmt:
		return e.operands(s.Source)
	case *ir.IsObjectStmt:
		return e.operands(s.Source)
	case *ir.IsSetStmt:
		return e.operands(s.Source)
	case *ir.IsDefinedStmt:
		return e.locals(s.Source).pin(s.Source)
	case *ir.IsUndefinedStmt:
		return e.locals(s.Source).pin(s.Source)
	case *ir.ResultSetAddStmt:
		return e.locals(s.Value)
	}
	return makerEffect(s, e)
}

// makerEffect is the effect of what makes values.
func makerEffect(s ir.Stmt, e *effect) *effect {
	switch s := s.(type) {
	case *ir.MakeNullStmt:
		return e.write(s.Target)
	case *ir.MakeNumberIntStmt:
		return e.write(s.Target)
	case *ir.MakeNumberRefStmt:
		return e.write(s.Target)
	case *ir.MakeArrayStmt:
		return e.write(s.Target)
	case *ir.MakeObjectStmt:
		return e.write(s.Target)
	case *ir.MakeSetStmt:
		return e.write(s.Target)
	case *ir.ArrayAppendStmt:
		return e.operands(s.Value).locals(s.Array).pin(s.Array)
	case *ir.ObjectInsertStmt:
		return e.operands(s.Key, s.Value).locals(s.Object).pin(s.Object)
	case *ir.ObjectInsertOnceStmt:
		return e.operands(s.Key, s.Value).locals(s.Object).pin(s.Object)
	case *ir.ObjectMergeStmt:
		return e.locals(s.A, s.B).write(s.Target)
	case *ir.SetAddStmt:
		return e.operands(s.Value).locals(s.Set).pin(s.Set)
	}
	return e
}
