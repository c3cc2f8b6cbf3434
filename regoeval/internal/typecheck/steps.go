package typecheck

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

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
	if o, ok := c.over[below(s.Path, name)]; ok && s.Path != "" {
		return o, perhaps
	}
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
	if only, ok := sc.equal[path]; ok && child.Has(only) {
		child = shape.Constant(only).At(path)
		child.FromCall = r.shape.FromCall
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
		return &shape.Shape{}, verdict{outcome: fails, causes: c.empty[s]}
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
	case c.wrongKey(s, keys, at, loc):
		return &shape.Shape{}, verdict{outcome: fails, causes: c.sites[site{at.node, at.what + " kind"}].Findings}
	}
	names, finite := keys.Finite()
	if finite && s.Kinds == shape.Object && s.Fields != nil {
		c.noKey(s, keys, at, loc)
	}
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
	if names := namesOf(s); names != nil && s.Kinds == shape.Object {
		sc.vars[key] = names
		return c.iterated(s, out, sc)
	}
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
	if s.FromCall {
		keys = keys.Calls()
	}
	sc.vars[key] = keys
	return c.iterated(s, out, sc)
}

// iterated is any member or element, where there is one.
func (c *checker) iterated(s, out *shape.Shape, sc *scope) (*shape.Shape, verdict) {
	if out.Empty() {
		return out, verdict{outcome: fails, causes: c.empty[s]}
	}
	v := perhaps
	if s.Items != nil && s.Items.Sure > 0 && s.Kinds&shape.Object == 0 {
		v = always
	}
	child, w := c.arrive(s, out, within(s.Path), v.outcome == holds, false, sc)
	if w.outcome == holds { // a state says what elements are, not that there are any
		w = v
	}
	if r := c.reads[within(s.Path)]; r != nil && s.Kinds&shape.Object != 0 {
		r.mixed = true
	}
	return child, w
}
