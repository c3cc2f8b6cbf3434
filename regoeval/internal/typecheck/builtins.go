package typecheck

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// predicates ask for a kind.
var predicates = map[string]shape.Kinds{
	"is_null": shape.Null, "is_boolean": shape.Boolean, "is_number": shape.Number, "is_string": shape.String,
	"is_array": shape.Array, "is_object": shape.Object, "is_set": shape.Set,
}

// comparisons by the names of their operators' functions.
var comparisons = map[string]string{"equal": "equal", "neq": "neq", "lt": "lt", "lte": "lte", "gt": "gt", "gte": "gte"}

// builtin evaluates a call of a built-in.
func (c *checker) builtin(e *ast.Expr, name string, operands []*ast.Term, sc *scope) verdict {
	b := ast.BuiltinMap[strings.TrimSuffix(name, "@bounded")]
	if b == nil || c.ReplacedBuiltin(name) || len(operands) < b.Decl.Arity() {
		for _, t := range operands {
			c.bindUnknown(t, sc)
		}
		return perhaps
	}
	arity := b.Decl.Arity()
	args, v := c.operands(operands[:arity], sc)
	if v = c.because(e, v); !v.reached() {
		return v
	}
	out, w := c.apply(e, b, operands[:arity], args, sc)
	if v = v.and(w); !v.reached() {
		return v
	}
	if len(operands) == arity {
		return v.and(truth(out))
	}
	return v.and(c.match(operands[arity], out, sc, e))
}

// apply evaluates a built-in: its result, and whether there is one.
func (c *checker) apply(e *ast.Expr, b *ast.Builtin, terms []*ast.Term, args []*shape.Shape, sc *scope) (*shape.Shape, verdict) {
	if op, ok := comparisons[b.Name]; ok {
		return c.answer(e, terms, c.compareAndLearn(e, op, terms, args, sc))
	}
	if k, ok := predicates[b.Name]; ok {
		return c.predicate(e, terms[0], args[0], k, sc)
	}
	switch b.Name {
	case ast.Member.Name:
		return c.answer(e, terms, c.memberOf(e, terms[1], args[0], args[1], sc))
	case ast.MemberWithKey.Name:
		return c.answer(e, terms, c.memberOf(e, terms[2], args[1], args[2], sc).capped())
	case ast.ObjectGet.Name:
		return c.objectGet(terms, args, sc)
	case ast.TypeNameBuiltin.Name:
		var names []ast.Value
		for _, n := range args[0].Kinds.Names() {
			names = append(names, ast.String(n))
		}
		out := shape.Constants(names)
		out.From, out.KindOf = subject(args[0]), subject(args[0])
		return out, always
	case ast.Count.Name:
		if n := args[0].Items; n != nil && n.Rest == nil && len(n.Prefix) == 0 && args[0].Kinds&^(shape.Array|shape.Set) == 0 {
			return shape.Constant(ast.Number("0")), always
		}
	}
	if v := c.checkOperands(e, b, args); !v.reached() {
		return &shape.Shape{}, v
	}
	if v := c.checkConstants(e, b, terms, args); !v.reached() {
		return &shape.Shape{}, v
	}
	if out, v, known := c.special(e, b, terms, args, sc); known {
		return out, v
	}
	out := shapeOf(b.Decl.Result())
	out.From = firstSubject(args)
	if b.Relation {
		out = shape.Anything()
	}
	if out.Kinds&(shape.String|shape.Array|shape.Object|shape.Set) != 0 && !strings.HasPrefix(b.Name, "crypto.") {
		for _, a := range args {
			if fromCall(a, 4) {
				out = out.Calls()
				out.Made = e.Location
				break
			}
		}
	}
	if partial[b.Name] {
		return out, perhaps
	}
	return out, always
}

// partial built-ins have no result for some operands.
var partial = map[string]bool{"min": true, "max": true, "json.patch": true, "walk": true}

// fromCall reports whether a value, or a part of it, is brought along by the call.
func fromCall(s *shape.Shape, depth int) bool {
	if s.FromCall {
		return true
	}
	if s.Items == nil || depth == 0 {
		return false
	}
	for _, p := range s.Items.Prefix {
		if fromCall(p.Get(), depth-1) {
			return true
		}
	}
	return s.Items.Rest != nil && fromCall(s.Items.Rest.Get(), depth-1)
}

// answer is the result of a condition: as a value where it is used as one.
func (c *checker) answer(e *ast.Expr, terms []*ast.Term, v verdict) (*shape.Shape, verdict) {
	if len(e.Operands()) == len(terms) {
		return shape.Constant(ast.Boolean(true)), v
	}
	switch v.outcome {
	case fails:
		return shape.Constant(ast.Boolean(false)), always
	case holds:
		return shape.Constant(ast.Boolean(true)), always
	case errs, mayErr:
		return &shape.Shape{}, v
	default:
		return shape.Of(shape.Boolean), always
	}
}

// predicate evaluates is_string and the like, and learns from it.
func (c *checker) predicate(e *ast.Expr, t *ast.Term, s *shape.Shape, k shape.Kinds, sc *scope) (*shape.Shape, verdict) {
	v := perhaps
	switch {
	case s.Kinds&k == 0:
		v = never
	case s.Kinds&^k == 0:
		v = always
	}
	if len(e.Operands()) == 1 && v.reached() && !e.Negated {
		narrow(sc, t, k)
	}
	if x, ok := t.Value.(ast.Var); ok && sc.direct[x] && s.Path != "" && len(e.Operands()) == 1 {
		tally := c.visit(e, "predicate")
		if v.outcome == fails {
			v = tally.found(fails, &Finding{Kind: WrongType, Location: e.Location, Path: s.Path, Soft: true, Advice: true,
				Message: fmt.Sprintf("%s is %s by the tool's schema, and never %s", s.Path, kinds(s), kinds(shape.Of(k))),
				Fix:     "ask for the type that it has, or for its value"}).because(v)
		}
	}
	v.kind = true
	return c.answer(e, []*ast.Term{t}, v)
}

// memberOf evaluates `x in collection`.
func (c *checker) memberOf(e *ast.Expr, t *ast.Term, x, coll *shape.Shape, sc *scope) verdict {
	if x.Empty() || coll.Empty() {
		return never
	}
	if coll.Kinds&(shape.Array|shape.Object|shape.Set) == 0 {
		_, v := c.scalar(coll, "members", site{e, "in"}, e.Location)
		return v
	}
	if coll.Path != "" {
		c.visit(e, "in")
	}
	c.long(e, coll)
	all := c.any(coll)
	if all.Empty() {
		return verdict{outcome: fails, causes: c.empty[coll]}
	}
	if coll.Path != "" {
		all, _ = c.arrive(coll, all, within(coll.Path), false, false, sc)
	}
	if v, done := c.constants(t, x); done {
		return v
	}
	if shape.Disjoint(x, all) {
		return c.compared(placeOf(e), "eq", x, all, true).because(never)
	}
	c.compared(placeOf(e), "eq", x, all, false)
	c.memberHints(e, x, all)
	if only, ok := x.Single(); ok && coll.Kinds&shape.Object == 0 && coll.Items != nil && coll.Items.Rest == nil {
		for _, p := range coll.Items.Prefix {
			if y, ok := p.Get().Single(); ok && y.Compare(only) == 0 {
				return always
			}
		}
	}
	return perhaps
}

// constants looks at each element of a collection that is written out: one that x can't
// be is as idle as a comparison with it.
func (c *checker) constants(t *ast.Term, x *shape.Shape) (verdict, bool) {
	var elements []*ast.Term
	switch v := t.Value.(type) {
	case *ast.Array:
		v.Foreach(func(e *ast.Term) { elements = append(elements, e) })
	case ast.Set:
		v.Foreach(func(e *ast.Term) { elements = append(elements, e) })
	default:
		return verdict{}, false
	}
	if subject(x) == "" || len(elements) == 0 {
		return verdict{}, false
	}
	v := verdict{outcome: fails}
	for _, e := range elements {
		if !ast.IsScalar(e.Value) {
			return verdict{}, false
		}
	}
	for _, e := range elements {
		s := shape.Constant(e.Value)
		tally := c.visit(e, "element")
		if !shape.Disjoint(x, s) {
			v.outcome = may
			if only, ok := x.Single(); ok && only.Compare(e.Value) == 0 {
				return always, true
			}
			continue
		}
		if f := mismatch(locationOf(e, t), x, s); f != nil && (x.Path != "" || f.Near != "") {
			v.causes = append(v.causes, tally.found(fails, f).causes...)
		}
	}
	if v.outcome == may {
		v.causes = nil
	}
	return v, true
}

// objectGet evaluates object.get: the default is what the author says of absence.
func (c *checker) objectGet(terms []*ast.Term, args []*shape.Shape, sc *scope) (*shape.Shape, verdict) {
	s, otherwise := args[0], args[2]
	keys := []*ast.Term{terms[1]}
	if path, ok := terms[1].Value.(*ast.Array); ok {
		keys = nil
		path.Foreach(func(k *ast.Term) { keys = append(keys, k) })
	} else if args[1].Kinds&shape.Array != 0 {
		return shape.Anything(), always
	}
	sure := true
	for i, k := range keys {
		name, ok := k.Value.(ast.String)
		if one, single := args[1].Single(); !ok && single && len(keys) == 1 {
			name, ok = one.(ast.String)
		}
		if !ok {
			return shape.Union(c.any(s), otherwise), always
		}
		if s.Kinds&shape.Object == 0 {
			if i == 0 { // an operand that is no object is an error
				return &shape.Shape{}, failure
			}
			_, v := c.scalar(s, "member "+quote(string(name)), site{k, "get"}, locationOf(k, terms[1]))
			return otherwise, verdict{outcome: holds, causes: v.causes}
		}
		child, v := c.lookupMember(s, string(name), k, terms[1], sc)
		if v.outcome == fails {
			return otherwise, always
		}
		s, sure = child, sure && v.outcome == holds
	}
	if sure {
		return s, always
	}
	return shape.Union(s, otherwise), always
}

// lookupMember follows a name in a way that says something also where it is absent.
func (c *checker) lookupMember(s *shape.Shape, name string, k, where *ast.Term, sc *scope) (*shape.Shape, verdict) {
	before := map[string]bool{}
	for p, r := range c.reads {
		before[p] = r.asked
	}
	out, v := c.member(s, name, k, site{k, "get"}, locationOf(k, where), sc)
	if p := below(s.Path, name); c.reads[p] != nil {
		c.reads[p].asked = before[p]
	}
	return out, v
}

// checkOperands compares operands with what a built-in takes.
func (c *checker) checkOperands(e *ast.Expr, b *ast.Builtin, args []*shape.Shape) verdict {
	params := b.Decl.FuncArgs()
	for i, s := range args {
		want := params.Arg(i)
		if s.Empty() {
			return never
		}
		if s.Path != "" {
			c.visit(e, fmt.Sprint("operand ", i))
		}
		if accepts(want, s, 2) {
			continue
		}
		if s.Path == "" && s.Data != "" {
			return c.dataOperand(e, b, i, s, want)
		}
		if s.Path == "" {
			if f := c.wrongElement(e, b, s, want); f != nil {
				return c.visit(e, fmt.Sprint("operand ", i)).found(errs, f)
			}
			return failure
		}
		f := &Finding{
			Kind: WrongType, Location: e.Location, Path: s.Path, Hard: true,
			Message: fmt.Sprintf("%s is %s by the tool's schema, and %s takes %s: every call that gets there is undecided", s.Path, kinds(s), b.Name, typeName(want)),
			Fix:     "use a function for its type, or another argument",
		}
		if s.Kinds&shape.Array != 0 {
			f.Message = fmt.Sprintf("%s has elements of a type that %s doesn't take: every call that gets there is undecided", s.Path, b.Name)
		}
		return c.sites[site{e, fmt.Sprint("operand ", i)}].found(errs, f)
	}
	return always
}
