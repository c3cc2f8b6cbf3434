package typecheck

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// namesOf is the shape of the names of an object's members; nil when it may have others
// than are declared.
func namesOf(s *shape.Shape) *shape.Shape {
	if s.Path == "" || s.Fields == nil || s.Fields.Openness > shape.Implicit || len(s.Fields.Patterns) > 0 || len(s.Fields.Members) == 0 {
		return nil
	}
	var names []ast.Value
	for _, n := range s.Fields.Names() {
		names = append(names, ast.String(n))
	}
	out := shape.Constants(names)
	out.Names = s.Path
	if s.Fields.Openness == shape.Implicit { // the call may bring others along
		out.FromCall = s.FromCall
	}
	return out
}

// wrongKey reports a key of a kind that the collection doesn't have.
func (c *checker) wrongKey(s, keys *shape.Shape, at site, loc *ast.Location) bool {
	if keys.Empty() || s.Path != "" {
		return false
	}
	f := &Finding{Kind: WrongType, Location: loc, Path: subject(keys), Advice: true}
	switch {
	case s.Kinds == shape.Array && keys.Kinds&shape.Number == 0:
		f.Message = fmt.Sprintf("a list has no member for a key that is %s", kinds(keys))
		f.Fix = "ask for a position, or make it an object with the entries as keys"
	case s.Kinds == shape.Object && s.Fields != nil && s.Fields.Rest == nil && len(s.Fields.Members) > 0 && keys.Kinds&shape.String == 0 && (s.Fields.Openness == shape.Closed || s.Data != ""):
		f.Message = fmt.Sprintf("its keys are texts, and it is asked for a key that is %s", kinds(keys))
		f.Fix = "ask with a text: format_int makes one of a number"
	default:
		return false
	}
	if s.Data != "" {
		f.Kind, f.Path = DataType, s.Data
		f.Message = s.Data + ": " + f.Message
	} else if subject(keys) == "" {
		return false
	}
	c.visit(at.node, at.what+" kind").found(fails, f)
	return true
}

// noKey reports keys of a table that a value is nearly, and never, and that none of them
// is what it can be.
func (c *checker) noKey(s, keys *shape.Shape, at site, loc *ast.Location) {
	if s.Path != "" {
		c.nearNames(s, keys, at, loc)
		return
	}
	if subject(keys) == "" || s.Fields.Rest != nil || s.Fields.Openness == shape.Loose || len(s.Fields.Members) == 0 || s.Data == "" && s.Fields.Openness != shape.Closed {
		return
	}
	names := s.Fields.Names()
	any := false
	for _, name := range names {
		any = any || keys.Has(ast.String(name))
	}
	for _, name := range names {
		t := c.visit(at.node, at.what+" entry "+name)
		if keys.Has(ast.String(name)) {
			continue
		}
		f := mismatch(loc, keys, shape.Constant(ast.String(name)))
		if f == nil || any && f.Near == "" {
			continue
		}
		f.Advice, f.Soft = true, f.Near == ""
		t.found(fails, f)
	}
}

// nearNames reports those of several names that are nearly declared ones.
func (c *checker) nearNames(s, keys *shape.Shape, at site, loc *ast.Location) {
	names, _ := keys.Finite()
	for _, n := range names {
		name, ok := n.(ast.String)
		if !ok {
			continue
		}
		t := c.visit(at.node, at.what+" name "+string(name))
		if _, declared, _ := s.Fields.Member(string(name)); declared {
			continue
		}
		if f := c.undeclared(nil, loc, s, string(name)); f.Near != "" {
			f.Advice = true
			t.found(fails, f)
		}
	}
}

// special evaluates built-ins of which more is known than their types.
func (c *checker) special(e *ast.Expr, b *ast.Builtin, terms []*ast.Term, args []*shape.Shape, sc *scope) (*shape.Shape, verdict, bool) {
	switch b.Name {
	case ast.ObjectKeys.Name:
		if names := namesOf(args[0]); names != nil && args[0].Kinds == shape.Object {
			out := shape.Of(shape.Set)
			out.Items = &shape.Items{Rest: shape.Now(names)}
			return out, always, true
		}
	case ast.ObjectFilter.Name, ast.ObjectRemove.Name:
		c.listed(args[0], terms[1], sc)
	case ast.JSONFilter.Name, ast.JSONRemove.Name:
		c.listedPaths(args[0], terms[1])
	case ast.Lower.Name, ast.Upper.Name:
		if out, ok := c.folded(e, b, args); ok {
			return out, always, true
		}
		out := shape.Of(shape.String)
		out.From, out.Case = subject(args[0]), map[string]shape.Case{"lower": shape.Lower, "upper": shape.Upper}[b.Name]
		if args[0].FromCall {
			out = out.Calls()
			out.Made = e.Location
		}
		return out, always, true
	case ast.Contains.Name, ast.StartsWith.Name, ast.EndsWith.Name:
		if v, known := c.parts(e, args); known {
			out, v := c.answer(e, terms, v)
			return out, v, true
		}
	case ast.Sprintf.Name:
		c.format(e, args)
	}
	if out, ok := c.folded(e, b, args); ok {
		return c.conclude(e, terms, args, out)
	}
	return nil, verdict{}, false
}

// listed checks the names that object.filter and object.remove are given.
func (c *checker) listed(s *shape.Shape, t *ast.Term, sc *scope) {
	if s.Path == "" || s.Fields == nil || s.Kinds != shape.Object {
		return
	}
	each := func(k *ast.Term) {
		if name, ok := k.Value.(ast.String); ok {
			c.lookupMember(s, string(name), k, t, sc)
		}
	}
	switch v := t.Value.(type) {
	case *ast.Array:
		v.Foreach(each)
	case ast.Set:
		v.Foreach(each)
	case ast.Object:
		v.Foreach(func(k, _ *ast.Term) { each(k) })
	}
}

// listedPaths checks the places that json.filter and json.remove are given.
func (c *checker) listedPaths(s *shape.Shape, t *ast.Term) {
	each := func(p *ast.Term) {
		var names []string
		switch v := p.Value.(type) {
		case ast.String:
			for _, n := range strings.Split(strings.TrimPrefix(string(v), "/"), "/") {
				names = append(names, strings.NewReplacer("~1", "/", "~0", "~").Replace(n))
			}
		case *ast.Array:
			v.Foreach(func(x *ast.Term) {
				if n, ok := x.Value.(ast.String); ok {
					names = append(names, string(n))
				}
			})
		}
		at, path := s, s.Path
		for _, name := range names {
			if at == nil || path == "" || at.Fields == nil || at.Kinds != shape.Object {
				return
			}
			child, declared, _ := at.Fields.Member(name)
			tally := c.visit(p, "place "+path)
			if !declared {
				tally.found(fails, c.undeclared(p, locationOf(p, t), at.At(path), name))
				return
			}
			at, path = child, below(path, name)
		}
	}
	switch v := t.Value.(type) {
	case *ast.Array:
		v.Foreach(each)
	case ast.Set:
		v.Foreach(each)
	}
}

// parts evaluates whether a text that went through lower or upper has a part that it
// can't have.
func (c *checker) parts(e *ast.Expr, args []*shape.Shape) (verdict, bool) {
	part, ok := args[1].Single()
	text, isText := part.(ast.String)
	if !ok || !isText || args[0].Case == shape.AnyCase || subject(args[0]) == "" {
		return verdict{}, false
	}
	t := c.visit(e, "part")
	if args[0].Case.Fits(string(text)) {
		return verdict{}, false
	}
	f := mismatch(e.Location, args[0], args[1])
	if f == nil {
		return never, true
	}
	f.Message = strings.Replace(f.Message, " is never ", " never has ", 1)
	return t.found(fails, f), true
}
