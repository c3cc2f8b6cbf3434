package closures

import (
	"fmt"
	"strings"
)

// unary are built-ins, and functions of the policy, of one operand.
var unary = strings.Fields(`lower upper count to_number time.parse_rfc3339_ns f f fd fe fo fpat fset farr fraise abs json.marshal sum max min product type_name trim_space sort
	is_string is_number is_boolean is_array is_object is_null is_set object.keys round ceil floor strings.reverse array.reverse array.flatten union intersection units.parse units.parse_bytes
	time.clock time.date time.weekday time.parse_duration_ns base64.encode base64.decode base64url.decode hex.encode hex.decode urlquery.encode urlquery.decode crypto.sha256
	regex.is_valid glob.quote_meta json.is_valid json.unmarshal semver.is_valid bits.negate yaml.is_valid net.cidr_is_valid`)

// binary are those of two.
var binary = strings.Fields(`concat array.concat startswith endswith contains split trim trim_left trim_right trim_prefix trim_suffix indexof indexof_n format_int sprintf
	regex.match regex.split regex.find_all_string_submatch_n object.union object.remove object.filter object.subset json.remove json.filter json.patch bits.and bits.or
	numbers.range strings.any_prefix_match strings.any_suffix_match net.cidr_contains net.cidr_intersects semver.compare time.parse_ns time.diff time.format strings.count f2`)

// ternary are those of three.
var ternary = []string{
	"object.get(%s, %s, %s)", "replace(%s, %s, %s)", "substring(%s, %s, %s)", "array.slice(%s, %s, %s)", "regex.replace(%s, %s, %s)", "regex.find_n(%s, %s, %s)", "glob.match(%s, %s, %s)",
	"numbers.range_step(%s, %s, %s)", "strings.replace_n({%s: %s}, %s)", "time.add_date(%s, %s, 1, 1)", "strings.render_template(%s, {\"a\": %s, \"b\": %s})", "regex.template_match(%s, %s, \"{\", \"}\") == %s", "f3(%s, %s, %s)",
	"json.patch(%s, [{\"op\": \"add\", \"path\": %s, \"value\": %s}])", "sprintf(%s, [%s, %s])", "glob.match(%s, [%s], %s)", "graph.reachable(%s, {%s, %s})", "object.union_n([%s, %s, %s])",
}

// formats are for sprintf.
var formats = []string{`"%v"`, `"%d"`, `"%s"`, `"%5.2f"`, `"%q"`, `"%x"`, `"%t"`, `"%05d"`, `"%v %v"`, `"%[2]v"`, `"%!"`, `"%e"`, `"%T"`, `"%c"`}

func (g *policies) call(d int) string {
	return unary[g.r.IntN(len(unary))] + "(" + g.term(d-1) + ")"
}

func (g *policies) call2(d int) string {
	switch g.r.IntN(12) {
	case 0:
		return "object.get(" + g.ref() + ", " + g.one(`"a"`, `"x"`, "input.a", `["x", "a"]`) + ", " + g.term(d-1) + ")"
	case 1:
		return "f2(" + g.term(d-1) + ", " + g.term(d-1) + ")"
	case 2:
		return "concat(\",\", " + g.ref() + ")"
	case 3:
		return "sprintf(" + formats[g.r.IntN(len(formats))] + ", [" + g.term(d-1) + "])"
	case 4:
		return "union({" + g.ref() + ", " + g.ref() + "})"
	case 5:
		return g.ref() + g.one(" | ", " & ", " - ") + g.ref()
	case 6, 7:
		return binary[g.r.IntN(len(binary))] + "(" + g.term(d-1) + ", " + g.one(g.term(0), g.constant()) + ")"
	case 8, 9:
		return fmt.Sprintf(ternary[g.r.IntN(len(ternary))], g.term(0), g.one(g.term(0), g.constant()), g.one(g.term(0), g.constant()))
	}
	return g.term(d-1) + g.one(" + ", " - ", " * ", " / ", " % ") + g.term(d-1)
}
