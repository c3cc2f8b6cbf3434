package inputschema

// A topLevel closes the top level of the arguments where the schema leaves it open.
type topLevel struct {
	declared map[string]bool
	text     string  // declared, as quoted writes them
	nodes    []*node // those for the top level that have patternProperties
}

// newTopLevel returns nil if the schema says itself what becomes of undeclared
// arguments: if it refuses them, or has a subschema for them.
func newTopLevel(s *Schema) *topLevel {
	w := s.newWalk()
	t := &topLevel{declared: map[string]bool{}}
	for _, n := range w.closure([]*node{s.graph.root}, declaring) {
		if !n.open && !n.closed {
			return nil
		}
		if len(n.patterns) > 0 {
			t.nodes = append(t.nodes, n)
		}
		for name := range n.properties {
			t.declared[name] = true
		}
	}
	t.text = quoted(sortedNames(t.declared))
	return t
}

// undeclared counts the arguments that the top level doesn't declare.
func (t *topLevel) undeclared(w *walk, args map[string]any) int {
	count := 0
	for name := range args {
		w.spend(1)
		if !t.declared[name] && !t.matches(w, name) {
			count++
		}
	}
	return count
}

func (t *topLevel) matches(w *walk, name string) bool {
	for _, n := range t.nodes {
		for _, p := range n.patterns {
			if w.matches(p, name) {
				return true
			}
		}
	}
	return false
}
