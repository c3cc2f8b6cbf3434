package closures

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
)

// Constants returns some of the texts and numbers that the rules mention, as decoded
// JSON.
func (p *Program) Constants() []any { return slices.Clone(p.constants) }

// Uses reports whether the program has a rule at or below a path, such as
// data.tools.x.
func (p *Program) Uses(path string) bool {
	for _, f := range p.funcs {
		_, name, _ := strings.Cut(f.name, ".")
		if rest, ok := strings.CutPrefix(name, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// Samples returns n inputs, the same for the same seed: the members that the program
// reads, with the constants that it mentions, things like them, and other types.
func (p *Program) Samples(n int, seed uint64) []map[string]any {
	s := sampler{p, rand.New(rand.NewPCG(seed, uint64(len(p.slots)))), map[int][]int{}}
	for i, plan := range p.slots {
		if i > 0 && plan.derive == nil {
			s.below[plan.parent] = append(s.below[plan.parent], i)
		}
	}
	out := make([]map[string]any, n)
	for i := range out {
		out[i] = s.members(0)
	}
	return out
}

type sampler struct {
	program *Program
	rand    *rand.Rand
	below   map[int][]int // slots by their parent
}

func (s sampler) members(slot int) map[string]any {
	m := map[string]any{}
	for _, i := range s.below[slot] {
		const missing = 8 // one in so many
		if slot > 0 && s.rand.IntN(missing) == 0 {
			continue
		}
		m[s.program.slots[i].key.s] = s.value(i)
	}
	return m
}

func (s sampler) value(slot int) any {
	const other = 10 // one object in so many is something else
	if len(s.below[slot]) > 0 && s.rand.IntN(other) > 0 {
		return s.members(slot)
	}
	switch s.rand.IntN(10) {
	case 0, 1, 2, 3:
		return s.scalar()
	case 4:
		return s.near()
	case 5, 6:
		list := make([]any, s.rand.IntN(4))
		for i := range list {
			list[i] = s.scalar()
		}
		return list
	case 7:
		return map[string]any{"a": s.scalar(), "b": []any{s.scalar()}}
	case 8:
		return []any{map[string]any{"name": s.scalar(), "path": s.scalar()}}
	}
	return s.common()
}

func (s sampler) scalar() any {
	if n := len(s.program.constants); n > 0 && s.rand.IntN(4) > 0 {
		return s.program.constants[s.rand.IntN(n)]
	}
	return s.common()
}

// near is a constant with something around it.
func (s sampler) near() any {
	text, ok := s.scalar().(string)
	if !ok {
		return json.Number("1.0")
	}
	return []string{text + "x", "x" + text, strings.ToUpper(text), "/" + text + "/.."}[s.rand.IntN(4)]
}

func (s sampler) common() any {
	values := []any{nil, true, false, "", "a", "1", json.Number("0"), json.Number("1"), json.Number("-5"), json.Number("1.5"), json.Number("100000"), "2026-01-01T00:00:00Z", "10.1.2.3", "https://example.com/x", "user@example.com"}
	return values[s.rand.IntN(len(values))]
}
