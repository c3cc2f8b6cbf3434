package typecheck

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// wrongElement reports the element of a list that is written out which a built-in
// doesn't take; nil when none has to do with the input document.
func (c *checker) wrongElement(e *ast.Expr, b *ast.Builtin, s *shape.Shape, want types.Type) *Finding {
	if s.Items == nil {
		return nil
	}
	for _, p := range s.Items.Prefix {
		x := p.Get()
		if subject(x) == "" || x.Empty() || acceptsElement(want, x, 2) {
			continue
		}
		return &Finding{
			Kind: WrongType, Location: e.Location, Path: subject(x), Hard: true, Advice: x.Path == "",
			Message: fmt.Sprintf("%s is %s, and %s takes %s: every call that gets there is undecided", described(x), kinds(x), b.Name, typeName(want)),
			Fix:     "use a function for its type, or make a text of it with format_int or sprintf",
		}
	}
	return nil
}
