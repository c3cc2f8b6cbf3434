package regoeval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A reads follows every reference from a deny or warn set through helper rules and
// functions to the place that it reads, and refuses places that are never there: in
// Rego such a rule is undefined, which is to say silent.
type reads struct {
	loader
	fs      *findings
	visited map[visit]bool
	reached map[*ast.Rule]bool // every rule that has a part in a decision
}

func (r *reads) rules(rules []*ast.Rule, args []ast.Ref) {
	for _, rule := range rules {
		r.rule(rule, args)
	}
}

func (r *reads) rule(rule *ast.Rule, args []ast.Ref) {
	key := visitOf(rule, args)
	if r.visited[key] {
		return
	}
	r.visited[key] = true
	f := newFlow(rule, args)
	for _, b := range branches(rule) {
		r.reached[b] = true
	}
	var at *ast.Location
	var vis *ast.GenericVisitor
	vis = ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Expr:
			if x.Location != nil {
				at = x.Location
			}
			r.collection(f, x, at)
			r.truth(f, x, at)
			if fn := r.userFunction(x); fn != nil {
				r.rules(fn, f.callArgs(x))
				walkAll(vis, x.Operands())
				for _, w := range x.With {
					vis.Walk(w)
				}
				return true
			}
		case *ast.With:
			vis.Walk(x.Value) // the target is written, not read
			return true
		case *ast.Term:
			if ref, ok := x.Value.(ast.Ref); ok {
				r.place(f.resolve(ref), locationOf(x, at))
				walkAll(vis, ref[1:])
				return true
			}
		}
		return false
	})
	vis.Walk(rule)
}

func walkAll(vis *ast.GenericVisitor, terms []*ast.Term) {
	for _, t := range terms {
		vis.Walk(t)
	}
}

func locationOf(t *ast.Term, otherwise *ast.Location) *ast.Location {
	if t.Location != nil {
		return t.Location
	}
	return otherwise
}

// place checks one place that is read.
func (r *reads) place(ref ast.Ref, loc *ast.Location) {
	switch {
	case ref.HasPrefix(ast.InputRootRef):
		r.input(ref, loc)
	case ref.HasPrefix(ast.DefaultRootRef):
		r.rules(r.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{}), nil)
		r.data(ref, loc)
	}
}

// input refuses what no input document has, whatever the call.
func (r *reads) input(ref ast.Ref, loc *ast.Location) {
	if r.shadowed(ref) {
		return
	}
	m := envelope
	for i, t := range ref[1:] {
		name, ok := t.Value.(ast.String)
		if m == nil || !ok && len(m) > 0 {
			return
		}
		next, there := m[string(name)]
		if !there || !ok {
			where := ref[:i+1].String()
			r.fs.add(idInput, loc, inputFix(m), "%s has no member %s, so that the rule never holds", where, t)
			return
		}
		m = next
	}
}

func inputFix(m member) string {
	if len(m) == 0 || m[""] != nil {
		return "it is a single value, or a list of them"
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	return "it has " + strings.Join(sorted(names), ", ")
}

// neverEmpty are members of the input document that are known of every call: asking
// for them is idle, and no mistake.
var neverEmpty = []string{"input", "input.arguments", "input.tool", "input.tool.name", "input.caller", "input.call", "input.call.time"}

// truth refuses to ask whether something is there that always is: what isn't known
// of a caller is null, and null counts as true.
func (r *reads) truth(f *flow, e *ast.Expr, loc *ast.Location) {
	t, ok := e.Terms.(*ast.Term)
	if !ok {
		return
	}
	ref := f.placeOf(t)
	if ref == nil || !ref.HasPrefix(ast.InputRootRef) || r.shadowed(ref) || !inEnvelope(ref) || slices.Contains(neverEmpty, ref.String()) {
		return
	}
	r.fs.add(idAlwaysTrue, loc, fmt.Sprintf("compare it: %s == null, or count(%s) == 0 for lists and objects", ref, ref),
		"%s is always there, so that asking whether it is says nothing: what is not known is null, [] or {}, and these count as true", ref)
}

// data refuses what neither a rule nor the data document supplies.
func (r *reads) data(ref ast.Ref, loc *ast.Location) {
	for _, target := range r.withTargets {
		if ref.HasPrefix(target) || target.HasPrefix(ref) {
			return // some rule puts a value there itself
		}
	}
	ground := ref.GroundPrefix()
	node := r.compiler.RuleTree
	for i, t := range ground {
		next := node.Child(t.Value)
		if next == nil {
			break
		}
		if node = next; len(node.Values) > 0 {
			r.madeBy(node.Values, ref[i+1:], loc)
			return
		}
		if i == len(ground)-1 {
			return // a package, or what is above packages
		}
	}
	if r.supplied(ref, some) {
		return
	}
	if v, rest := r.longest(ground); rest == 0 && ast.IsScalar(v) {
		r.fs.add(idDataType, loc, "make it a list or an object", "%s is read as a collection, and the data has a %s there", ground, ast.ValueName(v))
		return
	}
	r.fs.add(idDataMissing, loc,
		"add it to the bundle's data, or read it with object.get and a default: "+objectGet(ref),
		"%s is read, and neither data nor a rule supplies it", showRef(ref))
}

// madeBy looks into the value of a helper rule: where that is a place in the data or
// input document itself, what is read below it has to be there.
func (r *reads) madeBy(rules []*ast.Rule, rest ast.Ref, loc *ast.Location) {
	if len(rules) != 1 || len(rest) == 0 {
		return
	}
	rule := rules[0]
	if rule.Default || rule.Else != nil || rule.Head.RuleKind() != ast.SingleValue || len(rule.Head.Ref()) > 1 || len(rule.Head.Args) > 0 {
		return
	}
	if made := newFlow(rule, nil).placeOf(rule.Head.Value); rooted(made) {
		r.place(made.Concat(rest), loc)
	}
}

// longest returns the value at the longest beginning of ref that the data has, and
// how many segments are left.
func (l loader) longest(ref ast.Ref) (ast.Value, int) {
	for n := len(ref); n > 1; n-- {
		if v, ok := l.value(ref[:n]); ok {
			return v, len(ref) - n
		}
	}
	return ast.Null{}, len(ref)
}

// collection refuses membership in something that has no members: `in` over a string
// or a number is false, whatever is looked for.
func (r *reads) collection(f *flow, e *ast.Expr, loc *ast.Location) {
	var over *ast.Term
	switch t := e.Terms.(type) {
	case *ast.Every:
		over = t.Domain
	case []*ast.Term:
		switch {
		case !e.IsCall():
			return
		case e.Operator().Equal(ast.Member.Ref()):
			over = e.Operand(1)
		case e.Operator().Equal(ast.MemberWithKey.Ref()):
			over = e.Operand(2)
		}
	}
	if over == nil {
		return
	}
	ref := f.placeOf(over)
	if ref == nil || !ref.IsGround() || !ref.HasPrefix(ast.DefaultRootRef) || r.shadowed(ref) || r.rulesAt(ref) != nil {
		return
	}
	v, ok := r.value(ref)
	switch {
	case ok && ast.IsScalar(v):
		r.fs.add(idDataType, loc, "make it a list or an object", "%s is read as a collection, and the data has a %s there", ref, ast.ValueName(v))
	case ok && onlyFlags(v):
		r.fs.add(idDataType, loc, fmt.Sprintf("write %s[x], or make it a list", ref),
			"`in` looks for the values of %s, and the data has an object with nothing but flags there", ref)
	}
}

// onlyFlags reports whether v is an object that says something with its keys only.
func onlyFlags(v ast.Value) bool {
	o, ok := v.(ast.Object)
	return ok && o.Len() > 0 && !o.Until(func(_, x *ast.Term) bool {
		switch x := x.Value.(type) {
		case ast.Null, ast.Boolean:
			return false
		case ast.Object:
			return x.Len() > 0
		default:
			return true
		}
	})
}

// objectGet writes how an optional piece of data is read.
func objectGet(ref ast.Ref) string {
	ref = ref.GroundPrefix()
	if len(ref) < 3 {
		return "object.get(data.settings, \"key\", default)"
	}
	return fmt.Sprintf("object.get(%s, %s, default)", ref[:len(ref)-1], ref[len(ref)-1])
}

// showRef writes a place without the names that the compiler gave to variables.
func showRef(ref ast.Ref) string {
	shown := make(ast.Ref, len(ref))
	for i, t := range ref {
		if v, ok := t.Value.(ast.Var); ok && i > 0 && (v.IsGenerated() || v.IsWildcard()) {
			t = ast.VarTerm("_")
		}
		shown[i] = t
	}
	if v, ok := ref[0].Value.(ast.Var); ok && v.IsGenerated() {
		return "a member of a value: " + strings.TrimPrefix(shown[1:].String(), "data")
	}
	return shown.String()
}
