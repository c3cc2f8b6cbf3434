package closures

import (
	"encoding/json"
	"math/rand/v2"
)

// inputs are what the policies are asked about.
var inputValues = []any{
	nil, true, false, "a", "b", "/p", "A", "", "1", "0", "x", "10.1.2.3", json.Number("1"), json.Number("2"), json.Number("1.0"), json.Number("0"), json.Number("-3"), json.Number("1e2"), json.Number("0.1"), json.Number("123456789012345678901"),
	[]any{"a", json.Number("1")}, []any{}, []any{"a", "b"}, []any{json.Number("1"), json.Number("1.0")}, map[string]any{"x": "a"}, map[string]any{"a": json.Number("1"), "b": "b"}, map[string]any{},
	[]any{map[string]any{"a": "a"}, map[string]any{"a": "b"}}, map[string]any{"x": map[string]any{"a": []any{"a"}}}, "2026-01-01T00:00:00Z", []any{"b", "a", nil, false},
	json.Number("-0"), json.Number("0.0"), json.Number("1E0"), json.Number("100"), json.Number("9007199254740993"), json.Number("18446744073709551616"), json.Number("1e-7"), json.Number("1e300"), json.Number("999999999999999999"), json.Number("-1000000000000000000"),
	"\u0130", "stra\u00dfe", "\u017f", "\u212a", "e\u0301", "\U0001F600a", "\x00", "a b", "a.b", "10MB", "1.5Gi", "1h", "1e400", "%v", "[a-b]+", "(", "a*", "/a/b", "1.2.3", "YQ==", "6161", "10.0.0.0/8", "virt", "m", "d",
	[]any{[]any{"a", "b"}, []any{json.Number("1"), []any{"a"}}}, []any{map[string]any{"op": "remove", "path": "/a"}}, map[string]any{"a": []any{"b"}, "b": []any{"a"}}, map[string]any{"1": "a", "x": map[string]any{"1": "b"}}, []any{json.Number("3"), json.Number("1.5"), json.Number("2")},
}

func randomInput(r *rand.Rand) map[string]any {
	in := map[string]any{}
	for _, k := range []string{"a", "b", "c", "l", "o", "n"} {
		if r.IntN(7) > 0 {
			in[k] = inputValues[r.IntN(len(inputValues))]
		}
	}
	if r.IntN(3) == 0 {
		in["x"] = inputValues[r.IntN(len(inputValues))]
	}
	if r.IntN(2) == 0 {
		in["l"] = []any{"a", "b", "1", json.Number("1")}[:r.IntN(5)]
	}
	if r.IntN(2) == 0 {
		in["n"] = json.Number([]string{"0", "1", "1.0", "2", "1", "-0"}[r.IntN(6)])
	}
	return in
}

const fuzzData = `{"d": {"s": "a", "l": ["a", "b", 1], "m": {"a": 1, "b": "x", "1": "one", "1.0": "dot"}, "n": 2, "deep": {"a": {"x": 1, "1": "y"}, "b": {"x": [1]}}}}`
