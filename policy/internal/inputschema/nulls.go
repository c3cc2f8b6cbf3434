package inputschema

import (
	"fmt"
	"runtime/debug"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// nullSteps bounds finding out, once for a schema, which properties accept null.
const nullSteps = 200_000

// findNulls finds the declared properties that don't accept null, by asking the
// engine. Compiled are its subschemas by the id of their nodes.
func (s *Schema) findNulls(e *engine, compiled []*jsonschema.Schema) (err error) {
	at := s.graph.root
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: whether null is accepted can't be found out: %w", pointerOf(at.location), recovered(p, debug.Stack()))
		}
	}()
	e.budget.units = nullSteps * unitsPerStep
	asked := map[*node]bool{}
	for _, n := range s.graph.nodes {
		for _, p := range n.properties {
			if at = p; !asked[p] {
				asked[p] = true
				p.refusesNull = compiled[p.id].Validate(nil) != nil
			}
		}
	}
	s.graph.spread(func(n *node) bool {
		for _, p := range n.properties {
			if p.refusesNull {
				return true
			}
		}
		return false
	}, func(n *node) *bool { return &n.nullsWithin })
	return nil
}
