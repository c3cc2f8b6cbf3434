package closures

import (
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// Where a rule looks one key of a partial rule up, topdown evaluates the partial rule
// for that key alone; a plan makes the whole object, and looks the key up in that. Keys
// that are equal, but not written alike, are then not the same: the body that is
// evaluated for 1.0 sees 1.0, and 1e0 is no index.
//
// If the body looks the key up in data, the key is part of a path of the store, in which
// 1 is "1" as well, and "1" an index: o[k] := v if some k, v in data.m has a member 1
// although data.m only has "1". A plan finds none; or finds one, where topdown says that
// two are in conflict. And a collection is no part of a path: topdown has an error for it.
//
// A look-up of a key that may have such a twin is left to topdown.

// keyedKind says how a rule, or what it came to, depends on the key that is asked for.
type keyedKind uint8

const (
	notKeyed  keyedKind = iota
	keyed               // a partial rule
	keyedData           // a partial rule that asks for the keys of data, or uses such a rule
)

func keyedFuncs(plan *ir.Policy, funcs []*ir.Func) map[string]keyedKind {
	used := map[*ir.Func]bool{}
	for _, f := range funcs {
		used[f] = true
	}
	kinds := map[string]keyedKind{}
	for _, f := range plan.Funcs.Funcs { // what is called comes first
		if used[f] && isPartial(f) {
			kinds[f.Name] = keyed
			if iteratesOverData(f, kinds) {
				kinds[f.Name] = keyedData
			}
		}
	}
	return kinds
}

// keyedByPath is what a call of any of them may come to.
func keyedByPath(kinds map[string]keyedKind) keyedKind {
	out := notKeyed
	for _, k := range kinds {
		out = max(out, k)
	}
	return out
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

func iteratesOverData(f *ir.Func, kinds map[string]keyedKind) bool {
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
				found = found || kinds[s.Func] == keyedData
			case *ir.CallDynamicStmt:
				found = found || keyedByPath(kinds) == keyedData
			}
		})
	}
	return found
}

// dotKeyed compiles a look-up in what such a rule came to.
func (b *body) dotKeyed(s *ir.DotStmt, kind keyedKind) compiled {
	b.keyed[s.Target] = kind
	key := b.operand(s.Key)
	plainDot := b.dotPlain(s, nil)
	if key.isConstantText() && (kind == keyed || !readsAsNumber(key.constant.val.s)) || plainDot.run == nil {
		return plainDot
	}
	var twins *twinKeys
	switch {
	case kind == keyed:
	case b.foldData:
		twins = b.data.twins()
	default: // it isn't this document that is looked into
		twins = &twinKeys{all: true}
	}
	return plain(func(f *frame) int {
		if k := key.get(f); k.defined() && twins.mayHave(f.eval, k) {
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

// mayHave reports whether a key may have a twin; with t nil, in no data.
func (t *twinKeys) mayHave(e *evaluation, k *val) bool {
	switch k.kind {
	case null, boolean:
		return false
	case text:
		return t != nil && t.hasIndex(k.s)
	case number:
		return !k.plain() || t != nil && t.hasName(k)
	}
	return t != nil || !plainNumbers(k.toTerm(e))
}

func (t *twinKeys) hasIndex(s string) bool {
	if t.all {
		return readsAsNumber(s)
	}
	i, err := strconv.Atoi(s)
	return err == nil && i >= 0 && i < t.longest
}

func (t *twinKeys) hasName(k *val) bool {
	if t.all {
		return true
	}
	_, ok := t.names[strconv.FormatInt(k.n, 10)]
	return ok
}

// plain reports whether a number is written in the one way in which everybody writes it.
func (v *val) plain() bool { return v.exact && (v.n != 0 || v.s == "" || v.s == "0") }

// plainNumbers reports the same for all that are in a value.
func plainNumbers(x ast.Value) bool {
	found := false
	ast.WalkTerms(ast.NewTerm(x), func(t *ast.Term) bool {
		if n, ok := t.Value.(ast.Number); ok {
			v := numberVal(string(n))
			found = found || !v.plain()
		}
		return found
	})
	return !found
}
