package inputschema

// A topLevel closes the top level of the arguments where the schema leaves it open.
type topLevel struct {
	declared map[string]bool
	text     string  // declared, as quoted writes them
	nodes    []*node // that are for the top level, for their patternProperties
}

// newTopLevel returns nil if the schema says itself what becomes of undeclared
// arguments: if it refuses them, or has a subschema for them.
func newTopLevel(s *Schema) *topLevel {
	w := s.newWalk()
	t := &topLevel{declared: map[string]bool{}, nodes: w.closure([]*node{s.graph.root}, declaring)}
	for _, n := range t.nodes {
		if !n.open && !n.closed {
			return nil
		}
		for name := range n.properties {
			t.declared[name] = true
		}
	}
	t.text = quoted(sortedNames(t.declared))
	return t
}

// undeclared counts the arguments that the top level doesn't declare.
func (t *topLevel) undeclared(args map[string]any) int {
	count := 0
	for name := range args {
		if !t.declared[name] && !t.matches(name) {
			count++
		}
	}
	return count
}

func (t *topLevel) matches(name string) bool {
	for _, n := range t.nodes {
		for _, p := range n.patterns {
			if p.re.MatchString(name) {
				return true
			}
		}
	}
	return false
}
