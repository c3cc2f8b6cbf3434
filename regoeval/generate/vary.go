package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
)

// Variations returns arguments that differ from base in one of them: another value, or
// none where the schema doesn't require it. At most n, each once and none of them base.
func Variations(schema, base []byte, n int, o Options) ([]Case, error) {
	root, err := readSchema(schema)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(base))
	dec.UseNumber()
	var from map[string]any
	if err := dec.Decode(&from); err != nil || from == nil {
		return nil, errors.New("the arguments are not an object")
	}
	g := &generator{maker: maker{root: root, hints: sortedHints(o.Hints)}, max: n, seen: map[string]bool{}}
	if raw, err := encode(from); err == nil {
		g.seen[string(raw)] = true
	}
	if n <= 0 {
		return nil, nil
	}
	for _, top := range g.branches(root, 0) {
		for _, name := range top.names() {
			g.work = 0
			choices := g.candidates(top.property(name), 1)
			if _, there := from[name]; there && !top.requires(name) {
				without := maps.Clone(from)
				delete(without, name)
				if !g.add(Boundary, without) {
					return g.cases, nil
				}
			}
			for _, v := range choices {
				changed := maps.Clone(from)
				changed[name] = v
				if !g.add(Boundary, changed) {
					return g.cases, nil
				}
			}
		}
	}
	return g.cases, nil
}
