package closures

import "github.com/open-policy-agent/opa/v1/ir"

// topdown iterates over a set such as {"b", input.x} as it is written: constants first,
// and an element twice when input.x is "b". Then again it may have evaluated the rule or
// the function that the set comes from, and iterate over a real one. An object with a
// variable as a key is the same. A plan makes a real set, or object. Nothing shows the
// difference but an array comprehension around the iteration, and `every`, which may
// stop at another element before one that fails. Such an `every` visits all elements.
// Such a comprehension is left to topdown, before any evaluation where only the literal's
// place says what it was; else for inputs for which it isn't written in order, each
// element once. (Two equal keys of an object: see body.insert.)

// literal says what a local may hold.
type literal uint8

const (
	noLiteral literal = iota
	written           // a set that is written so
	deep              // what is, or has in it, one of them that isn't known to be
)

// literals follows such values through a plan.
type literals struct {
	// returned is what functions may return, by their names.
	returned map[string]literal
	byPath   literal // what a call by path may get
	// params is what parameters may be given, by function.
	params map[string]map[ir.Local]literal
	// scans are the iterations over one, with what they are over.
	scans map[*ir.ScanStmt]literal
	// adds are what adds to one.
	adds  map[*ir.SetAddStmt]bool
	funcs map[string]*ir.Func // the plan's functions; read only
	grew  bool                // something was found that an earlier function may depend on
}

// checkLiterals finds such values in funcs, and panics with an *UnsupportedError where
// one shows the difference.
func (c *compilation) checkLiterals(funcs []*ir.Func) *literals {
	l := &literals{
		returned: map[string]literal{}, params: map[string]map[ir.Local]literal{}, scans: map[*ir.ScanStmt]literal{},
		adds: map[*ir.SetAddStmt]bool{}, funcs: c.index.byName, grew: true,
	}
	funcs = c.index.inOrder(funcs)
	for l.grew { // results go up to who calls, arguments down to what is called
		l.grew = false
		for _, f := range funcs {
			c.literalsOf(l, f)
		}
		if c.query != nil {
			c.literalsOf(l, c.query)
		}
	}
	return l
}

func (c *compilation) literalsOf(l *literals, f *ir.Func) {
	for _, b := range f.Blocks {
		w := &literalWalk{literals: l, comp: c, fn: f, made: map[ir.Local]int{}, fixed: map[ir.Local]bool{}, loose: map[ir.Local]literal{}}
		for p, kind := range l.params[f.Name] {
			w.loose[p] = kind
		}
		w.block(b)
	}
}

// literalWalk is the walk through one rule body.
type literalWalk struct {
	*literals
	comp  *compilation
	fn    *ir.Func
	depth int               // of blocks: a comprehension fills its result in one of its own
	made  map[ir.Local]int  // the depth at which a collection was begun
	fixed map[ir.Local]bool // constants, and collections of nothing else
	loose map[ir.Local]literal
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

func (w *literalWalk) kind(o ir.Operand) literal {
	l, _ := o.Value.(ir.Local)
	return w.loose[l]
}

// inside is what holds an operand, or is held by it.
func (w *literalWalk) inside(o ir.Operand) literal {
	if w.kind(o) != noLiteral {
		return deep
	}
	return noLiteral
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
		w.addsTo(s.Set, w.varies(s.Value), max(w.inside(s.Value), ifVaries(w.varies(s.Value), written)))
		if depth, ok := w.made[s.Set]; ok && depth == w.depth {
			w.adds[s] = true
		}
	case *ir.ObjectInsertStmt:
		w.addsTo(s.Object, w.varies(s.Key) || w.varies(s.Value), max(w.inside(s.Value), ifVaries(w.varies(s.Key), deep)))
	case *ir.ArrayAppendStmt:
		w.addsTo(s.Array, w.varies(s.Value), w.inside(s.Value))
	case *ir.AssignVarStmt:
		w.spread(s.Target, w.kind(s.Source))
	case *ir.AssignVarOnceStmt:
		w.returns(s)
	case *ir.DotStmt:
		w.spread(s.Target, w.inside(s.Source))
	case *ir.ScanStmt:
		w.scan(s)
	case *ir.CallStmt:
		w.callOf(s)
	case *ir.CallDynamicStmt:
		w.spread(s.Result, w.byPath)
	}
}

func ifVaries(varies bool, kind literal) literal {
	if varies {
		return kind
	}
	return noLiteral
}

func (w *literalWalk) addsTo(to ir.Local, varies bool, kind literal) {
	w.fixed[to] = w.fixed[to] && !varies
	if depth, ok := w.made[to]; ok && depth == w.depth {
		w.spread(to, kind)
	}
}

func (w *literalWalk) spread(to ir.Local, kind literal) {
	if kind > w.loose[to] {
		w.loose[to] = kind
	}
}

func (w *literalWalk) returns(s *ir.AssignVarOnceStmt) {
	kind := w.kind(s.Source)
	w.spread(s.Target, kind)
	if kind > w.returned[w.fn.Name] {
		w.grew = true
		w.returned[w.fn.Name] = kind
		w.byPath = max(w.byPath, kind)
	}
}

func (w *literalWalk) scan(s *ir.ScanStmt) {
	kind := w.loose[s.Source]
	if kind == noLiteral {
		return
	}
	if kind == deep && fillsArray(s.Block) {
		at := w.comp.loc(s.GetLocation())
		panic(unsupported("an array comprehension over a set or an object that is written with variables in it, in %s:%d", at.File, at.Row))
	}
	w.scans[s] = kind
	w.loose[s.Key], w.loose[s.Value] = deep, deep
}

// fillsArray reports whether a block adds to an array that was begun before it.
func fillsArray(b *ir.Block) bool {
	made, found := map[ir.Local]bool{}, false
	walk([]*ir.Block{b}, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.MakeArrayStmt:
			made[s.Target] = true
		case *ir.ArrayAppendStmt:
			found = found || !made[s.Array]
		}
	})
	return found
}

func (w *literalWalk) callOf(s *ir.CallStmt) {
	f := w.funcs[s.Func]
	if f == nil {
		return // built-ins are given real sets
	}
	w.spread(s.Result, w.returned[s.Func])
	for i, a := range s.Args {
		kind, params := w.kind(a), w.params[s.Func]
		if kind <= params[f.Params[i]] {
			continue
		}
		if params == nil {
			params = map[ir.Local]literal{}
			w.params[s.Func] = params
		}
		params[f.Params[i]] = kind
		w.grew = true
	}
}
