package typecheck

import (
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
		return c.constant(t, shape.Array, v.Foreach, sc)
	case ast.Set:
		return c.constant(t, shape.Set, v.Foreach, sc)
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
	out.Entries = len(out.Items.Prefix)
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
		if o, ok := c.over["input"]; ok {
			return c.follow(o, perhaps, ref[1:], t, sc)
		}
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
	if s, rest, ok := c.inData(ref); ok {
		s, v := c.follow(s, perhaps, rest, t, sc)
		return s, v.capped()
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
