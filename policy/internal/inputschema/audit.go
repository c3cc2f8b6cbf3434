package inputschema

import "fmt"

// maxChain bounds how many subschemas may lead to one another for one and the same
// value. The engine looks through all that it is within at each step.
const maxChain = 200

// audit refuses what can't be evaluated, or not to the right result: chains of
// subschemas for one value that lead back to where they began, or are too long.
//
// The engine takes such a cycle for a failure when it gets there, and that is no
// refusal below not and if.
func (g *graph) audit() error {
	a := auditor{length: make([]int, len(g.nodes)), within: make([]bool, len(g.nodes))}
	for _, n := range g.nodes {
		if err := a.measure(n, 0); err != nil {
			return err
		}
		g.longest = max(g.longest, a.length[n.id])
	}
	for _, n := range g.nodes {
		if n.names != nil && n.names.leadsToDynamic(map[*node]bool{}) {
			return fmt.Errorf("%s/propertyNames: engines disagree about $dynamicRef and $recursiveRef for names: use $ref", pointerOf(n.location))
		}
	}
	return nil
}

// leadsToDynamic reports whether a dynamic reference applies to the same value as n.
// The engine would forget what is around propertyNames, and so where one leads.
func (n *node) leadsToDynamic(seen map[*node]bool) bool {
	if seen[n] {
		return false
	}
	seen[n] = true
	for _, e := range n.same {
		if e.to.leadsToDynamic(seen) {
			return true
		}
	}
	return n.dynamic
}

type auditor struct {
	length []int  // of the longest chain from a node, itself included; 0 is unknown
	within []bool // the nodes of the chain being followed
}

// measure finds the longest chain from n. Depth is how many nodes lead to n here.
func (a *auditor) measure(n *node, depth int) error {
	if a.within[n.id] {
		return fmt.Errorf("%s: the subschema refers to itself for the same value, so it never comes to a result: remove the reference, or put it below properties or items", pointerOf(n.location))
	}
	if a.length[n.id] == 0 {
		if depth > maxChain {
			return chainError(n)
		}
		a.within[n.id] = true
		longest := 0
		for _, e := range n.same {
			if err := a.measure(e.to, depth+1); err != nil {
				return err
			}
			longest = max(longest, a.length[e.to.id])
		}
		a.within[n.id] = false
		a.length[n.id] = 1 + longest
	}
	if depth+a.length[n.id] > maxChain {
		return chainError(n)
	}
	return nil
}

func chainError(n *node) error {
	return fmt.Errorf("%s: more than %d subschemas refer to one another for the same value: simplify the schema", pointerOf(n.location), maxChain)
}

// settle works out what is known of a node only by way of others. It relies on audit:
// nothing leads back to where it began.
func (g *graph) settle() {
	done := make([]bool, len(g.nodes))
	for _, n := range g.nodes {
		n.settle(done)
	}
	g.spread(func(n *node) bool {
		for _, p := range n.properties {
			if p.hasDefault {
				return true
			}
		}
		return false
	}, func(n *node) *bool { return &n.defaultsWithin })
}

const everyKind = kindNull | kindBoolean | kindNumber | kindInteger | kindString | kindArray | kindObject

func (n *node) settle(done []bool) {
	if done[n.id] {
		return
	}
	done[n.id] = true
	n.allowed = everyKind
	if n.kinds != kindNone {
		n.allowed = n.kinds
		if n.kinds&kindNumber != 0 {
			n.allowed |= kindInteger
		}
	}
	for _, e := range n.same {
		e.to.settle(done)
		if e.relation != always {
			continue
		}
		n.allowed &= e.to.allowed
		if !n.hasDefault && e.to.hasDefault {
			n.value, n.hasDefault = e.to.value, true
		}
	}
}

// spread sets a mark on the nodes that begin with it and on all that lead to one.
func (g *graph) spread(begins func(*node) bool, mark func(*node) *bool) {
	from := make([][]*node, len(g.nodes))
	for _, n := range g.nodes {
		for _, to := range n.next() {
			from[to.id] = append(from[to.id], n)
		}
	}
	var todo []*node
	set := func(n *node) {
		if m := mark(n); !*m {
			*m = true
			todo = append(todo, n)
		}
	}
	for _, n := range g.nodes {
		if begins(n) {
			set(n)
		}
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, f := range from[n.id] {
			set(f)
		}
	}
}

// next returns the nodes for the same value and for its parts.
func (n *node) next() []*node {
	var to []*node
	for _, e := range n.same {
		to = append(to, e.to)
	}
	for _, p := range n.properties {
		to = append(to, p)
	}
	for _, p := range n.patterns {
		to = append(to, p.to)
	}
	to = append(to, n.others...)
	to = append(to, n.first...)
	return append(to, n.items...)
}
