package generate

import (
	"encoding/json"
	"strconv"
)

// A fill says which properties an object gets.
type fill int

const (
	requiredOnly fill = iota
	everything
)

const (
	deepEverything = 3  // below that, what is optional is left out
	maxChoices     = 80 // of an argument
	maxChoicesDeep = 12 // of what is inside an argument
)

// object makes an object of a schema.
func (m *maker) object(n node, depth int, f fill) map[string]any {
	out := map[string]any{}
	if fixed, ok := m.fixed(n); ok {
		if o, ok := fixed[0].(map[string]any); ok {
			return o
		}
	}
	for _, name := range n.names() {
		if f == requiredOnly && !n.requires(name) || depth > maxDepth {
			continue
		}
		out[name] = m.simple(n.property(name), depth+1, f)
	}
	for i := 0; len(out) < min(integer(n["minProperties"], 0), maxItems); i++ {
		name := "key" + strconv.Itoa(i)
		if _, taken := out[name]; !taken {
			out[name] = m.simple(n.property(name), depth+1, f)
		}
	}
	return out
}

// simple returns the plainest value of a schema.
func (m *maker) simple(schema any, depth int, f fill) any {
	if depth > maxDepth || m.spent() {
		return nil
	}
	if depth > deepEverything {
		f = requiredOnly
	}
	n := m.branches(schema, depth)[0]
	if fixed, ok := m.fixed(n); ok {
		return fixed[0]
	}
	if v, ok := n["default"]; ok && v != nil {
		return v
	}
	kinds := n.types()
	if len(kinds) == 0 {
		return nil
	}
	switch kinds[0] {
	case "object":
		return m.object(n, depth, f)
	case "array":
		return m.array(n, depth, max(integer(n["minItems"], 0), btoi(f == everything)), f)
	case "boolean":
		return true
	case "null":
		return nil
	case "integer", "number":
		return numbers(n, kinds[0] == "integer")[0]
	default:
		return texts(n)[0]
	}
}

// fixed returns the values of a schema that lists them.
func (m *maker) fixed(n node) ([]any, bool) {
	if v, ok := n["const"]; ok {
		return []any{v}, true
	}
	values := list(n["enum"])
	return values, len(values) > 0
}

// candidates returns values of a schema that are worth trying, the plainest first.
func (m *maker) candidates(schema any, depth int) []any {
	if depth > maxDepth || m.spent() {
		return nil
	}
	var lists [][]any // of each alternative
	for _, n := range m.branches(schema, depth) {
		if fixed, ok := m.fixed(n); ok {
			lists = append(lists, fixed)
			continue
		}
		var out []any
		if v, ok := n["default"]; ok {
			out = append(out, v)
		}
		out = append(out, list(n["examples"])...)
		for _, kind := range n.types() {
			out = append(out, m.ofType(n, kind, depth)...)
		}
		lists = append(lists, out)
	}
	most := maxChoices + len(m.hints)
	if depth > 1 {
		most = maxChoicesDeep
	}
	return inTurn(lists, most)
}

// inTurn takes the first of each list, then the second of each, up to so many.
func inTurn(lists [][]any, most int) []any {
	var out []any
	for i := 0; len(out) < most; i++ {
		more := false
		for _, l := range lists {
			if i < len(l) && len(out) < most {
				out = append(out, l[i])
				more = true
			}
		}
		if !more {
			break
		}
	}
	return out
}

func (m *maker) ofType(n node, kind string, depth int) []any {
	switch kind {
	case "object":
		return m.objects(n, depth)
	case "array":
		return m.arrays(n, depth)
	case "boolean":
		return []any{true, false}
	case "null":
		return []any{nil}
	case "integer", "number":
		return append(numbers(n, kind == "integer"), m.hintedNumbers(n, kind == "integer")...)
	case "string":
		return append(texts(n), m.hintedTexts(n)...)
	default:
		return nil
	}
}

func (m *maker) objects(n node, depth int) []any {
	out := []any{m.object(n, depth, requiredOnly), m.object(n, depth, everything)}
	if depth >= 3 {
		return out
	}
	for _, name := range n.names() {
		for _, v := range m.candidates(n.property(name), depth+1) {
			o := m.object(n, depth, requiredOnly)
			o[name] = v
			out = append(out, o)
		}
	}
	if open, declared := n["additionalProperties"]; declared && open != false && len(n.names()) == 0 {
		for _, v := range m.candidates(open, depth+1) {
			out = append(out, map[string]any{"key": v})
		}
		for _, h := range m.hints {
			if name, ok := h.(string); ok {
				out = append(out, map[string]any{name: m.simple(open, depth+1, requiredOnly)})
			}
		}
	}
	return out
}

// array makes an array of n elements.
func (m *maker) array(n node, depth, length int, f fill) []any {
	out := make([]any, 0, min(length, maxItems))
	for i := range min(length, maxItems) {
		item := n.item(i)
		if item == nil {
			break
		}
		v := m.simple(item, depth+1, f)
		if n["uniqueItems"] == true && i > 0 {
			choices := m.candidates(item, depth+1)
			if i < len(choices) {
				v = choices[i]
			} else if s, ok := v.(string); ok {
				v = s + strconv.Itoa(i)
			} else {
				v = json.Number(strconv.Itoa(i))
			}
		}
		out = append(out, v)
	}
	return out
}

// item returns the schema of an array's element, nil when there may be none.
func (n node) item(i int) any {
	prefix := list(n["prefixItems"])
	if prefix == nil {
		prefix = list(n["items"]) // up to draft 2019-09
	}
	if i < len(prefix) {
		return prefix[i]
	}
	switch items := n["items"].(type) {
	case map[string]any:
		return items
	case bool:
		if !items {
			return nil
		}
	}
	return map[string]any{}
}

func (m *maker) arrays(n node, depth int) []any {
	least, most := integer(n["minItems"], 0), integer(n["maxItems"], -1)
	lengths := []int{max(least, 1), least, least + 1}
	if most >= 0 {
		lengths = []int{min(max(least, 1), most), least, most}
	}
	var out []any
	for _, l := range lengths {
		if most < 0 || l <= most {
			out = append(out, m.array(n, depth, l, everything))
		}
	}
	if most == 0 || least > 1 || n.item(0) == nil {
		return out
	}
	for _, v := range m.candidates(n.item(0), depth+1) {
		out = append(out, []any{v})
	}
	return out
}
