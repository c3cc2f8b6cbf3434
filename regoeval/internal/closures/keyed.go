package closures

import (
	"strconv"

	"github.com/open-policy-agent/opa/v1/ir"
)

// Where a rule looks one key of a partial rule up, topdown evaluates the partial rule
// for that key alone. If its body then looks the key up in data, the key is part of a
// path of the store, in which 1 is "1" as well: o[k] := v if some k, v in data.m has a
// member 1 although data.m only has "1". A plan makes the whole object, and finds none.
// What it finds is the same in both, and so are names that can't be read as a number;
// where it finds nothing under any other key, the evaluation is left to topdown.

// keyedFuncs are partial rules that ask for the keys of data, or use such a rule.
func keyedFuncs(plan *ir.Policy, funcs []*ir.Func) map[string]bool {
	used := map[*ir.Func]bool{}
	for _, f := range funcs {
		used[f] = true
	}
	keyed := map[string]bool{}
	for _, f := range plan.Funcs.Funcs { // what is called comes first
		if used[f] && isPartial(f) && iteratesOverData(f, keyed) {
			keyed[f.Name] = true
		}
	}
	return keyed
}

// isPartial reports whether the bodies of a function add to one collection.
func isPartial(f *ir.Func) bool {
	if len(f.Blocks) == 0 || len(f.Params) != 2 {
		return false
	}
	for _, s := range f.Blocks[0].Stmts {
		switch s := s.(type) {
		case *ir.MakeSetStmt:
			return s.Target == f.Return
		case *ir.MakeObjectStmt:
			return s.Target == f.Return
		}
	}
	return false
}

func iteratesOverData(f *ir.Func, keyed map[string]bool) bool {
	found := false
	for _, b := range f.Blocks {
		uses := newUses()
		uses.block(b)
		below := map[ir.Local]bool{ir.Data: true}
		is := func(o ir.Operand) bool {
			l, ok := o.Value.(ir.Local)
			return ok && below[l]
		}
		walk([]*ir.Block{b}, func(s ir.Stmt) {
			switch s := s.(type) {
			case *ir.DotStmt:
				below[s.Target] = below[s.Target] || is(s.Source)
			case *ir.AssignVarStmt:
				below[s.Target] = below[s.Target] || is(s.Source)
			case *ir.ScanStmt:
				found = found || below[s.Source] && uses.read[s.Key] > 0
				below[s.Value] = below[s.Value] || below[s.Source]
			case *ir.CallStmt:
				found = found || keyed[s.Func]
			case *ir.CallDynamicStmt:
				found = found || len(keyed) > 0
			}
		})
	}
	return found
}

// dotKeyed compiles a look-up in what such a rule came to.
func (b *body) dotKeyed(s *ir.DotStmt) compiled {
	b.keyed[s.Target] = true
	key := b.operand(s.Key)
	plainDot := b.dotPlain(s, nil)
	if key.isConstantText() && !readsAsNumber(key.constant.val.s) || plainDot.run == nil {
		return plainDot
	}
	return plain(func(f *frame) int {
		r := plainDot.run(f)
		if k := key.get(f); r == undefined && (k.kind != text || readsAsNumber(k.s)) {
			f.eval.halt(ErrUnsure)
			return stop
		}
		return r
	})
}

func readsAsNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}
