package closures

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edges are values at which a fast path could say something else than OPA's built-in.
var edges = strings.Fields(`null true false 0 -0 0.0 -0.0 1 1.0 1E0 10e-1 -1 5 5.0 2.5 100 1e2 0.1 1e-400 1e308 -1e308 9007199254740992 9007199254740993 9007199254740993.0
	999999999999999999 -999999999999999999 1000000000000000000 9223372036854775807 9223372036854775808 -9223372036854775808 18446744073709551616 4611686018427387904 4611686018427387903
	"" "a" "A" "ab" "1" "İ" "i̇" "ß" "SS" "ſ" "K" "é" "e\u0301" "ǅ" "Σ" "ς" "😀" "\u0000" "\ufffd" "日本" "a\nb" "\u2028"
	"10.1.2.3" "010.1.2.3" "10.1.2" "::ffff:10.1.2.3" "fd00::1" "10.1.0.0/16" "10.0.0.0/4" "10.1.2.3/33" "10.1.2.3%eth0" "2026-01-01T00:00:00Z" "2026-01-01t00:00:00z" "2026-02-30T00:00:00Z" "2026-01-01T00:00:00,5Z" "2026-01-01T23:59:60Z" "2026-01-01T00:00:00+24:00"
	"1677-09-21T00:12:43Z" "1677-09-21T00:12:44Z" "2262-04-11T23:47:16Z" "2262-04-11T23:47:17Z"
	[] ["a"] ["a",1,1.0,null] [[]] {} {"a":1} {"a":null} {"1":"a"}`)

// fastRules apply each built-in with a fast path to two operands.
const fastRules = `
deny contains ["startswith", startswith(X, Y)]
deny contains ["endswith", endswith(X, Y)]
deny contains ["contains", contains(X, Y)]
deny contains ["startswith is", "true"] if startswith(X, Y)
deny contains ["startswith isn't", "true"] if not startswith(X, Y)
deny contains ["contains is", "true"] if contains(X, Y)
deny contains ["<", X < Y]
deny contains ["<=", X <= Y]
deny contains [">", X > Y]
deny contains [">=", X >= Y]
deny contains ["!=", X != Y]
deny contains ["==", "true"] if X == Y
deny contains ["is less", "true"] if X < Y
deny contains ["isn't less", "true"] if not X < Y
deny contains ["in", "true"] if X in Y
deny contains ["in these", "true"] if X in ["a", "10.1.2.3", "ß"]
deny contains ["in all of these", "true"] if X in ["a", 1, null, 2.5, [], {}, "ß", 9007199254740993]
deny contains ["not in", "true"] if not X in [Y, 1]
deny contains ["regex", regex.match("^(?i)[a-zß]+$", X)]
deny contains ["regex with k", regex.match("(?i)^k$|^s+$|\\x{fffd}", X)]
deny contains ["any regex", regex.match(Y, X)]
deny contains ["network", net.cidr_contains("10.0.0.0/8", X)]
deny contains ["narrow network", net.cidr_contains("10.1.2.3/32", X)]
deny contains ["network of 6", net.cidr_contains("fd00::/8", X)]
deny contains ["mapped network", net.cidr_contains("::ffff:10.0.0.0/104", X)]
deny contains ["any network", net.cidr_contains(Y, X)]
deny contains ["+", sprintf("%v", [X + Y])]
deny contains ["-", sprintf("%v", [X - Y])]
deny contains ["lower", lower(X)]
deny contains ["upper", upper(X)]
deny contains ["count", count(X)]
deny contains ["time", time.parse_rfc3339_ns(X)]
deny contains ["later", "true"] if time.parse_rfc3339_ns(X) > 0
deny contains ["get", object.get(X, "a", Y)]
deny contains ["get number", object.get(X, 1, Y)]
deny contains ["types", is_string(X), is_number(X)]
deny contains ["is string", "true"] if is_string(X)
deny contains ["is number", "true"] if is_number(X)
deny contains ["is boolean", "true"] if is_boolean(X)
deny contains ["is null", "true"] if is_null(X)
deny contains ["is array", "true"] if is_array(X)
deny contains ["is object", "true"] if is_object(X)
deny contains ["is set", "true"] if is_set(X)
deny contains ["template", $"{X}-{Y}"]
deny contains ["index", "true"] if ["p", "q", "r"][X] == "q"
deny contains ["index of input", input.list[X]]
deny contains ["name", input.names[X]]
deny contains ["data", data.d.l[X]]
deny contains ["data names", data.d.m[X]]
deny contains ["element", "true"] if {X, Y, 1}[X]
deny contains ["one of", count({X, Y, 1, "a", 1.0})]
deny contains ["key", {X: 1}[Y]]
deny contains ["dispatched 1", "true"] if X == 1
deny contains ["dispatched 1.0", "true"] if X == 1.0
deny contains ["dispatched 5", "true"] if X == 5
deny contains ["dispatched 0", "true"] if X == 0
deny contains ["dispatched -0", "true"] if X == -0
deny contains ["dispatched a", "true"] if X == "a"
deny contains ["dispatched 1 text", "true"] if X == "1"
deny contains ["dispatched large", "true"] if X == 9007199254740993
deny contains ["dispatched larger", "true"] if X == 1000000000000000000
deny contains ["dispatched K", "true"] if X == "K"
`

// A fast path says what OPA's built-in says, or leaves the operands to it: for pairs of
// edges, read from the input, from data, from constants, and from variables.
func TestFastPathsSayWhatTheBuiltInsSay(t *testing.T) {
	data := decoded(t, `{"d": {"l": ["p", "q", "r"], "m": {"1": "one", "a": "A", "5": 5}, "edges": [`+strings.Join(edges, ",")+`]}}`)
	wheres := map[string][2]string{"input": {"input.x", "input.y"}, "variables": {"x", "y"}, "data": {"data.d.edges[input.i]", "input.y"}}
	for where, operands := range wheres {
		t.Run(where, func(t *testing.T) {
			src := strings.NewReplacer("X", operands[0], "Y", operands[1]).Replace(fastRules)
			if where == "variables" {
				src = ""
				for line := range strings.Lines(fastRules) {
					if head, body, isRule := strings.Cut(strings.TrimSpace(line), " if "); isRule {
						src += head + " if { some x in [input.x]; some y in [input.y]; " + body + " }\n"
					} else if head != "" {
						src += head + " if { some x in [input.x]; some y in [input.y] }\n"
					}
				}
				src = strings.NewReplacer("X", "x", "Y", "y").Replace(src)
			}
			var ys []string
			for i := 0; i < len(edges); i += 6 {
				ys = append(ys, edges[i])
			}
			if where == "input" && !underRace {
				ys = edges
			}
			checkEdges(t, mustBoth(t, "package t\nimport rego.v2\n"+src, data), ys)
		})
	}
	t.Run("constants", func(t *testing.T) {
		for _, y := range edges {
			src := "package t\nimport rego.v2\n"
			for line := range strings.Lines(strings.TrimSpace(fastRules) + "\n") {
				src += marker + strings.NewReplacer("X", "input.x", "Y", y).Replace(line)
			}
			src += marker + "last := 1\n"
			b, err := newBoth(src, data)
			for err != nil { // OPA knows the type to be wrong
				src = without(src, err)
				require.NotEmpty(t, src, err)
				b, err = newBoth(src, data)
			}
			checkEdges(t, b, []string{y})
		}
	})
}

// checkEdges asks both engines about all x, with all ys. Values have to be the same even
// where something failed.
func checkEdges(t *testing.T, b *both, ys []string) {
	for i, x := range edges {
		for j, y := range ys {
			in := fmt.Sprintf(`{"x": %s, "y": %s, "i": %d, "list": ["p", "q", "r"], "names": {"1": "one", "a": "A"}}`, x, y, i)
			require.True(t, json.Valid([]byte(in)), in)
			want := b.topdown(decoded(t, in))
			input := any(decoded(t, in))
			if (i+j)%2 == 0 {
				input = tree(decoded(t, in))
			}
			got := b.closures(input)
			require.False(t, got.panicked, "%s: %v", in, got)
			require.Equal(t, [2]any{want.value, want.failed}, [2]any{got.value, got.failed}, "%s as %T\n%v\n%v", in, input, want, got)
		}
	}
}
