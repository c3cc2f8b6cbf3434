package closures

import "github.com/open-policy-agent/opa/v1/ir"

// topdown iterates over a set such as {"b", input.x} as it is written: constants first,
// and an element twice when input.x is "b". An object with a variable as a key is the
// same, and a look-up in it finds the first of two. A plan makes a real set, or object.
// The few rules that iterate over such a value, or look into one, are left to topdown.

// literals follows such values through a plan.
type literals struct {
	own map[string]bool // the plan's functions
	// returned are functions that may return one.
	returned map[string]bool
	byPath   bool // some function returns one: a call by path may get it
}

// checkLiterals panics with an *UnsupportedError where one of funcs, or what it calls,
// iterates over such a value.
func (c *compilation) checkLiterals(funcs []*ir.Func) {
	used := map[*ir.Func]bool{}
	for _, f := range funcs {
		used[f] = true
	}
	l := &literals{own: map[string]bool{}, returned: map[string]bool{}}
	for _, f := range c.plan.Funcs.Funcs {
		l.own[f.Name] = true
	}
	for _, f := range c.plan.Funcs.Funcs { // what is called comes first
		if used[f] {
			l.function(f)
		}
	}
	if c.query != nil {
		l.function(c.query)
	}
}

func (l *literals) function(f *ir.Func) {
	for _, b := range f.Blocks {
		w := &literalWalk{literals: l, fn: f, made: map[ir.Local]int{}, fixed: map[ir.Local]bool{}, loose: map[ir.Local]bool{}}
		w.block(b)
	}
}

// literalWalk is the walk through one rule body.
type literalWalk struct {
	*literals
	fn    *ir.Func
	depth int               // of blocks: a comprehension fills its result in one of its own
	made  map[ir.Local]int  // the depth at which a collection was begun
	fixed map[ir.Local]bool // constants, and collections of nothing else
	loose map[ir.Local]bool
}

func (w *literalWalk) block(b *ir.Block) {
	for _, s := range b.Stmts {
		w.statement(s)
		_, deeper := s.(*ir.BlockStmt)
		if deeper {
			w.depth++
		}
		for _, n := range nested(s) {
			w.block(n)
		}
		if deeper {
			w.depth--
		}
	}
}

func (w *literalWalk) isLoose(o ir.Operand) bool {
	l, ok := o.Value.(ir.Local)
	return ok && w.loose[l]
}

// varies reports whether an operand isn't a constant.
func (w *literalWalk) varies(o ir.Operand) bool {
	l, ok := o.Value.(ir.Local)
	return ok && !w.fixed[l]
}

func (w *literalWalk) begin(l ir.Local) { w.made[l], w.fixed[l] = w.depth, true }

func (w *literalWalk) statement(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.MakeSetStmt:
		w.begin(s.Target)
	case *ir.MakeObjectStmt:
		w.begin(s.Target)
	case *ir.MakeArrayStmt:
		w.begin(s.Target)
	case *ir.MakeNullStmt:
		w.fixed[s.Target] = true
	case *ir.MakeNumberIntStmt:
		w.fixed[s.Target] = true
	case *ir.MakeNumberRefStmt:
		w.fixed[s.Target] = true
	case *ir.SetAddStmt:
		w.adds(s.Set, w.varies(s.Value), w.varies(s.Value))
	case *ir.ObjectInsertStmt:
		w.adds(s.Object, w.varies(s.Key) || w.varies(s.Value), w.varies(s.Key) || w.isLoose(s.Value))
	case *ir.ArrayAppendStmt:
		w.adds(s.Array, w.varies(s.Value), w.isLoose(s.Value))
	case *ir.AssignVarStmt:
		w.spread(s.Target, w.isLoose(s.Source))
	case *ir.AssignVarOnceStmt:
		if w.isLoose(s.Source) {
			w.loose[s.Target] = true
			w.returned[w.fn.Name], w.byPath = true, true
		}
	case *ir.DotStmt:
		if w.isLoose(s.Source) {
			panic(unsupported("a look-up in a set or an object that is written with variables in it, in line %d", s.GetLocation().Row))
		}
	case *ir.ScanStmt:
		if w.loose[s.Source] {
			panic(unsupported("an iteration over a set or an object that is written with variables in it, in line %d", s.GetLocation().Row))
		}
	case *ir.CallStmt:
		w.call(s)
	case *ir.CallDynamicStmt:
		w.spread(s.Result, w.byPath)
	}
}

func (w *literalWalk) adds(to ir.Local, varies, loose bool) {
	w.fixed[to] = w.fixed[to] && !varies
	if depth, ok := w.made[to]; ok && depth == w.depth {
		w.spread(to, loose)
	}
}

func (w *literalWalk) spread(to ir.Local, loose bool) {
	if loose {
		w.loose[to] = true
	}
}

func (w *literalWalk) call(s *ir.CallStmt) {
	if !w.own[s.Func] {
		return // built-ins are given real sets
	}
	w.spread(s.Result, w.returned[s.Func])
	for _, a := range s.Args {
		if w.isLoose(a) {
			panic(unsupported("a set or an object that is written with variables in it is an argument, in line %d", s.GetLocation().Row))
		}
	}
}
