package closures

import "github.com/open-policy-agent/opa/v1/ir"

// slotIs is a test of a slot for a constant.
type slotIs struct {
	slot int
	text string
	n    int64
	kind kind // text or number
}

func newSlotIs(slot int, v val) *slotIs {
	switch {
	case v.kind == text:
		return &slotIs{slot: slot, text: v.s, kind: text}
	case v.kind == number && v.exact:
		return &slotIs{slot: slot, n: v.n, kind: number}
	}
	return nil
}

// A guard is what a rule body tests before anything else.
type guard struct {
	open bool // nothing but looking whether something has a value came so far
	is   *slotIs
}

func (g *guard) note(s compiled) {
	if !g.open {
		return
	}
	if s.equals != nil {
		g.is = s.equals
	}
	g.open = s.pure
}

// A dispatcher runs the bodies of a set that can hold: of those that begin by comparing
// one slot with a constant, the ones that belong to what is there. Without it a call
// would have to ask each of a thousand rules about a thousand tools. Bodies that are
// left out could only have failed at that comparison: they have no other effect.
type dispatcher struct {
	slot   int
	byText map[string][]int
	byInt  map[int64][]int
	others []int // bodies that don't begin so
}

// dispatched is from how many such bodies on it is worth it.
const dispatched = 4

// newDispatcher returns nil where the bodies depend on each other, or are few.
func newDispatcher(fn *function, f *ir.Func, guards []*guard) *dispatcher {
	if len(f.Blocks) == 0 || !isPartialSet(f) {
		return nil
	}
	count := map[int]int{}
	best := -1
	for _, g := range guards {
		if g.is != nil {
			if count[g.is.slot]++; best < 0 || count[g.is.slot] > count[best] {
				best = g.is.slot
			}
		}
	}
	if best < 0 || count[best] < dispatched {
		return nil
	}
	d := &dispatcher{slot: best, byText: map[string][]int{}, byInt: map[int64][]int{}}
	for i, g := range guards {
		switch {
		case g.is == nil || g.is.slot != best:
			d.others = append(d.others, i)
		case g.is.kind == text:
			d.byText[g.is.text] = append(d.byText[g.is.text], i)
		default:
			d.byInt[g.is.n] = append(d.byInt[g.is.n], i)
		}
	}
	return d
}

// isPartialSet reports whether the bodies only add to one set.
func isPartialSet(f *ir.Func) bool {
	made := false
	for _, s := range f.Blocks[0].Stmts {
		m, ok := s.(*ir.MakeSetStmt)
		made = made || ok && m.Target == f.Return
	}
	return made
}

func (d *dispatcher) run(fn *function, f *frame) {
	v := f.eval.slot(f.in, d.slot)
	var chosen []int
	switch {
	case v.kind == text:
		chosen = d.byText[v.s]
	case v.kind == number && v.exact:
		chosen = d.byInt[v.n]
	case v.kind == number: // 5.0 is 5 as well
		fn.runAll(f)
		return
	}
	others := d.others
	for len(chosen) > 0 || len(others) > 0 { // in the order of the rules
		i := 0
		if len(others) == 0 || len(chosen) > 0 && chosen[0] < others[0] {
			i, chosen = chosen[0], chosen[1:]
		} else {
			i, others = others[0], others[1:]
		}
		if r := fn.blocks[i].run(f); r > undefined {
			return
		}
	}
}
