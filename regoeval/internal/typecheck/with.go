package typecheck

import (
	"maps"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// replace puts the values of `with` in place and returns what takes them away again.
// What rules come to under it is looked at apart from what they come to without it.
func (c *checker) replace(e *ast.Expr, sc *scope) (restore func()) {
	over := maps.Clone(c.over)
	if over == nil {
		over = map[string]*shape.Shape{}
	}
	for _, w := range e.With {
		s, v := c.term(w.Value, sc)
		if !v.reached() {
			s = shape.Anything()
		}
		ref, ok := w.Target.Value.(ast.Ref)
		if !ok || !ref.HasPrefix(ast.InputRootRef) {
			continue
		}
		over[c.target(ref, w.Target)] = s.At("")
	}
	if len(over) == 0 || maps.Equal(over, c.over) {
		return func() {}
	}
	outer, memo := c.over, c.memo
	c.over, c.memo = over, map[string]*group{}
	return func() { c.over, c.memo = outer, memo }
}

// target names the place that `with` replaces, and reports a name that is nearly one of
// those that are declared.
func (c *checker) target(ref ast.Ref, t *ast.Term) string {
	s, path := c.input, "input"
	for _, key := range ref[1:] {
		name, ok := key.Value.(ast.String)
		if !ok {
			break
		}
		at := t.Location
		if key.Location != nil {
			at = key.Location
		}
		if s != nil && s.Fields != nil && s.Kinds == shape.Object {
			child, declared, _ := s.Fields.Member(string(name))
			tally := c.visit(key, "target")
			if !declared {
				if f := c.undeclared(key, at, s.At(path), string(name)); f.Near != "" {
					f.Message, _, _ = strings.Cut(f.Message, ", so that")
					tally.found(fails, f)
				}
				child = nil
			}
			s = child
		} else {
			s = nil
		}
		path = below(path, string(name))
	}
	return path
}
