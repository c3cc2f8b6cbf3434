package inputschema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A graph is a compiled schema as this package looks at it: what each subschema
// declares, and which others apply to the same value and to its parts. It is immutable
// once it is made.
type graph struct {
	root  *node
	nodes []*node
	at    map[string]*node // by the engine's location
	// declared has every name that is declared anywhere.
	declared map[string]bool
	// longest is the length of the longest chain of subschemas for one value.
	longest int
}

// A node is one subschema.
type node struct {
	id       int
	location string
	source   map[string]any // its JSON; nil for true and false
	kinds    kind           // that it allows by itself; kindNone allows every kind

	same []edge // subschemas for the same value

	properties map[string]*node
	patterns   []patternNode
	others     []*node // for further properties
	required   map[string]bool
	// closed and open tell additionalProperties false, and absent or true, from a
	// subschema for further properties.
	closed, open bool

	first []*node // for the items from the first one on
	items []*node // for further items, or for any

	names *node // for the names of properties
	// dynamic reports whether where a reference leads depends on how n was come to.
	dynamic bool

	value      any // the default
	hasDefault bool

	// What follows is known once the graph has been audited.

	// allowed are the kinds that this and everything that always applies with it allow.
	allowed kind
	// refusesNull is only known if Options need it.
	refusesNull bool
	// defaultsWithin and nullsWithin report whether a view may have to change a value
	// that this subschema is for, or its parts.
	defaultsWithin, nullsWithin bool
}

// A patternNode is one of patternProperties.
type patternNode struct {
	*pattern
	to *node
}

// A relation says how a subschema for the same value counts.
type relation int

const (
	always relation = iota + 1 // $ref, allOf: the value must satisfy it
	choice                     // anyOf, oneOf: one of several
	maybe                      // if, then, else, dependentSchemas, and where a dynamic reference may lead
	never                      // not
)

// An edge leads to a subschema for the same value.
type edge struct {
	relation relation
	// group tells the branches of anyOf from those of oneOf.
	group int
	to    *node
}

const (
	groupAny = iota + 1
	groupOne
)

// newGraph describes the compiled schema e. It also returns the engine's subschemas by
// the id of their nodes.
func newGraph(e *engine) (*graph, []*jsonschema.Schema) {
	b := &graphBuilder{
		engine:  e,
		graph:   &graph{at: map[string]*node{}, declared: map[string]bool{}},
		of:      map[*jsonschema.Schema]*node{},
		anchors: map[string][]*jsonschema.Schema{},
	}
	for _, s := range e.objects {
		if s.DynamicAnchor != "" {
			b.anchors[s.DynamicAnchor] = append(b.anchors[s.DynamicAnchor], s)
		}
		if s.RecursiveAnchor {
			b.recursive = append(b.recursive, s)
		}
	}
	if len(b.recursive) > 0 {
		// The engine takes a recursive reference to where a resource was entered.
		for _, s := range e.objects {
			if s.Ref != nil {
				b.recursive = append(b.recursive, s.Ref)
			}
		}
	}
	b.graph.root = b.node(e.root)
	for len(b.todo) > 0 {
		s := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		b.describe(s)
	}
	compiled := make([]*jsonschema.Schema, len(b.graph.nodes))
	for s, n := range b.of {
		compiled[n.id] = s
	}
	return b.graph, compiled
}

type graphBuilder struct {
	engine    *engine
	graph     *graph
	of        map[*jsonschema.Schema]*node
	todo      []*jsonschema.Schema
	anchors   map[string][]*jsonschema.Schema
	recursive []*jsonschema.Schema
}

// node returns the node of s, nil for nil.
func (b *graphBuilder) node(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	n := b.of[s]
	if n == nil {
		n = &node{id: len(b.graph.nodes), location: s.Location}
		b.of[s] = n
		b.graph.nodes = append(b.graph.nodes, n)
		b.graph.at[s.Location] = n
		b.todo = append(b.todo, s)
	}
	return n
}

func (b *graphBuilder) describe(s *jsonschema.Schema) {
	n := b.of[s]
	if p := b.engine.probes[s]; p != nil {
		n.kinds = p.kinds
		if p.late != nil {
			n.names = b.node(p.late.names)
		}
	}
	// Not from the engine, which ignores what stands beside $ref in old dialects: a
	// default there is still meant.
	n.source = b.engine.sources[s]
	n.value, n.hasDefault = n.source["default"]
	b.describeSame(n, s)
	b.describeProperties(n, s)
	b.describeItems(n, s)
}

func (b *graphBuilder) describeSame(n *node, s *jsonschema.Schema) {
	add := func(r relation, group int, to ...*jsonschema.Schema) {
		for _, t := range to {
			if t != nil {
				n.same = append(n.same, edge{r, group, b.node(t)})
			}
		}
	}
	add(always, 0, s.Ref)
	if r := s.RecursiveRef; r != nil && r.RecursiveAnchor {
		n.dynamic = true
		add(maybe, 0, r)
		add(maybe, 0, b.recursive...)
	} else {
		add(always, 0, r)
	}
	if d := s.DynamicRef; d != nil && d.Anchor != "" && d.Ref.DynamicAnchor == d.Anchor {
		n.dynamic = true
		add(maybe, 0, d.Ref)
		add(maybe, 0, b.anchors[d.Anchor]...)
	} else if d != nil {
		add(always, 0, d.Ref)
	}
	add(always, 0, s.AllOf...)
	add(choice, groupAny, s.AnyOf...)
	add(choice, groupOne, s.OneOf...)
	add(maybe, 0, s.If, s.Then, s.Else)
	for _, name := range sortedNames(s.DependentSchemas) {
		add(maybe, 0, s.DependentSchemas[name])
	}
	for _, name := range sortedNames(s.Dependencies) {
		if t, ok := s.Dependencies[name].(*jsonschema.Schema); ok {
			add(maybe, 0, t)
		}
	}
	add(never, 0, s.Not)
}

func (b *graphBuilder) describeProperties(n *node, s *jsonschema.Schema) {
	if len(s.Properties) > 0 {
		n.properties = make(map[string]*node, len(s.Properties))
	}
	for _, name := range sortedNames(s.Properties) {
		n.properties[name] = b.node(s.Properties[name])
		b.graph.declared[name] = true
	}
	for re, t := range s.PatternProperties {
		if p, ok := re.(countedPattern); ok {
			n.patterns = append(n.patterns, patternNode{p.pattern, b.node(t)})
		}
	}
	slices.SortFunc(n.patterns, func(x, y patternNode) int { return strings.Compare(x.re.String(), y.re.String()) })
	switch more := s.AdditionalProperties.(type) {
	case nil:
		n.open = true
	case bool:
		n.open, n.closed = more, !more
	case *jsonschema.Schema:
		n.open = more.Bool != nil && *more.Bool // {}
		n.others = append(n.others, b.node(more))
	}
	if t := s.UnevaluatedProperties; t != nil {
		n.open = n.open && t.Bool != nil && *t.Bool
		n.others = append(n.others, b.node(t))
	}
	if len(s.Required) > 0 {
		n.required = make(map[string]bool, len(s.Required))
		for _, name := range s.Required {
			n.required[name] = true
		}
	}
}

func (b *graphBuilder) describeItems(n *node, s *jsonschema.Schema) {
	add := func(to *[]*node, t *jsonschema.Schema) {
		if t != nil {
			*to = append(*to, b.node(t))
		}
	}
	for _, t := range s.PrefixItems {
		add(&n.first, t)
	}
	switch t := s.Items.(type) {
	case *jsonschema.Schema:
		add(&n.items, t)
	case []*jsonschema.Schema:
		for _, t := range t {
			add(&n.first, t)
		}
	}
	if t, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		add(&n.items, t)
	}
	add(&n.items, s.Items2020)
	add(&n.items, s.Contains)
	add(&n.items, s.UnevaluatedItems)
}

// admits reports whether n's own type, and that of what always applies with it, allow
// a value of kind k.
func (n *node) admits(k kind) bool {
	if k == kindNumber {
		k |= kindInteger
	}
	return n.allowed&k != 0
}

// item adds to to the nodes for an item of an array that n is for.
func (n *node) item(to []*node, i int) []*node {
	if i < len(n.first) {
		return append(to, n.first[i])
	}
	return append(to, n.items...)
}
