package shape

import (
	"maps"
	"regexp"
	"slices"
)

// A Lazy is a shape that is made when it is looked at.
type Lazy struct {
	make func() *Shape
	made *Shape
}

// Later returns what f will return, asked once.
func Later(f func() *Shape) *Lazy { return &Lazy{make: f} }

// Now returns s.
func Now(s *Shape) *Lazy { return &Lazy{made: s} }

// Get returns the shape.
func (l *Lazy) Get() *Shape {
	if l.made == nil {
		l.made = l.make()
		l.make = nil
	}
	return l.made
}

// Openness says what names an object may have beside its declared ones.
type Openness int

// From the strictest to the most generous.
const (
	Closed   Openness = iota // no others
	Implicit                 // nothing says that there are others, and nothing forbids them
	Open                     // others are declared to be possible
	Loose                    // nothing at all is said of names here
)

// Fields are the members of objects.
type Fields struct {
	Openness Openness
	Members  map[string]*Field
	Required map[string]bool
	Patterns []Pattern
	// Rest is what other members are; nil stands for anything when there may be others.
	Rest *Lazy
}

// A Field is one declared member.
type Field struct {
	*Lazy
	// Weak says that the declaration holds in some cases only.
	Weak bool
	// Filled says that the member has a default, which is filled in where it is absent.
	Filled bool
}

// A Pattern declares all names that match.
type Pattern struct {
	Name *regexp.Regexp
	*Lazy
}

// Items are the elements of arrays and sets.
type Items struct {
	Prefix []*Lazy
	Rest   *Lazy // the elements after Prefix; nil when there are none
	// Sure is how many there are at least.
	Sure int
}

// Member returns what the member called name is; declared is false when there is none
// as far as the declarations say, and present reports that it always is there.
func (f *Fields) Member(name string) (s *Shape, declared, present bool) {
	if m, ok := f.Members[name]; ok {
		return m.Get(), true, f.Required[name] || m.Filled
	}
	for _, p := range f.Patterns {
		if p.Name.MatchString(name) {
			return p.Get(), true, f.Required[name]
		}
	}
	switch f.Openness {
	case Open, Loose:
		if f.Rest != nil {
			return f.Rest.Get(), true, f.Required[name]
		}
		return Of(JSON), true, f.Required[name]
	default:
		return nil, false, false
	}
}

// Others returns what members beside the declared ones are; nil when there are none.
func (f *Fields) Others() *Shape {
	switch {
	case f.Openness == Closed && len(f.Patterns) == 0:
		return nil
	case f.Rest != nil && len(f.Patterns) == 0:
		return f.Rest.Get()
	default:
		return Of(JSON)
	}
}

// Names lists the declared names.
func (f *Fields) Names() []string { return slices.Sorted(maps.Keys(f.Members)) }

func joinFields(a, b *Fields) *Fields {
	out := &Fields{Openness: max(a.Openness, b.Openness), Members: map[string]*Field{}, Required: map[string]bool{}}
	for name, m := range a.Members {
		if n, both := b.Members[name]; both {
			out.Members[name] = &Field{Lazy: Later(func() *Shape { return Union(m.Get(), n.Get()) }), Weak: m.Weak || n.Weak, Filled: m.Filled && n.Filled}
			continue
		}
		out.Members[name] = m.orOf(b, name)
	}
	for name, m := range b.Members {
		if _, both := a.Members[name]; !both {
			out.Members[name] = m.orOf(a, name)
		}
	}
	for name := range a.Required {
		if b.Required[name] {
			out.Required[name] = true
		}
	}
	out.Patterns = slices.Concat(a.Patterns, b.Patterns)
	if a.Rest != nil && b.Rest != nil {
		out.Rest = Later(func() *Shape { return Union(a.Rest.Get(), b.Rest.Get()) })
	}
	return out
}

// orOf is a field of some objects, where others don't declare its name: those that may
// have further members may have anything there.
func (m *Field) orOf(others *Fields, name string) *Field {
	if others.Openness < Open {
		return &Field{Lazy: m.Lazy, Weak: true}
	}
	return &Field{Lazy: Later(func() *Shape {
		s, _, _ := others.Member(name)
		return Union(m.Get(), s)
	}), Weak: true}
}

func meetFields(a, b *Fields) *Fields {
	out := &Fields{Openness: min(a.Openness, b.Openness), Members: map[string]*Field{}, Required: map[string]bool{}}
	for name, m := range a.Members {
		if n, both := b.Members[name]; both {
			out.Members[name] = meetField(m, n)
			continue
		}
		out.Members[name] = m
	}
	for name, m := range b.Members {
		if _, both := a.Members[name]; !both {
			out.Members[name] = m
		}
	}
	maps.Copy(out.Required, a.Required)
	maps.Copy(out.Required, b.Required)
	out.Patterns = slices.Concat(a.Patterns, b.Patterns)
	out.Rest = a.Rest
	if out.Rest == nil {
		out.Rest = b.Rest
	}
	return out
}

func meetField(m, n *Field) *Field {
	switch {
	case m.Weak && n.Weak:
		return &Field{Lazy: Later(func() *Shape { return Union(m.Get(), n.Get()) }), Weak: true}
	case m.Weak:
		return n
	case n.Weak:
		return m
	default:
		return &Field{Lazy: Later(func() *Shape { return Intersect(m.Get(), n.Get()) }), Filled: m.Filled || n.Filled}
	}
}

// Element returns the element at an index; ok is false when there is none.
func (i *Items) Element(n int) (s *Shape, ok bool) {
	switch {
	case n < 0:
		return nil, false
	case n < len(i.Prefix):
		return i.Prefix[n].Get(), true
	case i.Rest != nil:
		return i.Rest.Get(), true
	default:
		return nil, false
	}
}

// All returns what any of the elements is; nil when there are none.
func (i *Items) All() *Shape {
	var out *Shape
	add := func(l *Lazy) {
		if out == nil {
			out = l.Get()
		} else {
			out = Union(out, l.Get())
		}
	}
	for _, p := range i.Prefix {
		add(p)
	}
	if i.Rest != nil {
		add(i.Rest)
	}
	return out
}

func joinItems(a, b *Items) *Items {
	out := &Items{Sure: min(a.Sure, b.Sure)}
	for n := range max(len(a.Prefix), len(b.Prefix)) {
		x, okX := a.Element(n)
		y, okY := b.Element(n)
		switch {
		case okX && okY:
			out.Prefix = append(out.Prefix, Later(func() *Shape { return Union(x, y) }))
		case okX:
			out.Prefix = append(out.Prefix, Now(x))
		default:
			out.Prefix = append(out.Prefix, Now(y))
		}
	}
	switch {
	case a.Rest == nil:
		out.Rest = b.Rest
	case b.Rest == nil:
		out.Rest = a.Rest
	default:
		out.Rest = Later(func() *Shape { return Union(a.Rest.Get(), b.Rest.Get()) })
	}
	return out
}

func meetItems(a, b *Items) *Items {
	out := &Items{Sure: max(a.Sure, b.Sure)}
	for n := range max(len(a.Prefix), len(b.Prefix)) {
		x, okX := a.Element(n)
		y, okY := b.Element(n)
		if !okX || !okY {
			return out // no further element can be
		}
		out.Prefix = append(out.Prefix, Later(func() *Shape { return Intersect(x, y) }))
	}
	if a.Rest != nil && b.Rest != nil {
		out.Rest = Later(func() *Shape { return Intersect(a.Rest.Get(), b.Rest.Get()) })
	}
	return out
}
