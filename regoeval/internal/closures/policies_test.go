package closures

import (
	"fmt"
	"math/rand/v2"
	"regexp"
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
		"hdeep", "hdeep[input.a]", "hdeep[input.a][input.n]", "hdeep.x[input.n]", "hdyn", "hdyn[input.b]", "hsets", "hsets[input.a]", "hsets.x[input.b]", "hlit", "hlit2[input.a]", "hnull", "hbool", "hobj[input.n]", "hset[input.n]", "href.x[input.n]",
		"data.d", "data.d.virt.v1", "data.d.virt", "data.d.virt.m[input.a]", "data.d.virt[input.a]", "data.u", "data.u[input.a]", "data.u.s", "data.u.deep.er", "data.u.m[input.n]", "data.u.m", "data.d[input.b]",
		"input", "input[input.b]", "input.o[input.a][input.n]", "input.l[_]", "input.o[_]", "data.d.m[_]", "input.x",
	)
}

func (g *policies) constant() string {
	return g.one(`"a"`, `"b"`, `"/p"`, `"1"`, `""`, "1", "2", "0", "1.0", "true", "false", "null", `[1, "a"]`, `{"x": 1}`, `{"a", "b"}`, "[]", "{}", "set()", `"2026-01-01T00:00:00Z"`, "1e2",
		"-0", "0.0", "100", "9007199254740993", "18446744073709551616", "1e-7", "0.1", "-1", "1E2", "999999999999999999", "1000000000000000000", "[null, false]", `{"1": 1, "b": [2]}`, `{1, 1.0, "1"}`, `{1: "n", "1": "s"}`, "[1.0, 1]",
		`"\u0130"`, `"stra\u00dfe"`, `"\u017f"`, `"\u212a"`, `"e\u0301"`, `"😀a"`, `"\u0000"`, `"a b"`, `"a.b"`, `"10MB"`, `"1.5Gi"`, `"1h"`)
}

// literal is a set or an object with variables in it.
func (g *policies) literal() string {
	return g.one(
		"{"+g.ref()+", "+g.constant()+", "+g.ref()+"}", "{"+g.constant()+", "+g.ref()+"}", "{"+g.ref()+", "+g.ref()+"}", "[{"+g.ref()+", "+g.ref()+"}, "+g.ref()+"]",
		"{"+g.ref()+": "+g.ref()+`, "a": 1}`, "{"+g.ref()+": 1, "+g.ref()+": 2}", "{["+g.ref()+"], {"+g.ref()+", 1}}", `{"a": {`+g.ref()+", 1}}",
	)
}

func (g *policies) comprehension(d int) string {
	d = max(d, 0)
	return g.scoped(func() string {
		if g.loop >= 3 {
			return g.constant()
		}
		g.loop++
		vars := len(g.vars)
		head := g.iteration()
		rest := ""
		for range g.r.IntN(3) {
			rest += "; " + g.condition(d-1)
		}
		term := g.term(g.r.IntN(d + 1))
		rest = strings.TrimPrefix(g.used(term+" | "+head+rest, "; ", vars), term)
		switch g.r.IntN(3) {
		case 0:
			return "{" + term + rest + "}"
		case 1:
			return "{" + g.one("k", "k", g.ref(), `"k"`) + ": " + term + " | some k in " + g.ref() + "; type_name(k); " + strings.TrimPrefix(rest, " | ") + "}"
		}
		return "[" + term + rest + "]"
	})
}

// iteration gives new variables a value for each member of something.
func (g *policies) iteration() string {
	src := g.one(g.ref(), g.ref(), g.ref(), g.constant(), g.literal())
	g.loop++
	switch g.r.IntN(10) {
	case 4:
		return "some " + g.one(`{"a": `+g.fresh()+`}`, `{"x": [`+g.fresh()+", _]}", "["+g.fresh()+", "+g.fresh()+"]", `"a", `+g.fresh(), "1, "+g.fresh(), g.fresh()+", {"+`"a": `+g.fresh()+"}") + " in " + src
	case 5:
		return "some " + g.fresh() + " in " + g.one("hlit", "flit("+g.ref()+")", "farr("+g.ref()+")", "hsets[input.a]", "hdeep", "hsets", "data.u", "data.d.virt", "input[_]")
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
		return g.one(`{"k": `+g.term(d-1)+`, "a": 1}`, "["+g.term(d-1)+", "+g.ref()+"]", "{"+g.term(d-1)+`, "a"}`, "{"+g.ref()+": "+g.ref()+"}", g.literal())
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
			out += " with data." + g.one("d.s", "d.m", "d.l", "d.new.deep", "u.s", "u.m", "u", "d.virt.v1", "d.deep.a", "none", "d") + " as " + g.one(`"a"`, "input.b", `{"a": 2}`, g.ref())
		case 4:
			out += " with data.t." + g.one("h1", "h2", "hset", "helse", "hobj", "hdeep", "href.x", "hlit") + " as " + g.one(`"a"`, "input.b", `{"a", "b"}`)
		case 5:
			out += " with " + g.one("f as fd", "lower as f", "f as input.a", `count as 7`, "to_number as f", `upper as "U"`, "fd as f", "f as lower", "farr as flit", "f as count", "f2 as concat", "data.u.g as f", "startswith as f2", "f as {input.a, 1}", "time.parse_rfc3339_ns as count")
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
	case x < 17 && g.chance(2):
		return g.one(`{"a": `+g.fresh()+"} = "+g.ref(), `{"x": {"a": [`+g.fresh()+"]}} = "+g.ref(), `["a", `+g.fresh()+"] = "+g.ref(), "["+g.fresh()+", {"+`"b": `+g.fresh()+"}] = ["+g.ref()+", "+g.ref()+"]")
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
	vars := len(g.vars)
	for range 1 + g.r.IntN(3) {
		lines = append(lines, g.condition(d))
	}
	return g.used(strings.Join(lines, "\n"), "\n", vars)
}

var name = regexp.MustCompile(`\bx?v[0-9]+\b`)

// used uses the new variables of a body that nothing uses: OPA refuses such a body.
func (g *policies) used(body, separator string, before int) string {
	count := map[string]int{}
	for _, v := range name.FindAllString(body, -1) {
		count[v]++
	}
	for _, v := range g.vars[before:] {
		for _, v := range []string{v, "x" + v} {
			if count[v] == 1 {
				body += separator + "type_name(" + v + ")"
			}
		}
	}
	return body
}

// module returns one policy. Many don't compile: a variable is unsafe, or a type wrong.
func (g *policies) module() string {
	var s strings.Builder
	s.WriteString("package t\nimport " + g.one("rego.v2", "rego.v2", "rego.v2", "future.keywords.not", "rego.v1") + "\n")
	for range 1 + g.r.IntN(4) {
		g.vars, g.loop = nil, 0
		body := g.body(2)
		fmt.Fprintf(&s, marker+"deny contains %s if {\n%s\n}\n", g.term(1), body)
	}
	if g.chance(6) { // many rules about one argument
		for i := range 6 {
			g.vars, g.loop = nil, 0
			fmt.Fprintf(&s, marker+"deny contains \"eq%d\" if { input.%s == %s; %s }\n", i, g.one("a", "a", "a", "n"), g.constant(), g.condition(1))
		}
	}
	s.WriteString(marker)
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
	s.WriteString(g.one("hdeep[k][j] := v if { some k, x in input.o; some j, v in x }", "hdeep[k][j] := v if { some k, x in data.d.deep; some j, v in x }", "hdeep[k][j] := v if { some k, _ in data.d.m; some j, v in input.l }", "hdeep[input.a].x := input.b") + "\n")
	s.WriteString(g.one("", "", "hdeep[k].z := 1 if some k in input.l\n", "hdeep.x.y := input.c\n", "hdeep.x[k] := 2 if some k in input.l\n"))
	s.WriteString("hdyn[input.b] := input.a\n" + g.one("", "hdyn[k] := v if some k, v in data.d.m\n", "hdyn.a := 1\n"))
	s.WriteString("hsets[k] contains v if { some k, x in " + g.one("input.o", "data.d.deep", "data.d") + "; some v in x }\n" + g.one("", "hsets[input.a] contains 1\n", "hsets.x contains x if some x in input.l\n"))
	rule("hnull := %s if %s else := null")
	rule("hbool if %[2]s")
	g.vars, g.loop = nil, 1
	s.WriteString("hlit := " + g.one("{input.b, \"a\"}", "{input.c, input.b}", "{data.d.s, input.a, 1}", "{[input.a], {\"b\": input.b}}", "{input.a: 1, input.b: 2}") + "\nflit(x) := {x, \"a\", input.n}\nfarr(xs) := [[x] | some x in xs]\nfset(xs) := {x | some x in xs; x != 1}\nfraise(x) := to_number(x)\n")
	s.WriteString("hlit2 := {input.a: 1, \"b\": input.b}\nfo({\"a\": x}) := x\nfo({\"x\": [y, _]}) := y\nfpat([x, [y]]) := [y, x]\nfpat(\"a\") := 1\nf3(x, y, z) := \"1\" if x == y else := z if y else := x\n")
	s.WriteString("f(x) := y if { is_number(x); y := x * 2 } else := \"s\" if is_string(x)\n")
	s.WriteString("default fd(_) := \"none\"\nfd(x) := lower(x) if x != \"a\"\n")
	s.WriteString("fe(x) := " + g.one("h1", "x", `"a"`) + " if x == input.a\nfe(\"b\") := 2\nf2(x, [y, z]) := [y, x]\nf2(x, y) := " + g.one("x", "y") + " if y == 1\n")
	deny, helpers, _ := strings.Cut(s.String()+"\n", marker+"h1 ")
	return needed(deny+marker, "h1 "+helpers, map[string]string{
		"data.d.virt": "package d.virt\nimport rego.v1\nv1 := input.a\nm[k] := v if some k, v in " + g.one("input.o", "data.d.m", "input.l") + "\n",
		"data.u":      "package u\nimport rego.v1\ns := data.t.h1\nm[k] := v if { some k, v in " + g.one("input.l", "data.d.m", "data.d.l") + g.one("", "; is_number(k)", "; v != 1") + " }\nm[k] := 1 if some k in input.l\ndeep.er contains data.t.h2\ng(x) := {x}\n",
	})
}

func (g *policies) helper(xs ...string) string { return g.one(xs...) }

func (g *policies) helperBody() string {
	return g.one("input.a", "input.b", "input.c") + g.one(" == ", " != ", " in ") + g.one(`"a"`, "1", "input.b", "input.l", "data.d.l", "data.d.s")
}
