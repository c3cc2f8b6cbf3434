package generate

import (
	"encoding/json"
	"math"
	"strconv"
)

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
