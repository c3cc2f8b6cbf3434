package closures

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// An alias is a rule that is another name for a constant path: args := input.arguments.
// A call of it needs no call.
type alias struct {
	root ir.Local // ir.Input or ir.Data
	path []string
}

// aliasOf returns nil for a function that is no alias.
func (c *compilation) aliasOf(f *ir.Func) *alias {
	const bodyAndEnd = 3 // the body, its result becoming the rule's, the return
	if len(f.Blocks) != bodyAndEnd || len(f.Params) != 2 || len(f.Blocks[1].Stmts) != 2 || len(f.Blocks[2].Stmts) != 1 {
		return nil
	}
	given, ok := f.Blocks[1].Stmts[1].(*ir.AssignVarOnceStmt)
	if !ok || given.Target != f.Return {
		return nil
	}
	names := map[ir.Local]*alias{ir.Input: {root: ir.Input}, ir.Data: {root: ir.Data}}
	stmts := f.Blocks[0].Stmts
	for i, s := range stmts {
		switch s := s.(type) {
		case *ir.ResetLocalStmt:
			if i > 0 {
				return nil
			}
		case *ir.DotStmt:
			from, _ := s.Source.Value.(ir.Local)
			key, isText := s.Key.Value.(ir.StringIndex)
			a := names[from]
			if _, isLocal := s.Source.Value.(ir.Local); a == nil || !isLocal || !isText {
				return nil
			}
			names[s.Target] = &alias{a.root, append(append([]string{}, a.path...), c.text(int(key)))}
		case *ir.AssignVarStmt:
			from, isLocal := s.Source.Value.(ir.Local)
			if a := names[from]; isLocal && a != nil {
				names[s.Target] = a
			} else {
				return nil
			}
		case *ir.AssignVarOnceStmt:
			from, isLocal := s.Source.Value.(ir.Local)
			result, isResult := given.Source.Value.(ir.Local)
			a := names[from]
			if !isLocal || !isResult || s.Target != result || i != len(stmts)-1 || a == nil || len(a.path) == 0 {
				return nil
			}
			return a
		default:
			return nil
		}
	}
	return nil
}

// aliased compiles a call of an alias; false where it has to be called.
func (b *body) aliased(s *ir.CallStmt, rest []ir.Stmt) (compiled, bool) {
	a := b.aliases[s.Func]
	if a == nil || !b.once(s.Result) || a.root == ir.Input && b.uses.withInput || a.root == ir.Data && !b.foldData {
		return compiled{}, false
	}
	if a.root == ir.Input {
		o := operand{kind: fromSlot}
		for _, name := range a.path {
			o.index = b.slot(o.index, name)
		}
		b.known[s.Result] = o
		if b.asksNext(s.Result, rest) {
			return compiled{}, true
		}
		return compiled{run: isDefined(o), pure: true}, true
	}
	v := b.data.root
	none := &evaluation{}
	for _, name := range a.path {
		key := textVal(name)
		if v = none.get(&v, &key); !v.defined() {
			return compiled{}, false
		}
	}
	if v.kind == text {
		v = constantVal(ast.String(v.s))
	}
	b.known[s.Result] = b.data.constant(v)
	return compiled{}, true
}
