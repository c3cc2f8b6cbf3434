package typecheck_test

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/regoeval/internal/projector"
	"github.com/regogate/regogate/regoeval/internal/typecheck"
)

// check compiles a policy for tool x and checks its deny rules against a schema.
func check(t *testing.T, schema string, modules ...string) []*typecheck.Finding {
	t.Helper()
	r, rules := compile(t, modules...)
	return typecheck.Check(r, typecheck.Tool{Name: "x", Arguments: projector.Arguments([]byte(schema))}, rules).Own
}

func compile(t *testing.T, modules ...string) (typecheck.Rules, []*ast.Rule) {
	t.Helper()
	parsed := map[string]*ast.Module{}
	for i, text := range modules {
		name := string(rune('a'+i)) + ".rego"
		m, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: ast.RegoV1})
		require.NoError(t, err, text)
		parsed[name] = m
	}
	c := ast.NewCompiler()
	c.Compile(parsed)
	require.False(t, c.Failed(), "%v", c.Errors)
	own := ast.MustParseRef("data.tools.x")
	no := func(ast.Ref) bool { return false }
	return typecheck.Rules{Compiler: c, Replaced: no, ReplacedBuiltin: func(string) bool { return false }, Own: func(p ast.Ref) bool { return own.Equal(p) }},
		c.GetRulesExact(own.Append(ast.StringTerm("deny")))
}

func summary(fs []*typecheck.Finding) string {
	var out []string
	for _, f := range fs {
		out = append(out, strings.TrimSpace(string(f.Kind)+" "+f.Path+" "+f.Near))
	}
	return strings.Join(out, "; ")
}

const closed = `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`

// Each kind of schema, with a rule that it bears out and one that it doesn't.
func TestSchemas(t *testing.T) {
	const (
		undeclared = "argument-undeclared"
		wrong      = "argument-type"
		value      = "argument-value"
	)
	for _, c := range []struct{ name, schema, body, want string }{
		{"declared", closed, `input.arguments.a == "x"`, ""},
		{"undeclared", closed, `input.arguments.b == "x"`, undeclared},
		{"wrong operand", closed, `abs(input.arguments.a) == 1`, wrong},
		{"further names", `{"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":true}`, `input.arguments.a == 1`, ""},
		{"further names with a schema", `{"type":"object","properties":{"b":{}},"additionalProperties":{"type":"string"}}`, `startswith(input.arguments.a, "x")`, ""},
		{"further names of a type", `{"type":"object","properties":{"b":{}},"additionalProperties":{"type":"string"}}`, `input.arguments.a > 3`, wrong},
		{"nothing said of further names", `{"type":"object","properties":{"b":{"type":"string"}}}`, `input.arguments.a == 1`, undeclared},
		{"pattern", `{"type":"object","properties":{"b":{}},"patternProperties":{"^a":{}}}`, `input.arguments.a == "x"`, ""},
		{"other than the pattern", `{"type":"object","properties":{"b":{}},"patternProperties":{"^a":{}}}`, `input.arguments.c == "x"`, undeclared},
		{"a pattern that RE2 doesn't have", `{"type":"object","properties":{"b":{}},"patternProperties":{"(?=a)":{}}}`, `input.arguments.c == "x"`, ""},
		{"no names, closed", `{"type":"object","properties":{},"additionalProperties":false}`, `input.arguments.a == "x"`, undeclared},
		{"no names", `{"type":"object","properties":{}}`, `input.arguments.a == "x"`, undeclared},
		{"only a type", `{"type":"object"}`, `input.arguments.a == "x"`, ""},
		{"no schema", ``, `input.arguments.a == "x"`, ""},
		{"true", `true`, `input.arguments.a == "x"`, ""},
		{"not JSON", `{`, `input.arguments.a == "x"`, ""},
		{"nullable", `{"properties":{"a":{"type":["string","null"]}}}`, `input.arguments.a == null`, ""},
		{"nullable object", `{"properties":{"a":{"type":["object","null"],"properties":{"x":{}},"additionalProperties":false}}}`, `input.arguments.a.y == "q"`, undeclared},
		{"two types", `{"properties":{"a":{"type":["string","integer"]}}}`, `abs(input.arguments.a) > 3`, ""},
		{"two types, neither", `{"properties":{"a":{"type":["string","integer"]}}}`, `count(input.arguments.a) == 1; sum(input.arguments.a) > 3`, wrong},
		{"oneOf", `{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`, `sum(input.arguments.a) > 3`, wrong},
		{"a name in a branch", `{"type":"object","properties":{"k":{}},"oneOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{}}}]}`, `input.arguments.a == "x"`, ""},
		{"in no branch", `{"type":"object","properties":{"k":{}},"oneOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, `input.arguments.zz == "x"`, undeclared},
		{"branches that only require", `{"type":"object","properties":{"k":{},"a":{}},"anyOf":[{"required":["a"]},{"required":["k"]}]}`, `input.arguments.zz == "x"`, undeclared},
		{"a branch that admits any object", `{"properties":{"a":{"anyOf":[{"type":"object","properties":{"x":{}}},{"type":"object"}]}}}`, `input.arguments.a.y == 1`, ""},
		{"allOf with if and then", `{"type":"object","properties":{"k":{"type":"string"}},"allOf":[{"if":{"properties":{"k":{"const":"x"}}},"then":{"required":["a"],"properties":{"a":{"type":"string"}}}}]}`, `input.arguments.a == "x"`, ""},
		{"a condition narrows nothing", `{"type":"object","properties":{"k":{"type":"string"}},"if":{"properties":{"k":{"const":"x"}}},"then":{}}`, `input.arguments.k == "y"`, ""},
		{"allOf that requires", `{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"required":["a"]}]}`, `input.arguments.a == "x"`, ""},
		{"allOf that narrows", `{"properties":{"a":{}},"allOf":[{"properties":{"a":{"type":"string"}}}]}`, `input.arguments.a > 3`, wrong},
		{"then", `{"type":"object","properties":{"k":{}},"if":{"properties":{"k":{"const":"x"}}},"then":{"properties":{"a":{"type":"string"}}}}`, `input.arguments.a == "x"`, ""},
		{"dependentSchemas", `{"type":"object","properties":{"k":{}},"dependentSchemas":{"k":{"properties":{"a":{"type":"string"}}}}}`, `input.arguments.a == "x"`, ""},
		{"dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"k":{}},"dependencies":{"k":{"properties":{"a":{}}},"a":["k"]}}`, `input.arguments.a == "x"`, ""},
		{"$defs", `{"$defs":{"A":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/A"}}}`, `abs(input.arguments.a) == 1`, wrong},
		{"escaped pointer", `{"$defs":{"A/b c":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/A~1b%20c"}}}`, `abs(input.arguments.a) == 1`, wrong},
		{"beside $ref", `{"$defs":{"A":{"type":"object","properties":{"x":{}}}},"properties":{"a":{"$ref":"#/$defs/A","properties":{"y":{}}}}}`, `input.arguments.a.y == "x"`, ""},
		{"beside $ref in draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"A":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/A","type":"number"}}}`, `startswith(input.arguments.a, "x")`, ""},
		{"recursive root", `{"type":"object","properties":{"a":{"$ref":"#"},"v":{"type":"string"}}}`, `input.arguments.a.zzz == "x"`, ""},
		{"recursive definition", `{"$defs":{"N":{"type":"object","properties":{"v":{},"next":{"$ref":"#/$defs/N"}}}},"properties":{"a":{"$ref":"#/$defs/N"}}}`, `input.arguments.a.vv == "x"`, undeclared},
		{"below the recursion", `{"$defs":{"N":{"type":"object","properties":{"v":{},"next":{"$ref":"#/$defs/N"}}}},"properties":{"a":{"$ref":"#/$defs/N"}}}`, `input.arguments.a.next.next.vv == "x"`, ""},
		{"references to each other", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `input.arguments.a == "x"`, ""},
		{"root is a reference to itself", `{"$ref":"#"}`, `input.arguments.a == "x"`, ""},
		{"all of itself", `{"allOf":[{"$ref":"#"}],"properties":{"a":{}}}`, `input.arguments.a == "x"`, ""},
		{"$anchor", `{"$defs":{"A":{"$anchor":"aa","type":"string"}},"properties":{"a":{"$ref":"#aa"}}}`, `abs(input.arguments.a) == 1`, ""},
		{"$dynamicRef", `{"properties":{"a":{"$dynamicRef":"#x"}}}`, `abs(input.arguments.a) == 1`, ""},
		{"$id inside", `{"properties":{"a":{"$id":"other","$ref":"#/$defs/A","$defs":{"A":{}}}},"$defs":{"A":{"type":"string"}}}`, `abs(input.arguments.a) == 1`, ""},
		{"remote", `{"properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, `abs(input.arguments.a) == 1`, ""},
		{"file", `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `abs(input.arguments.a) == 1`, ""},
		{"tuple", `{"properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}}}`, `abs(input.arguments.a[0]) == 1`, wrong},
		{"tuple, the other", `{"properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}}}`, `abs(input.arguments.a[1]) == 1`, ""},
		{"beyond a tuple", `{"properties":{"a":{"type":"array","prefixItems":[{"type":"string"}],"items":false}}}`, `input.arguments.a[3] == 1`, wrong},
		{"enum of texts", `{"properties":{"a":{"enum":["x","y"]}}}`, `abs(input.arguments.a) == 1`, wrong},
		{"enum", `{"properties":{"a":{"enum":["fast","slow"]}}}`, `input.arguments.a == "fats"`, value},
		{"enum, one of it", `{"properties":{"a":{"enum":["fast","slow"]}}}`, `input.arguments.a == "fast"`, ""},
		{"enum, in a set", `{"properties":{"a":{"enum":["fast","slow"]}}}`, `input.arguments.a in {"fast","slwo"}`, value},
		{"enum, not equal", `{"properties":{"a":{"enum":["fast","slow"]}}}`, `input.arguments.a != "fats"`, value},
		{"enum, under not", `{"properties":{"a":{"enum":["fast","slow"]}}}`, `not input.arguments.a == "fats"`, value},
		{"enum in oneOf", `{"properties":{"a":{"oneOf":[{"const":"fast"},{"const":"slow"}]}}}`, `input.arguments.a == "fats"`, value},
		{"enum or any number", `{"properties":{"a":{"anyOf":[{"enum":["all"]},{"type":"number"}]}}}`, `input.arguments.a == 7`, ""},
		{"const", `{"properties":{"a":{"const":"x"}}}`, `abs(input.arguments.a) == 1`, wrong},
		{"true as a property", `{"properties":{"a":true}}`, `input.arguments.a == 1`, ""},
		{"a list of objects", `{"properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":false}}}}`, `input.arguments.rows[_].idd == 1`, undeclared},
		{"a list of objects, some", `{"properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}}}}}}`, `some r in input.arguments.rows; r.idd == 1`, undeclared},
		{"a list of objects, right", `{"properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}}}}}}`, `some r in input.arguments.rows; r.id == 1`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := check(t, c.schema, "package tools.x\nimport rego.v2\ndeny contains \"no\" if { "+c.body+" }")
			if c.want == "" {
				require.Empty(t, fs, summary(fs))
				return
			}
			require.NotEmpty(t, fs)
			require.Equal(t, c.want, string(fs[0].Kind), summary(fs))
			require.Equal(t, 3, fs[0].Location.Row)
		})
	}
}
