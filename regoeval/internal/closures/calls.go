package closures

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// outside are built-ins that need what only topdown is given.
var outside = map[string]bool{ast.HTTPSend.Name: true, ast.OPARuntime.Name: true}

// store ends a call: its result goes to a local.
func (f *frame) store(t int, v val) int {
	if f.eval.fatal != nil {
		return stop
	}
	if !v.defined() {
		return undefined
	}
	f.locals[t] = v
	return next
}

func (b *body) call(s *ir.CallStmt) statement {
	t := int(s.Result)
	if fn := b.byName[s.Func]; fn != nil {
		return b.callFunction(fn, s)
	}
	args := b.operands(s.Args)
	slow := b.builtin(s)
	if derive := derivations[s.Func]; derive != nil && args[0].kind == fromSlot {
		return b.callOnce(s, slow, args, derive)
	}
	if fast := b.fastValue(s.Func, args); fast != nil {
		return func(f *frame) int {
			if !f.step() {
				return stop
			}
			if v := fast(f); v.defined() {
				f.locals[t] = v
				return next
			}
			return f.store(t, f.eval.builtin(slow, f, args))
		}
	}
	if fast := b.fastTest(s.Func, args); fast != nil {
		return func(f *frame) int {
			if !f.step() {
				return stop
			}
			if r := fast(f); r != notCovered {
				f.locals[t] = boolVal(r == holds)
				return next
			}
			return f.store(t, f.eval.builtin(slow, f, args))
		}
	}
	return func(f *frame) int {
		if !f.step() {
			return stop
		}
		return f.store(t, f.eval.builtin(slow, f, args))
	}
}

// derivations are fast paths of built-ins whose values are kept: they are made once for
// each input, whatever the number of rules.
var derivations = map[string]func(*val) val{ast.ParseRFC3339Nanos.Name: parseTime}

// callOnce compiles a call whose value is kept in a slot.
func (b *body) callOnce(s *ir.CallStmt, slow *builtin, args []operand, derive func(*val) val) statement {
	t, slot, named := int(s.Result), b.derived(args[0].index, s.Func, derive), b.once(s.Result)
	if named {
		b.known[s.Result] = operand{kind: fromSlot, index: slot}
	}
	return func(f *frame) int {
		if !f.step() {
			return stop
		}
		v := f.eval.slot(f.in, slot)
		if !v.defined() {
			made := f.eval.builtin(slow, f, args)
			if f.eval.fatal != nil {
				return stop
			}
			if !made.defined() {
				return undefined
			}
			*v = made
		}
		if !named {
			f.locals[t] = *v
		}
		return next
	}
}

func (b *body) callFunction(fn *function, s *ir.CallStmt) statement {
	if len(s.Args) < 2 || s.Args[0].Value != ir.Val(ir.Input) || s.Args[1].Value != ir.Val(ir.Data) {
		panic(unsupported("a call without input and data"))
	}
	if len(s.Args) < len(fn.params) {
		// OPA's planner lists a package's functions among the members of its document,
		// and calls them without arguments (docs/adr/0021). They are no members.
		return never
	}
	b.keyed[s.Result] = b.compilation.keyed[s.Func]
	t, args := int(s.Result), b.operands(s.Args[2:])
	return func(f *frame) int {
		if !f.step() {
			return stop
		}
		return f.store(t, f.eval.call(fn, f, args))
	}
}

// callByPath compiles a call of the rule that values of the evaluation name.
func (b *body) callByPath(s *ir.CallDynamicStmt) statement {
	b.keyed[s.Result] = keyedByPath(b.compilation.keyed)
	path, t, byPath := b.operands(s.Path), int(s.Result), b.byPath
	return func(f *frame) int {
		if !f.step() {
			return stop
		}
		parts := make([]string, len(path))
		for i := range path {
			v := path[i].get(f)
			if v.kind != text {
				return undefined
			}
			parts[i] = v.s
		}
		fn := byPath[pathKey(parts)]
		if fn == nil || !fn.document {
			return undefined
		}
		return f.store(t, f.eval.call(fn, f, nil))
	}
}

// condition compiles a built-in whose result is only tested for not being false; nil
// when there is no fast path.
func (b *body) condition(s *ir.CallStmt) statement {
	if b.byName[s.Func] != nil {
		return nil
	}
	args := b.operands(s.Args)
	fast := b.fastTest(s.Func, args)
	if fast == nil {
		return nil
	}
	slow := b.builtin(s)
	return func(f *frame) int {
		if !f.step() {
			return stop
		}
		switch fast(f) {
		case holds:
			return next
		case fails:
			return undefined
		}
		v := f.eval.builtin(slow, f, args)
		switch {
		case f.eval.fatal != nil:
			return stop
		case v.defined() && !v.isFalse():
			return next
		}
		return undefined
	}
}

func (b *body) builtin(s *ir.CallStmt) *builtin {
	loc := b.loc(s.GetLocation())
	if m := b.more[s.Func]; m != nil {
		return &builtin{s.Func, m.Func, m.Decl.Relation, loc}
	}
	run, decl := topdown.GetBuiltin(s.Func), ast.BuiltinMap[s.Func]
	if run == nil || decl == nil || outside[s.Func] {
		panic(unsupported("the built-in %s", s.Func))
	}
	return &builtin{s.Func, run, decl.Relation, loc}
}
