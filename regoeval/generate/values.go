package generate

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
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

// numbers returns the plainest number, and those at the edges.
func numbers(n node, whole bool) []any {
	low, high := number(n["minimum"], math.Inf(-1)), number(n["maximum"], math.Inf(1))
	step := number(n["multipleOf"], 0)
	unit := 1.0
	if !whole && step == 0 {
		unit = 0.5
	}
	if v, ok := n["exclusiveMinimum"]; ok {
		low = exclusive(v, low, unit)
	}
	if v, ok := n["exclusiveMaximum"]; ok {
		high = exclusive(v, high, -unit)
	}
	var out []any
	add := func(f float64) {
		if step > 0 {
			f = math.Ceil(f/step) * step
		}
		if whole {
			f = math.Trunc(f)
		}
		if f >= low && f <= high && !math.IsInf(f, 0) {
			out = append(out, json.Number(strconv.FormatFloat(f, 'g', -1, 64)))
		}
	}
	for _, f := range []float64{1, low, high, 0, -1, 2, 10, 100, 1000, 100_000, 1e9, low + unit, high - unit} {
		add(f)
	}
	if !whole && step == 0 {
		add(1.5)
	}
	if len(out) == 0 {
		out = append(out, json.Number("1"))
	}
	return out
}

// exclusive reads both forms: a number, and true beside minimum (draft 4).
func exclusive(v any, bound, unit float64) float64 {
	if v == true {
		return bound + unit
	}
	return number(v, math.Inf(-1)*unit) + unit
}

func (m *maker) hintedNumbers(n node, whole bool) []any {
	var out []any
	for _, h := range m.hints {
		v, ok := h.(json.Number)
		if !ok {
			continue
		}
		f, err := v.Float64()
		if err != nil {
			continue
		}
		for _, near := range []float64{f, f + 1, f - 1} {
			if whole && near != math.Trunc(near) || near < number(n["minimum"], math.Inf(-1)) || near > number(n["maximum"], math.Inf(1)) {
				continue
			}
			out = append(out, json.Number(strconv.FormatFloat(near, 'g', -1, 64)))
		}
	}
	return out
}

// hintedTexts are the hints that are texts: whole, at the start and at the end.
func (m *maker) hintedTexts(n node) []any {
	if n["pattern"] != nil || n["format"] != nil {
		return nil
	}
	most := integer(n["maxLength"], maxText)
	var out []any
	for _, h := range m.hints {
		s, ok := h.(string)
		if !ok || s == "" {
			continue
		}
		for _, v := range []string{s, s + "x", "x" + s, strings.ToUpper(s)} {
			if l := len([]rune(v)); l <= most && l >= integer(n["minLength"], 0) {
				out = append(out, v)
			}
		}
	}
	return out
}

func number(v any, otherwise float64) float64 {
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil {
			return f
		}
	}
	return otherwise
}

// integer reads a length; what is no number, or too large for a length, is the
// greatest that is ever made.
func integer(v any, otherwise int) int {
	n, ok := v.(json.Number)
	if !ok {
		return otherwise
	}
	f, err := n.Float64()
	if err != nil || f > maxText {
		return maxText
	}
	return int(max(f, 0))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
