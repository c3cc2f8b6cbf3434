package closures

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// decoded decodes JSON as strictjson does: numbers keep their literals.
func decoded(t testing.TB, s string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var m map[string]any
	require.NoError(t, d.Decode(&m))
	return m
}

const trapData = `{"d": {"s": "a", "l": ["a", "b", 1], "m": {"a": 1, "b": "x", "1": "one", "2": {"1": "deep"}}, "n": 2, "nets": ["10.0.0.0/8", "fd00::/8"]}}`

var trapInputs = []string{
	`{}`,
	`{"a": "a", "b": "b", "l": ["a", "b"], "o": {"x": "a", "y": {"z": 1}}, "n": 1}`,
	`{"a": "x", "l": [{"n": "first", "tags": ["ok"]}, {"n": "second", "tags": ["bad"]}], "n": 1.0}`,
	`{"a": 1, "b": 2, "l": {"z": 1, "a": 2, "m": 3}, "o": [1, 2, 3], "n": 1e0}`,
	`{"a": null, "b": false, "l": "text", "o": {"1": "one"}, "n": "1", "ip": "10.1.2.3"}`,
	`{"a": "1", "b": true, "l": [], "o": {}, "n": 12345678901234567890, "ip": "fd00::1"}`,
	`{"a": "2026-01-01T00:00:00Z", "b": "bad", "l": [[1, "a"], [2, "b"]], "n": 0.1, "ip": "10.0.0.0/16"}`,
	`{"a": "a", "b": "a", "l": [], "n": 2}`,
	`{"a": {"b": {"c": 1}}, "b": ["a"], "l": ["b", "a", "b", 1, 1.0, null, false], "n": -0}`,
}

// The traps of compiled plans, by what would go wrong in one. Each says what topdown
// says, for each of trapInputs.
var traps = map[string]string{
	"a marker of not is left from another iteration": `deny contains x.n if { some x in input.l; not { some t in x.tags; t == "ok" } }`,
	"a marker of not is left from another rule":      "deny contains \"a\" if { input.a == \"a\"; input.b == \"c\" }\ndeny contains \"none\" if not { some t in input.l; t == \"zz\" }",
	"a marker of not inside of every":                `deny contains "x" if every x in input.l { not { some t in x.tags; t == "ok" } }`,
	"not is decided, and a later solution fails":     "deny contains \"x\" if not { some x in input.l; to_number(x) > 0 }\ndeny contains \"y\" if { input.a; not { walk(input.l, [p, v]); not { some i in p; v == to_number(input.b) } } }",
	"another name for a part of the input":           "args := input.o\nn := input.n\nd := data.d.m\ndeny contains args.x\ndeny contains y if { y := args.x with input.o as {\"x\": \"w\"} }\ndeny contains d[n]\ndeny contains d[input.a]\ndeny contains \"no\" if not args.x == \"a\"",
	"not over rules by name":                         "r.x[k] := v if some k, v in input.o\nr.y contains v if some v in input.l\nr.w := input.a\ndeny contains \"none\" if { not { some v in r } }\ndeny contains \"no a\" if not { some v in r; v == \"a\" }",
	"an iteration goes on after every is decided":    `deny contains "x" if { every x in input.l { to_number(x) > 0 } }`,
	"functions are no members of a package":          "deny contains [1 | some v in data.u]\ndeny contains {k: v | some k, v in data.u}\ndeny contains data.u\ndeny contains data.v\ndeny contains \"u\" if not { some v in data.u }\ndeny contains \"g\" if not data.u[input.a]\ndeny contains [k | data.v[k]]\ndeny contains [p | walk(data.v, [p, _])]" + nextModule + "package u\nimport rego.v2\ng(x) := {x}\na(x, y) := [x, y]" + nextModule + "package v\nimport rego.v2\ng(x) if x == input.a\nh := input.a",
	"a pattern that the call gives":                  "deny contains \"x\" if regex.match(input.a, \"a\")\ndeny contains regex.replace(\"abc\", input.b, \"y\")\ndeny contains g if some g in [x | some x in input.l; glob.match(x, [], input.a)]",
	"a failed built-in is not false":                 "deny contains \"x\" if not startswith(input.a, 1)\ndeny contains \"y\" if { startswith(input.n, \"1\") }",
	"a failed built-in in a helper":                  "f(x) if to_number(x) > 0\ndeny contains \"x\" if not f(input.a)",
	"a failed built-in after a condition that fails": `deny contains "x" if { input.a == "zz"; to_number("bad") > 1 }`,
	"an operand of another type":                     `deny contains "x" if { count(input.a) > 0 }`,
	"1.0 is an index":                                `deny contains "x" if input.l[input.n] == "b"`,
	"numbers keep their literals":                    `deny contains $"{input.n}"`,
	"numbers compare by value":                       `deny contains "x" if input.n == 1`,
	"a large number":                                 `deny contains input.n + 1`,
	"sets and objects are visited in order":          `deny contains [[k, v] | some k, v in input.l]`,
	"a number names a member of data":                "deny contains data.d.m[1]\ndeny contains data.d.m[input.n]",
	"a number names a member below a name":           `deny contains data.d.m[input.o.y.z]`,
	"a number names a member of a variable's":        `deny contains v if { m := data.d.m; v := m[input.n] }`,
	"a text names an element of data":                "deny contains data.d.l[input.a]\ndeny contains data.d.l[\"1\"]",
	"a number below a variable name of data":         `deny contains v if { some k; v := data.d[k][input.n] }`,
	"with replaces what was read before":             `deny contains "x" if { x := input.a; x == "q" with input.a as "q" }`,
	"with replaces what is read after":               `deny contains "x" if { input.a == "a"; input.a == "q" with input.a as "q"; input.a == "a" }`,
	"with replaces what a rule remembers":            "h := input.a\ndeny contains \"x\" if { h; h == \"q\" with input.a as \"q\"; h == input.a }",
	"with replaces data":                             "h := data.d.s\ndeny contains \"x\" if { h == \"a\"; h == \"q\" with data.d.s as \"q\"; data.d.s == \"a\" }",
	"with replaces data and input":                   "h := [data.d.s, input.a]\ndeny contains y if { y := h with data.d.s as \"q\" with input.a as \"r\" }",
	"with replaces all of the input":                 `deny contains y if { y := [input.a, input.z] with input as {"a": 1, "z": 2} }`,
	"with inside of with":                            "h := y if { y := input.a with input.a as \"r\" }\ndeny contains y if { y := [h, input.a] with input.a as \"q\" }",
	"with in an iteration":                           `deny contains y if { some x in input.l; y := [input.a, x] with input.a as x }`,
	"with makes what isn't there":                    `deny contains y if { y := input with input.p.q as 1 }`,
	"with under what is no object":                   `deny contains y if { y := input.a with input.a.b as 1 }`,
	"with replaces a function":                       "f(x) := lower(x)\ng(x) := \"g\"\ndeny contains y if { y := f(input.a) with f as g }\ndeny contains f(input.a)",
	"with replaces a built-in":                       "g(x) := \"g\"\ndeny contains y if { y := lower(input.a) with lower as g; lower(\"A\") == \"a\" }",
	"with replaces a function by a value":            "f(x) := lower(x)\ndeny contains y if { y := f(input.n) with f as input.a }",
	"with replaces a function in a helper":           "h := lower(input.a)\ndeny contains [x, y] if { x := h; y := h with lower as \"q\" }",
	"a rule remembers that it is undefined":          "h := input.zz\ndeny contains \"x\" if { not h; not h }",
	"locals are used again between rule bodies":      "deny contains x if { x := input.a }\ndeny contains x if { x := input.b; x != input.a }\ndeny contains x if { some x in input.l; x != input.a }",
	"a constant is not changed":                      "s := {\"a\", \"b\"}\ndeny contains s | {input.a}\ndeny contains s",
	"a collection that is made is not shared":        "deny contains y if { some x in input.l; y := [x, {\"k\": x}, {x}] }",
	"a message is undefined":                         `deny contains input.zz if input.a`,
	"membership in decoded JSON":                     "deny contains \"x\" if input.n in input.l\ndeny contains \"y\" if not input.a in input.l\ndeny contains \"z\" if input.a in data.d.l",
	"membership in data of one type":                 `deny contains "x" if not input.a in ["a", "b"]`,
	"a partial object with two values for one key":   "o[\"k\"] := v if some v in input.l\ndeny contains o.k",
	"a rule with a longer name":                      "o.x[k] := v if some k, v in input.l\no.y contains input.a\ndeny contains o",
	"a complete rule with two values":                "h := input.a\nh := input.b\ndeny contains h",
	"else in order":                                  "h := 1 if input.a == \"a\" else := 2 if input.b == 2 else := 3 if input.l\ndeny contains h",
	"a default":                                      "default h := \"d\"\nh := input.a if input.b == \"b\"\ndeny contains h",
	"walk":                                           `deny contains [p, x] if walk(input, [p, x])`,
	"walk over a part":                               `deny contains p if { walk(input.o, [p, x]); x == 1 }`,
	"times are read once":                            "deny contains time.parse_rfc3339_ns(input.a)\ndeny contains \"y\" if time.parse_rfc3339_ns(input.a) > 5",
	"a time that is none":                            `deny contains "x" if not time.parse_rfc3339_ns(input.b) > 5`,
	"networks":                                       "deny contains n if { some n in data.d.nets; net.cidr_contains(n, input.ip) }",
	"a pattern that is none":                         `deny contains "x" if not regex.match("[", input.a)`,
	"object.get":                                     "deny contains object.get(input, \"a\", \"no\")\ndeny contains object.get(input.o, [\"y\", \"z\"], \"no\")\ndeny contains object.get(data.d.m, \"b\", input.zz)",
	"parts of a template":                            `deny contains $"{input.a} {input.zz} {input.l}"`,
	"and, or":                                        "deny contains \"x\" if { input.a == \"a\" }\ndeny contains \"y\" if { some x in input.l; x == \"b\" }",
	"unification of arrays and objects":              "deny contains [x, y] if { some e in input.l; [x, y] = e }\ndeny contains z if { {\"z\": z} = input.o.y }",
	"constants choose the rule":                      "deny contains \"1\" if input.a == \"a\"\ndeny contains \"2\" if input.a == \"x\"\ndeny contains \"3\" if { input.a == \"a\"; input.b == \"b\" }\ndeny contains \"4\" if input.a == 1\ndeny contains \"5\" if input.b == 2\ndeny contains \"6\" if input.a == \"1\"",
	"numbers choose the rule":                        "deny contains \"1\" if input.n == 1\ndeny contains \"2\" if input.n == 2\ndeny contains \"3\" if input.n == 1.0\ndeny contains \"4\" if input.n == 0\ndeny contains \"5\" if input.n == \"1\"",
	"a set of variables with one element twice":      "deny contains \"e\" if {input.a, \"a\", \"b\"} == {\"a\", \"b\"}\ndeny contains count({input.a, \"a\", input.b, \"b\"})\ndeny contains $\"{({input.a, input.b, \"a\"})}\"\ndeny contains {input.a, \"a\", input.b}\ns := {input.a, \"a\", input.b}\ndeny contains count(s)\ndeny contains [s]\ndeny contains \"m\" if input.b in s\ndeny contains \"c\" if s == {\"a\", \"b\"}\ndeny contains json.marshal(s)\ndeny contains s & {\"a\"}\ndeny contains \"t\" if s == {input.b, input.a}",
	"a look-up in a set of variables":                "deny contains \"x\" if { s := {\"z\", input.a, input.b}; s[\"a\"] }",
	"an iteration over a set of variables":           "deny contains x if some x in {\"z\", input.a, \"m\", input.b}\ndeny contains [\"f\", x] if { s := {input.a, \"m\"}; some x in s; some y in s; x != y }\ndeny contains {x | some x in {input.a, input.b, \"a\"}}\ndeny contains {x: y | some x in {input.a, \"a\"}; some y in {input.b}}\nf(s) := {[x] | some x in s}\ndeny contains f({input.a, input.n})\ng := {input.a, input.n}\ndeny contains x if some x in g\ndeny contains \"n\" if not { some x in {input.a, input.n}; x == 1 }\ndeny contains x if { some s in [{input.a, \"a\"}]; some x in s }\ndeny contains [x | some x in input.l; some y in {x | some x in {input.a, input.n}}; x == y]",
	"a comprehension of an outer variable":           `deny contains [x, ys] if { some x in input.l; ys := {y | some y in input.l; y != x} }`,
	"type tests":                                     "deny contains \"o\" if is_object(input.o)\ndeny contains \"a\" if is_array(input.l)\ndeny contains \"n\" if is_null(input.a)\ndeny contains \"s\" if is_string(data.d.s)\ndeny contains \"t\" if is_set({input.a})\ndeny contains \"b\" if is_boolean(input.b)",
}

func TestTraps(t *testing.T) {
	data := decoded(t, trapData)
	for name, rules := range traps {
		t.Run(name, func(t *testing.T) {
			src := "package t\nimport rego.v2\n" + rules
			b := mustBoth(t, src, data)
			for _, in := range trapInputs {
				want := b.topdown(decoded(t, in))
				for form, input := range map[string]any{"JSON": decoded(t, in), "a document": tree(decoded(t, in))} {
					got := b.closures(input)
					require.Equal(t, [2]any{want.value, want.failed}, [2]any{got.value, got.failed}, "%s\ninput %s as %s\ntopdown  %v\nclosures %v", src, in, form, want, got)
				}
			}
		})
	}
}

// unsureRules are policies about which the evaluation isn't sure for some inputs, or sees
// more that fails than topdown does, so that topdown is asked: for some of trapInputs.
var unsureRules = map[string]string{
	"an object of variables with one key twice":                    "deny contains {\"a\": 1, input.a: 2, input.b: 3}\no := {\"a\": 1, input.a: 2, input.b: 3}\ndeny contains o\ndeny contains o[\"a\"]\ndeny contains o[input.a]\ndeny contains count(o)\ndeny contains json.marshal(o)\ndeny contains \"e\" if o == {\"a\": 2, \"b\": 3}\ndeny contains \"f\" if o.a == 1",
	"a look-up in an object of variables":                          "deny contains y if { s := {\"z\": 1, input.a: 2, input.b: 3}; y := s[\"a\"] }",
	"an object of variables":                                       "deny contains y if { y := {\"z\": 1, input.a: 2, input.b: 3} }",
	"every over an object of variables":                            "deny contains \"x\" if { every k, x in {input.n: 1, \"1\": input.a} { to_number(k) > 0; x != 1 } }",
	"every over a set of variables":                                "deny contains \"x\" if { every x in {input.n, input.a, \"1\"} { to_number(x) > 0 } }\ndeny contains \"y\" if { every x in {\"zz\", input.n, \"1\"} { to_number(x) > 1 } }\ndeny contains \"z\" if { every x in {input.b, \"a\"} { x != \"a\"; lower(x) != \"q\" } }",
	"equal numbers are one element":                                `deny contains [x | some x in {1, 1.0, input.n}]`,
	"members of a set in order":                                    `deny contains [x | some x in {"z", input.a, "m", "a", input.b}]`,
	"a set of variables as an argument":                            "f(s) := [x | some x in s]\ndeny contains f({\"z\", input.a, \"m\", \"a\", input.b})",
	"a set of variables from a rule":                               "s := {\"z\", input.a, \"m\", \"a\", input.b}\ndeny contains [x | some x in s]",
	"a set of variables from a function":                           "f(y) := {\"z\", input.a, \"m\", y, input.b}\ndeny contains [x | some x in f(\"a\")]",
	"a complete rule with a number in two ways":                    "h := input.n\nh := 1\nf(x) := x\nf(x) := 1.0 if x == 1\ndeny contains $\"{h}\"\ndeny contains $\"f {f(input.n)}\"",
	"a member with a number in two ways":                           "o[input.b] := input.n\no.a := 1\nq[input.n] := 1\nq[1] := 1\ndeny contains [x | some x in o]\ndeny contains [x | some x, _ in q]",
	"a key of a partial rule that is written in another way":       "o[k] := v if some k, v in input.l\nr.x[k] := sprintf(\"%v\", [k]) if some k in input.l\ns contains [x, 1] if some x in input.l\ndeny contains o[input.n]\ndeny contains r.x[input.n]\ndeny contains \"y\" if s[[input.n, 1]]",
	"a partial object":                                             "o[k] := v if some k, v in input.l\ndeny contains o\ndeny contains o[input.n]",
	"one element of a partial set":                                 "s contains x if some x in input.l\ndeny contains \"x\" if s[input.a]\ndeny contains \"y\" if not s[input.n]",
	"with replaces a part of data that is read from above":         "deny contains y if { input.a == \"a\"; y := data.d with data.d.m as {\"a\": 2} }\ndeny contains y if { input.n == 1; y := data.d with data.d.m as 1 }\ndeny contains y if { y := data.d.m.a with data.d.m as input.o }\ndeny contains y if { input.n == 1.0; y := data.d with data.d.m as 1 with data.d.m as {\"z\": 1} }",
	"a number is a key of a partial rule over data and of its own": "o[k] := v if some k, v in data.d.m\no[k] := 1 if some k in input.l\ndeny contains \"x\" if o[input.n]\ndeny contains \"y\" if not o[input.a]\ndeny contains o[input.l[0]]",
	"a number is a key of a rule with a longer name over data":     "r.x[k] := v if some k, v in data.d.m\nr.x[k] := 1 if some k in input.l\ndeny contains \"x\" if r.x[input.n]",
	"a number is a key of a nested rule over data":                 "r[k][j] := v if { some k, x in data.d.m; some j, v in x }\nr[k].z := 1 if some k in input.l\ndeny contains r[input.n]\ndeny contains r[input.n][input.b]",
	"a number is a key of a partial set over data":                 "s contains k if some k, _ in data.d.m\nr contains k if data.d.m[k]\ndeny contains \"x\" if s[input.n]\ndeny contains \"y\" if not r[input.n]\ndeny contains \"z\" if r[input.a]",
}

func TestUnsureIsSaid(t *testing.T) {
	data := decoded(t, trapData)
	for name, rules := range unsureRules {
		t.Run(name, func(t *testing.T) {
			b, unsure := mustBoth(t, "package t\nimport rego.v2\n"+rules, data), 0
			for _, in := range trapInputs {
				want, got := b.topdown(decoded(t, in)), b.closures(decoded(t, in))
				require.False(t, got.panicked, in)
				if got.failed && !want.failed {
					unsure++
					continue
				}
				require.Equal(t, [2]any{want.value, want.failed}, [2]any{got.value, got.failed}, "%s\ninput %s\ntopdown  %v\nclosures %v", rules, in, want, got)
			}
			require.Positive(t, unsure)
			require.Less(t, unsure, len(trapInputs))
		})
	}
}

// endless would take 10^9 iterations.
const endless = "package t\nimport rego.v2\nl := numbers.range(1, 1000)\ndeny contains \"x\" if { some a in l; some b in l; some c in l; a + b + c < 0 }"

func TestBudgetEndsAnEvaluation(t *testing.T) {
	b := mustBoth(t, endless, nil)
	for range 3 {
		r := b.program.Eval(context.Background(), map[string]any{}, Options{Steps: 100_000})
		require.ErrorIs(t, r.Err, ErrBudget)
		require.Nil(t, r.Value)
		require.False(t, r.Clean())
	}
}

func TestDeadlineEndsAnEvaluation(t *testing.T) {
	b := mustBoth(t, endless, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	r := b.program.Eval(ctx, map[string]any{}, Options{})
	require.ErrorIs(t, r.Err, context.DeadlineExceeded)
}

func TestErrorsAreBounded(t *testing.T) {
	b := mustBoth(t, "package t\nimport rego.v2\ndeny contains x if { some x in numbers.range(1, 5000); to_number(sprintf(\"x%d\", [x])) > 0 }", nil)
	r := b.program.Eval(context.Background(), map[string]any{}, Options{})
	require.ErrorIs(t, r.Err, ErrTooMany)
	require.Len(t, r.Errors, maxErrors)
	r = b.program.Eval(context.Background(), map[string]any{}, Options{FirstError: true})
	require.Error(t, r.Err)
	require.Len(t, r.Errors, 1)
}

// panicking panics when it is read.
type panicking struct{}

func (panicking) Member(string) (any, bool) { panic("a value of the call") }
func (panicking) Whole() map[string]any     { panic("a value of the call") }

func TestPanicsEndAnEvaluation(t *testing.T) {
	b := mustBoth(t, "package t\nimport rego.v2\ndeny contains \"x\" if input.a", nil)
	r := b.program.Eval(context.Background(), panicking{}, Options{})
	require.EqualError(t, r.Err, "the evaluation panicked: string")
	require.False(t, r.Clean())
	r = b.program.Eval(context.Background(), map[string]any{"a": "b"}, Options{})
	require.True(t, r.Clean())
}

// unsupportedRules are left to topdown.
var unsupportedRules = map[string]string{
	"with replaces input after a function":               "f(x) := x\ng(x) := 1\ndeny contains y if { y := [f(1), input.a] with f as g with input.a as 2 }",
	"a comprehension as a condition":                     "deny contains \"x\" if {x | x := to_number(input.a)}",
	"a comprehension of an outer variable that may fail": "deny contains [x, ys] if { some x in input.l; ys := [y | some y in input.o; y.k == x; to_number(y.n) > 0] }",
	"the planner":                          `deny contains "x" if { {"a": 1} = {k: v | some k, v in input.l} }`,
	"http.send":                            `deny contains x if x := http.send({"method": "get", "url": input.u})`,
	"members of a set in a list, in order": "deny contains [x | some s in [{\"z\", input.a}]; some x in s]",
	"an object with a variable as a key as an argument": "f(s) := [x | some k, v in s; x := [k, v]]\ndeny contains f({\"z\": 1, input.a: 2, \"a\": 3, input.b: 4})",
}

// Found by fuzzing: the plan of the older `not` goes on to its end after an iteration,
// and so says that the negated reference holds whatever it found (docs/adr/0021).
func TestPlannerOldNot(t *testing.T) {
	for rule, supported := range map[string]bool{
		`deny contains "x" if not data.d[input.b]`:                                  false,
		`deny contains "x" if { not data.d[input.b] with input.c as 1 }`:            false,
		`deny contains "x" if not data.d.virt[input.b]`:                             false,
		`deny contains "x" if not data.d.virt.v1`:                                   true,
		`deny contains "x" if not 1 == data.d.virt[input.b]`:                        false,
		`deny contains "x" if not data.d.virt[input.b] == "a"`:                      false,
		`deny contains "x" if not data.d.virt.v1 == "a"`:                            true,
		`deny contains "x" if not startswith(data.d.virt[input.b], "a")`:            true,
		`deny contains "x" if not data.d.virt.v1[input.b] == "a"`:                   true,
		`deny contains "x" if not data.d.s`:                                         true,
		`deny contains "x" if not count([x | some x in input.l; x == "a"]) > 5`:     true,
		`deny contains "x" if not "a" in {x | some x in input.l} with input.l as 1`: true,
	} {
		b, err := newBoth("package t\nimport rego.v1\n"+rule+nextModule+"package d.virt\nimport rego.v1\nv1 := input.a", decoded(t, trapData))
		if !supported {
			require.ErrorContains(t, err, "`not` of the older kind", rule)
			continue
		}
		require.NoError(t, err, rule)
		for _, in := range trapInputs {
			require.Equal(t, b.topdown(decoded(t, in)), b.closures(decoded(t, in)), "%s %s", rule, in)
		}
	}
}

func TestUnsupportedIsSaidBeforeAnyEvaluation(t *testing.T) {
	for what, rules := range unsupportedRules {
		_, err := newBoth("package t\nimport rego.v2\n"+rules, nil)
		var u *UnsupportedError
		require.ErrorAs(t, err, &u, what)
	}
}
