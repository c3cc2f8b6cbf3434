package regoeval

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
)

// partialBuiltins have no result, and no error either, for some operands of their
// types: the smallest of nothing, a patch that doesn't apply.
var partialBuiltins = []string{"min", "max", "json.patch", "walk"}

// envelope is the input document. Every call has exactly these members; nil stands
// for one whose own members depend on the call.
var envelope = member{
	"arguments": nil,
	"tool":      member{"name": leaf, "server": leaf, "title": leaf, "annotations": nil},
	"caller":    member{"subject": leaf, "tenant": leaf, "scopes": list, "claims": nil},
	"call":      member{"id": leaf, "session": leaf, "transport": leaf, "time": leaf, "responses": nil},
}

// A member is an object of the input document by the names of its members.
type member map[string]member

var (
	leaf = member{}       // a scalar
	list = member{"": {}} // a list of scalars
)

// A known says what has a value in the circumstances that are asked about, beside what
// always has one, and remembers what follows from that for rules.
type known struct {
	place func(ast.Ref) bool
	total map[visit]bool
}

func newKnown(place func(ast.Ref) bool) known { return known{place, map[visit]bool{}} }

func nothingKnown() known { return newKnown(func(ast.Ref) bool { return false }) }

// alwaysThere reports whether a place has a value for every call for which what else
// is known to be there is.
func (l loader) alwaysThere(ref ast.Ref, there known) bool {
	if there.place(ref) {
		return true
	}
	if l.shadowed(ref) {
		return false
	}
	switch {
	case ref.HasPrefix(ast.InputRootRef):
		return inEnvelope(ref)
	case !ref.HasPrefix(ast.DefaultRootRef):
		return false
	}
	if rules := l.rulesAt(ref); len(rules) > 0 {
		return l.alwaysMade(ref, rules, there)
	}
	return ref.IsGround() && l.supplied(ref, every)
}

func inEnvelope(ref ast.Ref) bool {
	m := envelope
	for _, t := range ref[1:] {
		name, ok := t.Value.(ast.String)
		if !ok || m == nil {
			return false
		}
		if m, ok = m[string(name)]; !ok {
			return false
		}
	}
	return true
}

// alwaysMade reports whether rules give a place a value.
func (l loader) alwaysMade(ref ast.Ref, rules []*ast.Rule, there known) bool {
	rest := ref[len(rules[0].Ref().GroundPrefix()):]
	if len(rest) == 0 {
		return slices.ContainsFunc(rules, func(r *ast.Rule) bool { return l.totalRule(r, nil, there) })
	}
	r := rules[0]
	if len(rules) != 1 || r.Else != nil || r.Head.RuleKind() != ast.SingleValue || !l.totalRule(r, nil, there) {
		return false
	}
	if made := newFlow(r, nil).placeOf(r.Head.Value); rooted(made) {
		return l.alwaysThere(made.Concat(rest), there)
	}
	_, err := r.Head.Value.Value.Find(rest)
	return err == nil && rest.IsGround()
}

// totalFunction reports whether a call has a value, or an error.
func (l loader) totalFunction(rules []*ast.Rule, args []ast.Ref, there known) bool {
	return slices.ContainsFunc(rules, func(r *ast.Rule) bool { return l.totalRule(r, args, there) })
}

// totalRule reports whether a rule has a value: a default, a partial rule (empty at
// least), or a branch without a condition.
func (l loader) totalRule(r *ast.Rule, args []ast.Ref, there known) bool {
	if r.Default || r.Head.RuleKind() == ast.MultiValue || len(r.Head.Ref()) > 1 && !r.Head.Ref().IsGround() {
		return true
	}
	if slices.ContainsFunc(r.Head.Args, func(a *ast.Term) bool { _, ok := a.Value.(ast.Var); return !ok }) {
		return false // defined for some arguments only
	}
	key := visitOf(r, args)
	if total, seen := there.total[key]; seen {
		return total
	}
	there.total[key] = false // OPA refuses recursion; should it not, this is the careful answer
	there.total[key] = slices.ContainsFunc(branches(r), func(b *ast.Rule) bool { return l.totalBranch(b, newFlow(r, args), there) })
	return there.total[key]
}

func (l loader) totalBranch(r *ast.Rule, f *flow, there known) bool {
	params := argVars(r)
	for i, e := range r.Body {
		if isTrue(e) {
			continue
		}
		if len(outputs(r.Body, i)) == 0 || isGenerator(r.Body, i, params) || mayFail(r.Body, i) != "" {
			return false
		}
		if fn := l.userFunction(e); fn != nil && !l.totalFunction(fn, f.callArgs(e), there) {
			return false
		}
		for _, ref := range f.readBy(e) {
			if !f.constant(ref) && !l.alwaysThere(ref, there) {
				return false
			}
		}
	}
	return true
}

// shadowed reports whether some rule puts another value in front of a place, with
// `with`: what is there otherwise says nothing then.
func (l loader) shadowed(ref ast.Ref) bool {
	return slices.ContainsFunc(l.withTargets, func(target ast.Ref) bool {
		return len(target) < len(ref) && ref.HasPrefix(target)
	})
}

// replaced reports whether some rule replaces a built-in function, with `with`.
func (l loader) replaced(builtin string) bool {
	return slices.ContainsFunc(l.withTargets, func(target ast.Ref) bool { return target.String() == builtin })
}

// findWithTargets lists what `with` replaces anywhere in the modules.
func findWithTargets(c *ast.Compiler) []ast.Ref {
	var targets []ast.Ref
	for _, m := range c.Modules {
		ast.WalkWiths(m, func(w *ast.With) bool {
			if ref, ok := w.Target.Value.(ast.Ref); ok {
				targets = append(targets, ref)
			} else if v, ok := w.Target.Value.(ast.Var); ok {
				targets = append(targets, ast.Ref{ast.NewTerm(v)})
			}
			return false
		})
	}
	return targets
}

// How much of a collection must have what a reference looks for behind a variable.
type quantifier int

const (
	some  quantifier = iota // one member, if there is any
	every                   // all members
)

// supplied reports whether the data document has something at a place. Behind a
// variable, some or every member must have it.
func (l loader) supplied(ref ast.Ref, q quantifier) bool {
	ground := ref.GroundPrefix()
	v, ok := l.value(ground)
	if !ok {
		return false
	}
	visits := 1 << 20 // enough for data that is a list of rules; huge documents are not searched through
	return hasBelow(v, ref[len(ground):], q, &visits)
}

// value reads a constant data path.
func (l loader) value(ref ast.Ref) (ast.Value, bool) {
	path, err := storage.NewPathForRef(ref)
	if err != nil {
		return nil, false
	}
	x, err := l.store.Read(l.ctx, l.txn, path)
	if err != nil {
		return nil, false
	}
	v, ok := x.(ast.Value)
	return v, ok
}

func hasBelow(v ast.Value, rest ast.Ref, q quantifier, visits *int) bool {
	if *visits--; len(rest) == 0 || *visits < 0 {
		return q == some || *visits >= 0
	}
	if rest[0].IsGround() {
		next, err := v.Find(ast.Ref{rest[0]})
		return err == nil && hasBelow(next, rest[1:], q, visits)
	}
	members, ok := membersOf(v)
	if !ok {
		return false
	}
	for _, m := range members {
		if hasBelow(m, rest[1:], q, visits) != (q == every) {
			return q == some
		}
	}
	return q == every || len(members) == 0
}

// membersOf returns the values in a collection; false for a scalar.
func membersOf(v ast.Value) ([]ast.Value, bool) {
	var out []ast.Value
	switch v := v.(type) {
	case *ast.Array:
		v.Foreach(func(t *ast.Term) { out = append(out, t.Value) })
	case ast.Object:
		v.Foreach(func(_, t *ast.Term) { out = append(out, t.Value) })
	case ast.Set:
		v.Foreach(func(t *ast.Term) { out = append(out, t.Value) })
	default:
		return nil, false
	}
	return out, true
}
