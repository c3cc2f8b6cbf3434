package closures

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// policies writes random deny sets: every construct that a plan has, in each other.
type policies struct {
	r    *rand.Rand
	vars []string // in scope
	n    int
	loop int // depth of iterations, so that no evaluation explodes
}

func (g *policies) one(xs ...string) string { return xs[g.r.IntN(len(xs))] }

func (g *policies) chance(in int) bool { return g.r.IntN(in) == 0 }

func (g *policies) fresh() string {
	g.n++
	v := fmt.Sprintf("v%d", g.n)
	g.vars = append(g.vars, v)
	return v
}

// scoped runs f and forgets the variables that it made.
func (g *policies) scoped(f func() string) string {
	vars, loop := len(g.vars), g.loop
	s := f()
	g.vars, g.loop = g.vars[:vars], loop
	return s
}

func (g *policies) ref() string {
	if len(g.vars) > 0 && g.chance(3) {
		return g.vars[g.r.IntN(len(g.vars))] + g.one("", "", "", ".a", "[0]", ".x", "[input.n]")
	}
	return g.one(
		"input.a", "input.b", "input.c", "input.l", "input.o", "input.n", "input.o.x", "input.l[0]", "input.missing", "input.o[input.b]", "input.l[input.n]", `input["a"]`,
		"data.d.s", "data.d.l", "data.d.m", "data.d.n", "data.d.m[input.a]", "data.d.l[input.n]", "data.d.l[input.a]", "data.d.m[input.n]", "data.none", "data.d.deep[input.a].x",
		"h1", "h2", "hset", "hobj", "hdef", "href", "href.x", "href.y.z", "hobj[input.a]", "hset[input.a]", "href.x[input.a]", "helse", "hcon",
	)
}

func (g *policies) constant() string {
	return g.one(`"a"`, `"b"`, `"/p"`, `"1"`, `""`, "1", "2", "0", "1.0", "true", "false", "null", `[1, "a"]`, `{"x": 1}`, `{"a", "b"}`, "[]", "{}", "set()", `"2026-01-01T00:00:00Z"`, "1e2")
}

func (g *policies) call(d int) string {
	f := g.one("lower", "upper", "count", "to_number", "time.parse_rfc3339_ns", "f", "f", "fd", "fe", "abs", "json.marshal", "sum", "max", "type_name", "trim_space", "sort", "is_string", "is_number", "object.keys", "is_object")
	return f + "(" + g.term(d-1) + ")"
}

func (g *policies) call2(d int) string {
	switch g.r.IntN(8) {
	case 0:
		return "object.get(" + g.ref() + ", " + g.one(`"a"`, `"x"`, "input.a", `["x", "a"]`) + ", " + g.term(d-1) + ")"
	case 1:
		return "f2(" + g.term(d-1) + ", " + g.term(d-1) + ")"
	case 2:
		return "concat(\",\", " + g.ref() + ")"
	case 3:
		return "array.concat(" + g.ref() + ", " + g.ref() + ")"
	case 4:
		return "sprintf(\"%v\", [" + g.term(d-1) + "])"
	case 5:
		return "union({" + g.ref() + ", " + g.ref() + "})"
	case 6:
		return g.ref() + g.one(" | ", " & ", " - ") + g.ref()
	}
	return g.term(d-1) + g.one(" + ", " - ", " * ", " / ", " % ") + g.term(d-1)
}

func (g *policies) comprehension(d int) string {
	return g.scoped(func() string {
		if g.loop >= 3 {
			return g.constant()
		}
		g.loop++
		head := g.iteration()
		rest := ""
		for range g.r.IntN(3) {
			rest += "; " + g.condition(d-1)
		}
		switch g.r.IntN(3) {
		case 0:
			return "{" + g.term(0) + " | " + head + rest + "}"
		case 1:
			return "{" + g.one("k", g.ref(), `"k"`) + ": " + g.term(0) + " | some k in " + g.ref() + "; " + head + rest + "}"
		}
		return "[" + g.term(0) + " | " + head + rest + "]"
	})
}

// iteration gives new variables a value for each member of something.
func (g *policies) iteration() string {
	src := g.one(g.ref(), g.ref(), g.constant())
	g.loop++
	switch g.r.IntN(8) {
	case 0:
		return "some " + g.fresh() + ", " + g.fresh() + " in " + src
	case 1:
		return "some " + g.fresh() + "; x" + g.vars[len(g.vars)-1] + " := " + g.one("input.l", "input.o", "data.d.m", "data.d", "hset", "hobj", "href", "data.d.deep") + "[" + g.vars[len(g.vars)-1] + "]"
	case 2:
		return "walk(" + g.one("input.o", "input.l", "data.d.m", "input") + ", [" + g.fresh() + ", " + g.fresh() + "])"
	case 3:
		return "some [" + g.fresh() + ", " + g.one("_", `"a"`) + "] in " + src
	}
	return "some " + g.fresh() + " in " + src
}

func (g *policies) term(d int) string {
	switch x := g.r.IntN(20); {
	case x < 8 || d <= 0:
		return g.ref()
	case x < 11:
		return g.constant()
	case x < 13:
		return g.call(d)
	case x < 15:
		return g.call2(d)
	case x < 17:
		return g.comprehension(d)
	case x < 18:
		return `$"t {` + g.ref() + `} {` + g.ref() + `}"`
	case x < 19:
		return g.one(`{"k": `+g.term(d-1)+`, "a": 1}`, "["+g.term(d-1)+", "+g.ref()+"]", "{"+g.term(d-1)+`, "a"}`, "{"+g.ref()+": "+g.ref()+"}")
	}
	return g.ref()
}

func (g *policies) with() string {
	out := ""
	for range 1 + g.r.IntN(2) {
		switch g.r.IntN(8) {
		case 0, 1, 2:
			out += " with input." + g.one("a", "o.x", "zz", "l", "o") + " as " + g.one(`"a"`, "1", "input.b", "["+g.ref()+"]", g.ref())
		case 3:
			out += " with data.d." + g.one("s", "m", "l", "new.deep") + " as " + g.one(`"a"`, "input.b", `{"a": 2}`, g.ref())
		case 4:
			out += " with data.t." + g.one("h1", "h2", "hset", "helse") + " as " + g.one(`"a"`, "input.b", `{"a", "b"}`)
		case 5:
			out += " with " + g.one("f as fd", "lower as f", "f as input.a", `count as 7`, "to_number as f", `upper as "U"`, "fd as f")
		case 6:
			out += ` with input as {"a": "b", "l": ["a", ` + g.ref() + `]}`
		default:
			out += " with input.a as " + g.constant()
		}
	}
	return out
}

func (g *policies) condition(d int) string {
	switch x := g.r.IntN(24); {
	case x < 5:
		return g.term(1) + g.one(" == ", " != ", " > ", " <= ", " in ", " < ") + g.term(1)
	case x < 7:
		return g.one("startswith", "endswith", "contains") + "(" + g.term(1) + ", " + g.one(`"a"`, `"/"`, g.ref()) + ")"
	case x < 8:
		return `regex.match("` + g.one("^[a-b]+$", "a|b", "[", "p") + `", ` + g.ref() + ")"
	case x < 9:
		return g.ref()
	case x < 10:
		return "net.cidr_contains(" + g.one(`"10.0.0.0/8"`, "data.d.s") + ", " + g.ref() + ")"
	case x < 12 && d > 0:
		return "not " + g.one(g.ref(), "f("+g.ref()+")", g.ref()+" == "+g.ref(), g.ref()+" in "+g.ref(), "startswith("+g.ref()+`, "a")`)
	case x < 14 && d > 0:
		return g.scoped(func() string { return "not {\n" + g.body(d-1) + "\n}" })
	case x < 16 && g.loop < 3:
		return g.iteration()
	case x < 18 && d > 0 && g.loop < 3:
		return g.scoped(func() string {
			domain := g.term(0)
			g.loop++
			v := g.fresh()
			if g.chance(3) {
				v += ", " + g.fresh()
			}
			return "every " + v + " in " + domain + " {\n" + g.body(d-1) + "\n}"
		})
	case x < 20:
		return g.one(g.ref()+" == "+g.ref(), g.ref(), "f("+g.ref()+") == "+g.ref(), "not "+g.ref(), g.ref()+" in "+g.ref()) + g.with()
	case x < 21:
		t := g.one(g.ref(), "f("+g.ref()+")", g.ref()+" + 1", "lower("+g.ref()+")")
		return g.fresh() + " := " + t + g.with()
	case x < 22:
		return "[" + g.fresh() + ", " + g.fresh() + "] = " + g.one("input.l", "data.d.l", "[input.a, input.b]")
	}
	t := g.term(1)
	return g.fresh() + " := " + t
}

func (g *policies) body(d int) string {
	var lines []string
	for range 1 + g.r.IntN(3) {
		lines = append(lines, g.condition(d))
	}
	return strings.Join(lines, "\n")
}

// module returns one policy. Many don't compile: a variable is unsafe, or a type wrong.
func (g *policies) module() string {
	var s strings.Builder
	s.WriteString("package t\nimport " + g.one("rego.v2", "rego.v2", "future.keywords.not") + "\n")
	for range 1 + g.r.IntN(4) {
		g.vars, g.loop = nil, 0
		body := g.body(2)
		fmt.Fprintf(&s, "deny contains %s if {\n%s\n}\n", g.term(1), body)
	}
	if g.chance(6) { // many rules about one argument
		for i := range 6 {
			g.vars, g.loop = nil, 0
			fmt.Fprintf(&s, "deny contains \"eq%d\" if { input.%s == %s; %s }\n", i, g.one("a", "a", "a", "n"), g.constant(), g.condition(1))
		}
	}
	rule := func(head string) {
		g.vars, g.loop = nil, 1
		fmt.Fprintf(&s, head+"\n", g.helper("input.a", "input.o.x", "input.c", `"a"`, "data.d.s"), g.helperBody())
	}
	rule("h1 := %s if %s")
	rule("h2 := %s if %s")
	if g.chance(2) {
		s.WriteString("default h2 := \"dflt\"\n")
	}
	rule("hdef := %s if %s")
	s.WriteString("default hdef := false\n")
	rule("helse := %s if %s else := input.b if input.c else := 3")
	if g.chance(3) {
		rule("hcon := %s if %s")
	}
	rule("hcon := %s if %s")
	s.WriteString("hset contains x if { some x in input.l" + g.one("", "; x != 1", "; lower(x) != \"b\"", "; to_number(x) > 0") + " }\n")
	s.WriteString("hobj[k] := v if { some k, v in " + g.one("input.o", "input.l", "data.d.m") + g.one("", "; v != 1") + " }\n")
	if g.chance(3) {
		s.WriteString("hobj[k] := 1 if some k in input.l\n")
	}
	s.WriteString("href.x[k] := v if some k, v in " + g.one("input.o", "data.d.m") + "\nhref.y.z contains v if some v in input.l\nhref.w := input.a\n")
	s.WriteString("f(x) := y if { is_number(x); y := x * 2 } else := \"s\" if is_string(x)\n")
	s.WriteString("default fd(_) := \"none\"\nfd(x) := lower(x) if x != \"a\"\n")
	s.WriteString("fe(x) := " + g.one("h1", "x", `"a"`) + " if x == input.a\nfe(\"b\") := 2\nf2(x, [y, z]) := [y, x]\nf2(x, y) := " + g.one("x", "y") + " if y == 1\n")
	return s.String()
}

func (g *policies) helper(xs ...string) string { return g.one(xs...) }

func (g *policies) helperBody() string {
	return g.one("input.a", "input.b", "input.c") + g.one(" == ", " != ", " in ") + g.one(`"a"`, "1", "input.b", "input.l", "data.d.l", "data.d.s")
}

// inputs are what the policies are asked about.
var inputValues = []any{
	nil, true, false, "a", "b", "/p", "A", "", "1", "0", "x", "10.1.2.3", json.Number("1"), json.Number("2"), json.Number("1.0"), json.Number("0"), json.Number("-3"), json.Number("1e2"), json.Number("0.1"), json.Number("123456789012345678901"),
	[]any{"a", json.Number("1")}, []any{}, []any{"a", "b"}, []any{json.Number("1"), json.Number("1.0")}, map[string]any{"x": "a"}, map[string]any{"a": json.Number("1"), "b": "b"}, map[string]any{},
	[]any{map[string]any{"a": "a"}, map[string]any{"a": "b"}}, map[string]any{"x": map[string]any{"a": []any{"a"}}}, "2026-01-01T00:00:00Z", []any{"b", "a", nil, false},
}

func randomInput(r *rand.Rand) map[string]any {
	in := map[string]any{}
	for _, k := range []string{"a", "b", "c", "l", "o", "n"} {
		if r.IntN(7) > 0 {
			in[k] = inputValues[r.IntN(len(inputValues))]
		}
	}
	if r.IntN(2) == 0 {
		in["l"] = []any{"a", "b", "1", json.Number("1")}[:r.IntN(5)]
	}
	if r.IntN(2) == 0 {
		in["n"] = json.Number([]string{"0", "1", "1.0", "2"}[r.IntN(4)])
	}
	return in
}

const fuzzData = `{"d": {"s": "a", "l": ["a", "b", 1], "m": {"a": 1, "b": "x", "1": "one"}, "n": 2, "deep": {"a": {"x": 1, "1": "y"}, "b": {"x": [1]}}}}`
