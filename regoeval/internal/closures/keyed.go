package closures

import (
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// Where a rule looks one key of a partial rule up, topdown evaluates the partial rule
// for that key alone. If its body then looks the key up in data, the key is part of a
// path of the store, in which 1 is "1" as well, and "1" an index: o[k] := v if some k, v
// in data.m has a member 1 although data.m only has "1". A plan makes the whole object,
// and finds none; or finds one, where topdown says that two are in conflict. A look-up
// of a key that has such a twin in data is left to topdown, and so is one of a
// collection, which is no part of a path: topdown has an error for it.

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

// isPartial reports whether the bodies of a function add to one collection. Below a
// replacement of a function, a rule has parameters.
func isPartial(f *ir.Func) bool {
	if len(f.Blocks) == 0 {
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
	twins := b.data.twins()
	if !b.foldData { // it isn't this document that is looked into
		twins = &twinKeys{all: true}
	}
	return plain(func(f *frame) int {
		if k := key.get(f); k.defined() && twins.mayHave(k) {
			f.eval.halt(ErrUnsure)
			return stop
		}
		return plainDot.run(f)
	})
}

func readsAsNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// twinKeys says which keys are two keys of a data document when they are a part of a
// path.
type twinKeys struct {
	all     bool
	names   map[string]struct{} // of members, where they read as numbers
	longest int                 // array
}

// maxTwins is how many names are kept.
const maxTwins = 10_000

// twins looks through the document, once.
func (d *Data) twins() *twinKeys {
	if d.twinKeys == nil {
		d.twinKeys = &twinKeys{names: map[string]struct{}{}}
		d.twinKeys.find(d.root.other)
	}
	return d.twinKeys
}

func (t *twinKeys) find(x any) {
	switch x := x.(type) {
	case ast.Object:
		x.Foreach(func(k, v *ast.Term) {
			switch name, ok := k.Value.(ast.String); {
			case !ok, len(t.names) > maxTwins:
				t.all = true
			case readsAsNumber(string(name)):
				t.names[string(name)] = struct{}{}
			}
			t.find(v.Value)
		})
	case *ast.Array:
		t.longest = max(t.longest, x.Len())
		x.Foreach(func(v *ast.Term) { t.find(v.Value) })
	}
}

func (t *twinKeys) mayHave(k *val) bool {
	switch k.kind {
	case null, boolean:
		return false
	case text:
		if t.all {
			return readsAsNumber(k.s)
		}
		i, err := strconv.Atoi(k.s)
		return err == nil && i >= 0 && i < t.longest
	case number:
		if t.all {
			return true
		}
		name := k.s
		if name == "" {
			name = strconv.FormatInt(k.n, 10)
		}
		_, ok := t.names[name]
		return ok
	}
	return true
}
