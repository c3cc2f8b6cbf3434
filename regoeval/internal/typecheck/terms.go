package typecheck

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// term evaluates a term: its values, and whether it has one.
func (c *checker) term(t *ast.Term, sc *scope) (*shape.Shape, verdict) {
	switch v := t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String:
		return shape.Constant(v), always
	case ast.Var:
		if s, ok := sc.vars[v]; ok {
			if s.Empty() {
				return s, never
			}
			return s, always
		}
		return shape.Anything(), perhaps
	case ast.Ref:
		return c.ref(t, v, sc)
	case *ast.Array:
		return c.literal(shape.Array, v.Foreach, sc)
	case ast.Set:
		return c.literal(shape.Set, v.Foreach, sc)
	case ast.Object:
		return c.objectLiteral(v, sc)
	case *ast.ArrayComprehension:
		return c.comprehension(shape.Array, v.Term, v.Body, sc)
	case *ast.SetComprehension:
		return c.comprehension(shape.Set, v.Term, v.Body, sc)
	case *ast.ObjectComprehension:
		inner := sc.child()
		if c.body(v.Body, inner).reached() {
			c.term(v.Key, inner)
			s, _ := c.term(v.Value, inner)
			out := shape.Of(shape.Object)
			out.Fields = &shape.Fields{Openness: shape.Open, Rest: shape.Now(s)}
			return out, always
		}
		return shape.Of(shape.Object), always
	default:
		return shape.Anything(), perhaps
	}
}

// literal evaluates an array or a set that is written out.
func (c *checker) literal(k shape.Kinds, each func(func(*ast.Term)), sc *scope) (*shape.Shape, verdict) {
	out, v := shape.Of(k), always
	out.Items = &shape.Items{}
	union := &shape.Shape{}
	each(func(t *ast.Term) {
		s, w := c.term(t, sc)
		v = v.and(w)
		union = shape.Union(union, s)
		out.Items.Prefix = append(out.Items.Prefix, shape.Now(s))
		out.Items.Sure++
	})
	if k == shape.Set {
		out.Items = &shape.Items{Sure: min(out.Items.Sure, 1)}
		if !union.Empty() {
			out.Items.Rest = shape.Now(union)
		}
	}
	return out, v
}

func (c *checker) objectLiteral(o ast.Object, sc *scope) (*shape.Shape, verdict) {
	out, v := shape.Of(shape.Object), always
	f := &shape.Fields{Openness: shape.Closed, Members: map[string]*shape.Field{}, Required: map[string]bool{}}
	o.Foreach(func(key, value *ast.Term) {
		s, w := c.term(value, sc)
		v = v.and(w)
		if name, ok := key.Value.(ast.String); ok {
			f.Members[string(name)] = &shape.Field{Lazy: shape.Now(s)}
			f.Required[string(name)] = true
			return
		}
		_, w = c.term(key, sc)
		v = v.and(w)
		f.Openness = shape.Open
	})
	out.Fields = f
	return out, v
}

func (c *checker) comprehension(k shape.Kinds, t *ast.Term, b ast.Body, sc *scope) (*shape.Shape, verdict) {
	out := shape.Of(k)
	out.Items = &shape.Items{}
	inner := sc.child()
	v := c.body(b, inner)
	if v.reached() {
		s, w := c.term(t, inner)
		if w.reached() && !s.Empty() {
			out.Items.Rest = shape.Now(s)
			if v.and(w).outcome == holds {
				out.Items.Sure = 1
			}
		}
	}
	if v.outcome == errs || v.outcome == mayErr {
		return out, v
	}
	return out, always
}

// ref evaluates a reference.
func (c *checker) ref(t *ast.Term, ref ast.Ref, sc *scope) (*shape.Shape, verdict) {
	switch {
	case ref.HasPrefix(ast.InputRootRef):
		return c.follow(c.input, always, ref[1:], t, sc)
	case ref.HasPrefix(ast.DefaultRootRef):
		return c.data(t, ref, sc)
	}
	s, v := c.term(ref[0], sc)
	return c.follow(s, v, ref[1:], t, sc)
}

// data evaluates a reference to rules, or to data, of which nothing is known.
func (c *checker) data(t *ast.Term, ref ast.Ref, sc *scope) (*shape.Shape, verdict) {
	if c.Replaced(ref) {
		return shape.Anything(), perhaps
	}
	node := c.Compiler.RuleTree
	for i, key := range ref {
		if node = node.Child(key.Value); node == nil {
			break
		}
		if len(node.Values) > 0 {
			rules := node.Values
			if len(rules[0].Head.Args) > 0 {
				return shape.Anything(), perhaps
			}
			s, v := c.rules(rules, nil)
			return c.follow(s, v, ref[i+1:], t, sc)
		}
	}
	v := always
	for _, key := range ref[1:] {
		if !key.IsGround() {
			v = perhaps
			if x, ok := key.Value.(ast.Var); ok && sc.vars[x] == nil {
				sc.vars[x] = shape.Anything()
			}
		}
		if _, isVar := key.Value.(ast.Var); !isVar {
			_, w := c.term(key, sc)
			v = v.and(w.capped())
		}
	}
	return shape.Anything(), v.capped()
}

// follow follows the keys of a reference.
func (c *checker) follow(s *shape.Shape, v verdict, keys ast.Ref, t *ast.Term, sc *scope) (*shape.Shape, verdict) {
	for i, key := range keys {
		if !v.reached() {
			return &shape.Shape{}, v
		}
		var w verdict
		s, w = c.step(s, key, site{t, fmt.Sprint(i)}, locationOf(key, t), sc)
		v = v.and(w)
	}
	return s, v
}

func locationOf(t, otherwise *ast.Term) *ast.Location {
	if t.Location != nil {
		return t.Location
	}
	return otherwise.Location
}

// step follows one key.
func (c *checker) step(s *shape.Shape, key *ast.Term, at site, loc *ast.Location, sc *scope) (*shape.Shape, verdict) {
	switch k := key.Value.(type) {
	case ast.String:
		return c.member(s, string(k), key, at, loc, sc)
	case ast.Number:
		if s.Kinds&shape.Array != 0 {
			return c.index(s, k, at, loc, sc)
		}
	case ast.Var:
		if keys, ok := sc.vars[k]; ok {
			return c.lookup(s, keys, key, at, loc, sc)
		}
		return c.iterate(s, k, at, loc, sc)
	}
	keys, v := c.term(key, sc)
	if !v.reached() {
		return &shape.Shape{}, v
	}
	out, w := c.lookup(s, keys, key, at, loc, sc)
	return out, v.and(w)
}

// scalar is the verdict on looking into something that has no members.
func (c *checker) scalar(s *shape.Shape, what string, at site, loc *ast.Location) (*shape.Shape, verdict) {
	if s.Path == "" || s.Empty() {
		return &shape.Shape{}, never
	}
	f := &Finding{
		Kind: WrongType, Location: loc, Path: s.Path, Fix: "use it as what it is, or read another argument",
		Message: fmt.Sprintf("%s is %s by the tool's schema, and has no %s", s.Path, kinds(s), what),
	}
	return &shape.Shape{}, c.visit(at.node, at.what).found(fails, f)
}

// member follows a name.
func (c *checker) member(s *shape.Shape, name string, key *ast.Term, at site, loc *ast.Location, sc *scope) (*shape.Shape, verdict) {
	if s.Kinds&(shape.Object|shape.Set) == 0 {
		return c.scalar(s, "member "+quote(name), at, loc)
	}
	if s.Kinds&shape.Object == 0 { // membership in a set
		return c.inSet(s, shape.Constant(ast.String(name)))
	}
	if s.Path != "" {
		c.visit(at.node, at.what)
	}
	child, declared, present := shape.Of(shape.JSON), true, false
	if s.Fields != nil {
		child, declared, present = s.Fields.Member(name)
	} else if s.Path == "" {
		child = shape.Anything()
	}
	if !declared && s.Kinds&shape.Set == 0 {
		if s.Path == "" {
			return &shape.Shape{}, never
		}
		return &shape.Shape{}, c.sites[site{at.node, at.what}].found(fails, c.undeclared(key, loc, s, name))
	}
	if !declared {
		return shape.Anything(), perhaps
	}
	return c.arrive(s, child, below(s.Path, name), present && s.Kinds == shape.Object, true, sc)
}

// arrive is what is found at a place, in the state that is asked about.
func (c *checker) arrive(from, child *shape.Shape, path string, present, asked bool, sc *scope) (*shape.Shape, verdict) {
	v := perhaps
	if present {
		v = always
	}
	if path == "" {
		if from.FromCall {
			child = child.Calls()
		}
		if child.Empty() {
			return child, never
		}
		return child, v
	}
	child = child.At(path)
	child.FromCall = from.FromCall || path == "input.arguments" || path == "input.call.responses"
	r, ok := c.reads[path]
	if !ok {
		r = &read{shape: child}
		c.reads[path] = r
	}
	r.optional = r.optional || !present
	r.asked = r.asked || asked
	if c.state.path == path {
		if c.state.absent {
			return &shape.Shape{}, never
		}
		child, v = child.Only(c.state.kind), always
	}
	if k, ok := sc.narrowed[path]; ok {
		child = child.Only(k)
	}
	if child.Empty() {
		return child, never
	}
	return child, v
}

// index follows a position.
func (c *checker) index(s *shape.Shape, n ast.Number, at site, loc *ast.Location, sc *scope) (*shape.Shape, verdict) {
	i, ok := n.Int()
	child, sure := shape.Of(shape.JSON), false
	if s.Path == "" {
		child = shape.Anything()
	}
	if ok && s.Items != nil {
		e, exists := s.Items.Element(i)
		if !exists && s.Kinds == shape.Array {
			return c.scalar(s, fmt.Sprintf("element %d", i), at, loc)
		}
		if exists {
			child, sure = e, i < s.Items.Sure && s.Kinds == shape.Array
		}
	}
	return c.arrive(s, child, within(s.Path), sure, false, sc)
}

// inSet is the verdict on looking for a value in a set.
func (c *checker) inSet(s, value *shape.Shape) (*shape.Shape, verdict) {
	if s.Items == nil {
		return value, perhaps
	}
	all := s.Items.All()
	if all == nil {
		return &shape.Shape{}, verdict{fails, c.empty[s]}
	}
	if shape.Disjoint(all, value) {
		return &shape.Shape{}, never
	}
	return value, perhaps
}

// lookup follows a key of which only the shape is known.
func (c *checker) lookup(s, keys *shape.Shape, key *ast.Term, at site, loc *ast.Location, sc *scope) (*shape.Shape, verdict) {
	if k, ok := keys.Single(); ok {
		if name, ok := k.(ast.String); ok {
			return c.member(s, string(name), key, at, loc, sc)
		}
	}
	switch {
	case s.Kinds&(shape.Array|shape.Object|shape.Set) == 0:
		return c.scalar(s, "members", at, loc)
	case s.Kinds == shape.Set:
		return c.inSet(s, keys)
	}
	names, finite := keys.Finite()
	if !finite || s.Kinds != shape.Object || s.Fields == nil {
		return c.any(s), perhaps
	}
	out := &shape.Shape{}
	for _, n := range names {
		if name, ok := n.(ast.String); ok {
			if child, declared, _ := s.Fields.Member(string(name)); declared {
				child, _ = c.arrive(s, child, below(s.Path, string(name)), false, false, sc)
				out = shape.Union(out, child)
			}
		}
	}
	if out.Empty() {
		if s.Path == "" {
			return out, never
		}
		t := c.visit(at.node, at.what+" key")
		f := &Finding{
			Kind: Undeclared, Location: loc, Path: s.Path, Fix: "it has " + enumerate(quoteAll(s.Fields.Names())),
			Message: fmt.Sprintf("%s has none of %s, so that reading them is always undefined", s.Path, enumerate(quoteAll(written(names)))),
		}
		if len(s.Fields.Names()) == 0 {
			f.Fix = "the tool declares no arguments"
		}
		return out, t.found(fails, f)
	}
	if s.Path != "" {
		c.visit(at.node, at.what+" key")
	}
	return out, perhaps
}

// any is what any member or element is.
func (c *checker) any(s *shape.Shape) *shape.Shape {
	out := &shape.Shape{}
	rest := shape.Of(shape.JSON)
	if s.Path == "" {
		rest = shape.Anything()
	}
	if s.Kinds&shape.Object != 0 {
		if s.Fields == nil {
			out = rest
		} else {
			for _, name := range s.Fields.Names() {
				out = shape.Union(out, s.Fields.Members[name].Get())
			}
			if o := s.Fields.Others(); o != nil {
				out = shape.Union(out, o)
			}
		}
	}
	if s.Kinds&(shape.Array|shape.Set) != 0 {
		if s.Items == nil {
			out = shape.Union(out, rest)
		} else if all := s.Items.All(); all != nil {
			out = shape.Union(out, all)
		}
	}
	if s.FromCall {
		out = out.Calls()
	}
	return out
}

// iterate gives a variable each key in turn.
func (c *checker) iterate(s *shape.Shape, key ast.Var, at site, loc *ast.Location, sc *scope) (*shape.Shape, verdict) {
	if s.Kinds&(shape.Array|shape.Object|shape.Set) == 0 {
		return c.scalar(s, "members to iterate over", at, loc)
	}
	if s.Path != "" {
		c.visit(at.node, at.what)
	}
	out := c.any(s)
	keys := &shape.Shape{}
	if s.Kinds&shape.Array != 0 {
		keys = shape.Union(keys, shape.Of(shape.Number))
	}
	if s.Kinds&shape.Object != 0 {
		k := shape.Of(shape.String)
		if s.Path == "" {
			k = shape.Anything()
		}
		keys = shape.Union(keys, k)
	}
	if s.Kinds&shape.Set != 0 {
		keys = shape.Union(keys, out)
	}
	sc.vars[key] = keys
	if out.Empty() {
		return out, verdict{fails, c.empty[s]}
	}
	v := perhaps
	if s.Items != nil && s.Items.Sure > 0 && s.Kinds&shape.Object == 0 {
		v = always
	}
	child, w := c.arrive(s, out, within(s.Path), v.outcome == holds, false, sc)
	if w.outcome == holds { // a state says what elements are, not that there are any
		w = v
	}
	return child, w
}
