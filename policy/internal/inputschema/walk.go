package inputschema

import "errors"

// A walk goes through arguments along with the nodes that are for them. It has its own
// budget, of cheaper work than the engine's.
type walk struct {
	budget
	graph *graph
	depth int
}

func (s *Schema) newWalk() *walk {
	w := &walk{graph: s.graph}
	w.steps = s.options.Steps
	w.refill()
	return w
}

// maxNesting bounds the depth of arguments. JSON that was read is never that deep; a Go
// value can be without end, and a stack that overflows ends the process.
const maxNesting = 20_000

// enter is called for each value, and leave when it is done with.
func (w *walk) enter() {
	w.spend(1)
	if w.depth++; w.depth > maxNesting {
		panic(badValue{errors.New("they are nested too deep")})
	}
}

func (w *walk) leave() { w.depth-- }

// closure returns the nodes that at leads to for the same value by the edges that
// follow allows, at included, each once, in the order in which they are declared.
func (w *walk) closure(at []*node, follow func(*node, edge) bool) []*node {
	simple := true
	for _, n := range at {
		simple = simple && len(n.same) == 0
	}
	if simple && len(at) <= 1 {
		w.spend(1)
		return at
	}
	seen := make(map[*node]bool, 2*len(at))
	var set []*node
	var add func(n *node)
	add = func(n *node) {
		w.spend(1)
		if seen[n] {
			return
		}
		seen[n] = true
		set = append(set, n)
		for _, e := range n.same {
			if follow(n, e) {
				add(e.to)
			}
		}
	}
	for _, n := range at {
		add(n)
	}
	return set
}

// matches reports whether a name matches a pattern, for what that costs at worst.
func (w *walk) matches(p patternNode, name string) bool {
	w.spend(1 + p.size*len(name)/matchesPerUnit)
	return p.re.MatchString(name)
}

// members returns the nodes for a member of an object that the nodes of set are for.
func (w *walk) members(set []*node, name string) []*node {
	var to []*node
	for _, n := range set {
		w.spend(1)
		p, named := n.properties[name]
		if named {
			to = append(to, p)
		}
		for _, p := range n.patterns {
			if w.matches(p, name) {
				named = true
				to = append(to, p.to)
			}
		}
		if !named {
			to = append(to, n.others...)
		}
	}
	return to
}

// items returns the nodes for an item of an array that the nodes of set are for.
func (w *walk) items(set []*node, i int) []*node {
	var to []*node
	for _, n := range set {
		w.spend(1)
		to = n.item(to, i)
	}
	return to
}

// declaring follows everything that can declare a property: all but not.
func declaring(_ *node, e edge) bool { return e.relation != never }

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}
