package inputschema

import (
	"maps"
	"slices"
)

// View returns the arguments as the policy shall see them: without the nulls that
// count as absent, and with defaults. It doesn't check anything; it is for where the
// check is turned off. Args isn't modified, and is what is returned when nothing
// changes. The result is nil when there is no view, which the caller has to refuse.
func (s *Schema) View(args map[string]any) (view map[string]any) {
	if !s.usable() || args == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			view = nil
		}
	}()
	return s.withDefaults(s.withoutNulls(args))
}

func (s *Schema) withoutNulls(args map[string]any) map[string]any {
	if s.options.OptionalNull != OptionalNullAbsent || !s.graph.root.nullsWithin {
		return args
	}
	d := nullDropper{s.newWalk()}
	view, ok := d.value(args, []*node{s.graph.root}).(map[string]any)
	if !ok {
		panic(notJSON(args))
	}
	return view
}

func (s *Schema) withDefaults(args map[string]any) map[string]any {
	if s.options.Defaults != DefaultsView || !s.graph.root.defaultsWithin {
		return args
	}
	f := filler{walk: s.newWalk(), nulls: s.options.OptionalNull != OptionalNullAbsent}
	view, ok := f.value(args, []*node{s.graph.root}).(map[string]any)
	if !ok {
		panic(notJSON(args))
	}
	return view
}

// A nullDropper leaves out nulls that count as absent. What it returns shares the
// parts that are unchanged with what it was given.
type nullDropper struct{ *walk }

func (d nullDropper) value(v any, at []*node) any {
	d.enter()
	defer d.leave()
	if !slices.ContainsFunc(at, func(n *node) bool { return n.nullsWithin }) {
		return v
	}
	set := d.closure(at, declaring)
	switch v := v.(type) {
	case map[string]any:
		return d.object(v, at, set)
	case []any:
		return eachItem(v, func(i int, e any) any { return d.value(e, d.items(set, i)) })
	default:
		return v
	}
}

func (d nullDropper) object(v map[string]any, at, set []*node) any {
	result := v
	for name, e := range v {
		d.spend(1)
		switch {
		case e == nil:
			if d.absent(name, at, set) {
				result = writable(result, v)
				delete(result, name)
			}
		case isContainer(e):
			if changed := d.value(e, d.members(set, name)); !same(changed, e) {
				result = writable(result, v)
				result[name] = changed
			}
		}
	}
	return result
}

// absent reports whether null for the property stands for its absence: whether it is
// declared, not required, and accepts null by none of its declarations.
func (d nullDropper) absent(name string, at, set []*node) bool {
	declared := false
	for _, n := range set {
		d.spend(1)
		if p := n.properties[name]; p != nil {
			declared = true
			if !p.refusesNull {
				return false
			}
		}
	}
	if !declared {
		return false
	}
	for _, n := range d.closure(at, func(_ *node, e edge) bool { return e.relation == always }) {
		if n.required[name] {
			return false
		}
	}
	return true
}

// A filler fills in defaults, sharing unchanged parts.
type filler struct {
	*walk
	nulls bool // whether a default of null is filled in where null isn't accepted
	// filling are the properties whose defaults are being completed. A default that is
	// met again within itself is taken as it is.
	filling []*node
}

func (f *filler) value(v any, at []*node) any {
	f.enter()
	defer f.leave()
	if !slices.ContainsFunc(at, func(n *node) bool { return n.defaultsWithin }) {
		return v
	}
	k := kindOf(v)
	set := f.closure(at, func(n *node, e edge) bool {
		return e.relation == always || e.relation == choice && onlyChoice(n, e, k)
	})
	switch v := v.(type) {
	case map[string]any:
		return f.object(v, set)
	case []any:
		return eachItem(v, func(i int, e any) any { return f.value(e, f.items(set, i)) })
	default:
		return v
	}
}

// onlyChoice reports whether e is the one branch of its group that is for values of
// kind k, as in anyOf of an object and null.
func onlyChoice(n *node, e edge, k kind) bool {
	for _, other := range n.same {
		if other.relation == choice && other.group == e.group && other.to != e.to && other.to.admits(k) {
			return false
		}
	}
	return e.to.admits(k)
}

func (f *filler) object(v map[string]any, set []*node) any {
	result := v
	for name, e := range v {
		f.spend(1)
		if !isContainer(e) {
			continue
		}
		if changed := f.value(e, f.members(set, name)); !same(changed, e) {
			result = writable(result, v)
			result[name] = changed
		}
	}
	for _, n := range set {
		f.spend(len(n.properties))
		for name, p := range n.properties {
			if !p.hasDefault || p.value == nil && p.refusesNull && !f.nulls {
				continue
			}
			if _, there := result[name]; there {
				continue
			}
			result = writable(result, v)
			result[name] = f.complete(p)
		}
	}
	return result
}

// complete returns a copy of the default of p with the defaults within it.
func (f *filler) complete(p *node) any {
	v := f.deepCopy(p.value)
	if slices.Contains(f.filling, p) {
		return v
	}
	f.filling = append(f.filling, p)
	v = f.value(v, []*node{p})
	f.filling = f.filling[:len(f.filling)-1]
	return v
}

func (f *filler) deepCopy(v any) any {
	f.spend(1)
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for name, e := range v {
			c[name] = f.deepCopy(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = f.deepCopy(e)
		}
		return c
	default:
		return v
	}
}

// writable returns a copy of the original unless result already is one.
func writable(result, original map[string]any) map[string]any {
	if same(result, original) {
		return maps.Clone(original)
	}
	return result
}

// eachItem applies change to the items that are containers.
func eachItem(v []any, change func(int, any) any) any {
	result, copied := v, false
	for i, e := range v {
		if !isContainer(e) {
			continue
		}
		changed := change(i, e)
		if same(changed, e) {
			continue
		}
		if !copied {
			result, copied = slices.Clone(v), true
		}
		result[i] = changed
	}
	return result
}
