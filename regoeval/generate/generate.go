package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Kind says what arguments are meant to show.
type Kind string

// The kinds, in the order in which they come.
const (
	Valid    Kind = "valid"    // what is required, and everything that is declared
	Boundary Kind = "boundary" // one argument at an edge of what the schema allows
	Combined Kind = "combined" // several arguments at once, chosen by the seed
)

// A Case is one set of arguments.
type Case struct {
	Kind      Kind
	Arguments []byte // one JSON object, names in order
}

// Options say what to make. The zero value is usable.
type Options struct {
	// Seed chooses among the combinations.
	Seed uint64
	// Hints are values that are worth trying wherever the schema allows their type: the
	// constants that a policy compares with, for example. JSON values as encoding/json
	// decodes them, numbers as json.Number.
	Hints []any
}

// maxSchema bounds what is read: the largest schema of a real tool that was seen has
// less than 1 MB.
const maxSchema = 16 << 20

// Arguments returns up to n sets of arguments for a tool with that input schema, each
// one once. There are fewer when the schema allows no more that differ. The error says
// that the schema isn't JSON, or isn't one of an object.
func Arguments(schema []byte, n int, o Options) ([]Case, error) {
	root, err := readSchema(schema)
	if err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, nil
	}
	h := fnv.New64a()
	h.Write(schema)
	g := &generator{
		maker: maker{root: root, hints: sortedHints(o.Hints)},
		rand:  rand.New(rand.NewPCG(o.Seed, h.Sum64())),
		max:   n,
		seen:  map[string]bool{},
	}
	g.run()
	return g.cases, nil
}

// Minimal returns the smallest arguments that are meant to be valid: what the schema
// requires and nothing else.
func Minimal(schema []byte) ([]byte, error) {
	cases, err := Arguments(schema, 1, Options{})
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return []byte("{}"), nil
	}
	return cases[0].Arguments, nil
}

func readSchema(schema []byte) (any, error) {
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("the schema has more than %d bytes", maxSchema)
	}
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	switch root.(type) {
	case map[string]any, bool:
		return root, nil
	default:
		return nil, errors.New("the schema is neither an object nor true")
	}
}

// sortedHints brings hints into an order that doesn't depend on where they came from.
func sortedHints(hints []any) []any {
	type keyed struct {
		key   string
		value any
	}
	var list []keyed
	for _, h := range hints {
		if raw, err := encode(h); err == nil {
			list = append(list, keyed{string(raw), h})
		}
	}
	slices.SortFunc(list, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	list = slices.CompactFunc(list, func(a, b keyed) bool { return a.key == b.key })
	var out []any
	for _, k := range list {
		out = append(out, k.value)
	}
	return out
}

type generator struct {
	maker
	tops    []node
	choices []map[string][]any // of each top, by name
	rand    *rand.Rand
	max     int
	seen    map[string]bool
	cases   []Case
}

// add keeps arguments that are new, and reports whether more are wanted.
func (g *generator) add(kind Kind, v any) bool {
	object, ok := v.(map[string]any)
	g.work = 0
	if !ok {
		return true
	}
	raw, err := encode(object)
	if err == nil && !g.seen[string(raw)] {
		g.seen[string(raw)] = true
		g.cases = append(g.cases, Case{kind, raw})
	}
	return len(g.cases) < g.max
}

func (g *generator) run() {
	g.tops = g.branches(g.root, 0)
	for _, f := range []fill{requiredOnly, everything} {
		for _, top := range g.tops {
			if !g.add(Valid, g.object(top, 0, f)) {
				return
			}
		}
	}
	for i := range g.tops {
		if !g.boundaries(i) {
			return
		}
	}
	for range 5 * g.max {
		if !g.add(Combined, g.combine(g.rand.IntN(len(g.tops)))) {
			return
		}
	}
}

// boundaries changes one argument at a time: the first value of each, then the second
// of each, and so on.
func (g *generator) boundaries(i int) bool {
	top := g.tops[i]
	names := top.names()
	choices := map[string][]any{}
	most := 0
	for _, name := range names {
		g.work = 0
		choices[name] = g.candidates(top.property(name), 1)
		most = max(most, len(choices[name]))
	}
	g.choices = append(g.choices, choices)
	g.work = 0
	base := g.object(top, 0, requiredOnly)
	for round := range most {
		for _, name := range names {
			if round >= len(choices[name]) {
				continue
			}
			arguments := maps.Clone(base) // only the top level is changed
			arguments[name] = choices[name][round]
			if !g.add(Boundary, arguments) {
				return false
			}
		}
	}
	return true
}

// combine chooses for each argument whether it is there, and which of its values.
func (g *generator) combine(i int) map[string]any {
	top := g.tops[i]
	arguments := map[string]any{}
	for _, name := range top.names() {
		if !top.requires(name) && g.rand.IntN(2) == 0 {
			continue
		}
		if choices := g.choices[i][name]; len(choices) > 0 {
			arguments[name] = choices[g.rand.IntN(len(choices))]
		}
	}
	return arguments
}

// encode writes a value with its names in order, so that equal values are equal bytes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
