package regoeval_test

import (
	"fmt"
	"github.com/stretchr/testify/require"
	"testing"
)

func TestSmoke(t *testing.T) {
	rs := mustLoad(t, map[string]string{"a.rego": "package tools.x\nimport rego.v2\ndeny contains \"no\" if input.arguments.n > 3\ndeny contains {\"msg\":\"bad\",\"rule\":\"r\"} if not startswith(input.arguments.p, \"/ok\")\nwarn contains \"w\" if to_number(input.arguments.p) > 1\n"})
	for _, a := range []string{`{"n":5,"p":"/ok"}`, `{"n":1}`, `{"n":1,"p":"/ok/1"}`, `{"n":1,"p":5}`} {
		d := decide(t, rs, "x", a)
		fmt.Printf("%s %+v\n", a, d)
	}
	for _, bad := range []string{
		"package tools.x\ndeni contains \"no\" if true",
		"package tools.x\ndeny if true",
		"package tools.x\ndeny := {\"a\"}",
		"package tools.x\ndeny[\"a\"] if true",
		"package tools.x\ndeny.path contains \"a\" if true",
		"package tools.x.deny\nrules contains \"a\" if true",
		"package tools.x\ndefault deny := false",
		"package tools.x\ndeny contains 5 if true",
		"package tools.x\ndeny contains {\"msg\": 5} if true",
		"package tools.x\ndeny contains \"a\" if not startswith(input.arguments.p, \"/ok\")",
		"package tools.x\ndeny contains \"a\" if not input.arguments.p in data.allow",
		"package tools.x\nimport input.arguments as a\ndeny contains \"a\" if { some x in a.list; not startswith(x, \"y\") }",
		"package tools.x\ndeny contains msg if { input.arguments.n > 3; msg := sprintf(\"%v %v\", [input.arguments.n, input.arguments.mode]) }",
		"package tools.x\ndeny contains msg if { input.arguments.n > 3; m := input.arguments.mode; msg := sprintf(\"%v\", [m]) }",
		"package tools.x\nimport rego.v2\ndeny contains $\"bad {input.arguments.mode}\" if { input.arguments.n > 3 }",
		"package tools.x\nimport rego.v2\ndeny contains \"a\" if { http.send({}) }",
		"package tools.x\nimport rego.v2\ndeny contains \"a\" if { json.unmarshal(input.arguments.x).y }",
		"package tools.x\nimport rego.v2\ndeny contains \"a\" if { time.now_ns() > 3 }",
		"package tools.x\nimport rego.v2\ndeny contains \"a\" if { input.arguments.x in data.settings.allow }",
		"package tools.x\nimport rego.v2\ndeny contains \"a\" if { x := data.settings; input.arguments.x in x.allow }",
		"package tools.fs.read\nimport rego.v2\ndeny contains \"a\" if { input.arguments.x }",
		"package tools.x\nimport rego.v2\ndeny contains \"a\" if { foo(input.arguments.x) }",
		"package tools.x\nimport rego.v2\ndeny contains \"a\" if { ",
	} {
		_, err := load(t, map[string]string{"a.rego": bad})
		fmt.Printf("--- %s\n%v\n", bad, err)
	}
	require.True(t, true)
}
