package lint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/lint"
)

const sendPolicy = `package tools.send

import rego.v2

deny contains "no x" if input.arguments.to == "x"

deny contains "no y" if input.arguments.cc == "y"
`

// list is a tools/list result of tools with one schema each.
func list(schemas map[string]string) string {
	var out []string
	for name, s := range schemas {
		out = append(out, fmt.Sprintf(`{"name": %q, "inputSchema": %s}`, name, s))
	}
	return `{"tools": [` + strings.Join(out, ",") + `]}`
}

// pinsOf writes pinned/data.json of tools as init does.
func pinsOf(t *testing.T, ts []*policy.Tool) string {
	t.Helper()
	var pins []map[string]any
	for _, tool := range ts {
		pins = append(pins, map[string]any{"server": tool.Server(), "name": tool.Name(), "digest": tool.Digest(), "inputSchema": json.RawMessage(tool.Spec().InputSchema)})
	}
	b, err := json.Marshal(map[string]any{"tools": pins})
	require.NoError(t, err)
	return string(b)
}

const (
	before = `{"type": "object", "required": ["to", "cc"], "properties": {"to": {"type": "string"}, "cc": {"type": "string"}}}`
	after  = `{"type": "object", "required": ["to", "cc"], "properties": {"to": {"type": "string"}, "cc": {"type": "string", "maxLength": 3}}}`
)

// Drift is told with what changed, and the rules that read it, and only those.
func TestServersAndPins(t *testing.T) {
	pinned := pinsOf(t, tools(t, "mail", list(map[string]string{"send": before})))
	files := map[string]string{"send.rego": sendPolicy, "pinned/data.json": pinned}

	r := verify(t, files, tools(t, "mail", list(map[string]string{"send": before}))...)
	require.Empty(t, written(r.Findings), "nothing has changed")

	r = verify(t, files, tools(t, "mail", list(map[string]string{"send": after}))...)
	text := written(r.Findings)
	require.Contains(t, text, `/send.rego:1:1: error: pin-drift: tool "send": its schema has changed since it was pinned: changed argument "cc"`)
	require.Contains(t, text, `/send.rego:7:1: error: pin-drift: tool "send": the rule reads "cc", which changed`)
	require.Len(t, r.Findings, 2)
	require.Equal(t, 2, r.Errors)

	r = verify(t, files, tools(t, "mail", `{"tools": [{"name": "send", "description": "other", "inputSchema": `+before+`}]}`)...)
	require.Empty(t, written(r.Findings), "a pin without the description's digest says nothing of it")

	withDescription := strings.Replace(pinned, `"digest"`, `"description_digest":"sha256:00","digest"`, 1)
	r = verify(t, map[string]string{"send.rego": sendPolicy, "pinned/data.json": withDescription}, tools(t, "mail", list(map[string]string{"send": before}))...)
	require.Contains(t, written(r.Findings), `warning: pin-drift: tool "send": its description has changed`)

	files["more.rego"] = "package tools.more\n\nimport rego.v2\n\ndeny contains \"never\" if false\n"
	r = verify(t, files, tools(t, "mail", list(map[string]string{"more": before}))...)
	text = written(r.Findings)
	require.Contains(t, text, `warning: tool-unpinned: tool "more"`)
	require.Contains(t, text, `/send.rego:1:1: warning: pin-missing: tool "send"`)

	delete(files, "more.rego")
	twice := append(tools(t, "mail", list(map[string]string{"send": before})), tools(t, "chat", list(map[string]string{"send": before}))...)
	text = written(verify(t, files, twice...).Findings)
	require.Contains(t, text, `/send.rego:1:1: warning: tool-twice: tool "send": servers chat, mail offer a tool of this name`)
	require.Contains(t, text, `warning: tool-unpinned: tool "send"`, "of the other server")
}

// A package for several tools asks for what some of them have; what none has is a
// finding, and in a package for every tool only a name that is nearly one of theirs.
func TestSharedPackages(t *testing.T) {
	ts := tools(t, "mail", list(map[string]string{
		"send": `{"type": "object", "required": ["recipient"], "properties": {"recipient": {"type": "string"}}}`,
		"post": `{"type": "object", "required": ["channel"], "properties": {"channel": {"type": "string"}}}`,
	}))
	manifest := `{"roots": ["common"], "metadata": {"regogate": {"common": [{"package": "common.all"}]}}}`
	for body, want := range map[string]string{
		`object.get(input.arguments, "recipient", "") == "x"`:  "",
		`object.get(input.arguments, "channel", "") == "x"`:    "",
		`object.get(input.arguments, "repository", "") == "x"`: "", // of tools to come
		`object.get(input.arguments, "Recipient", "") == "x"`:  "", // another style
		`object.get(input.arguments, "recipeint", "") == "x"`:  "argument-undeclared",
	} {
		r := verify(t, map[string]string{".manifest": manifest, "all.rego": "package common.all\n\nimport rego.v2\n\ndeny contains \"no\" if " + body + "\n"}, ts...)
		if want == "" {
			require.Empty(t, written(r.Findings), body)
		} else {
			require.Contains(t, written(r.Findings), want, body)
		}
	}
}

// What a deny and a warn rule share is as severe as the deny rule makes it, every time.
func TestSharedFindingsAreTheDenySets(t *testing.T) {
	files := map[string]string{"a.rego": "package tools.send\n\nimport rego.v2\n\nbad if regex.match(\"(\", input.arguments.to)\n\ndeny contains \"no\" if bad\n\nwarn contains \"well\" if bad\n"}
	for range 20 {
		require.Contains(t, written(verify(t, files).Findings), "/a.rego:5:8: error: pattern: ")
	}
}

// Odd schemas are looked at in time, and what isn't understood admits anything.
func TestOddSchemas(t *testing.T) {
	wide := func(n int, format string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(format, i))
		}
		return strings.Join(out, ",")
	}
	deep := strings.Repeat(`{"type": "object", "required": ["a"], "properties": {"a": `, 24) + `{}` + strings.Repeat(`}}`, 24)
	for _, c := range []struct{ name, schema, body, want string }{
		{"4,900 properties", `{"type": "object", "required": ["p7"], "properties": {` + wide(4900, `"p%d": {"type": "string"}`) + `}}`, `input.arguments.p7 == "x"`, ""},
		{"4,900 properties, a typo", `{"type": "object", "properties": {` + wide(4900, `"property_%d": {"type": "string"}`) + `}}`, `input.arguments.propety_7 == "x"`, "property_7"},
		{"an enum of 20,000", `{"type": "object", "required": ["a"], "properties": {"a": {"enum": [` + wide(20000, `"v%d"`) + `]}}}`, `input.arguments.a == "v19999"`, ""},
		{"an enum of 2,000, a typo", `{"type": "object", "required": ["a"], "properties": {"a": {"enum": [` + wide(2000, `"v%d"`) + `]}}}`, `input.arguments.a == "w9"`, "argument-value"},
		{"an enum of everything", `{"type": "object", "required": ["a"], "properties": {"a": {"enum": [1, "x", null, true, [1], {"b": 1}]}}}`, `input.arguments.a in {1, "x", null, true}`, ""},
		{"an enum of everything, another", `{"type": "object", "required": ["a"], "properties": {"a": {"enum": [1, "x", null, true]}}}`, `input.arguments.a == "y"`, "argument-value"},
		{"const", `{"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}}`, `input.arguments.a == 1.0`, ""},
		{"const, another", `{"type": "object", "required": ["a"], "properties": {"a": {"const": {"b": 1}}}}`, `input.arguments.a == 2`, "argument-type"},
		{"true", `{"type": "object", "properties": {"a": true}}`, `not input.arguments.a`, ""},
		{"false", `{"type": "object", "properties": {"a": false}}`, `not input.arguments.a == 1`, ""},
		{"a loop of references", `{"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}}`, `not input.arguments.a.b == 1`, ""},
		{"itself", `{"type": "object", "properties": {"a": {"$ref": "#"}}}`, `not input.arguments.a.a.a.zzz == 1`, ""},
		{"itself, at the first level", `{"type": "object", "properties": {"a": {"$ref": "#"}}}`, `not input.arguments.b == 1`, "argument-undeclared"},
		{"doubling", doubling(24), `not input.arguments.a == 1`, ""},
		{"24 levels", deep, `input.arguments.a.a.a.a == 1`, "argument-type"},
		{"patternProperties", `{"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}`, `not input.arguments["x-a"] == "b"`, ""},
		{"patternProperties, another", `{"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}`, `not input.arguments["y-a"] == "b"`, "argument-undeclared"},
		{"names with dots and quotes", `{"type": "object", "required": ["a.b\"c"], "properties": {"a.b\"c": {"type": "string"}}}`, `input.arguments["a.b\"c"] == "x"`, ""},
		{"no name", `{"type": "object", "required": [""], "properties": {"": {"type": "string"}}}`, `input.arguments[""] == "x"`, ""},
		{"numbers beyond a float", `{"type": "object", "required": ["a"], "properties": {"a": {"enum": [1e400, 9007199254740993]}}}`, `input.arguments.a == 9007199254740993`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := verify(t, map[string]string{"x.rego": "package tools.x\n\nimport rego.v2\n\ndeny contains \"no\" if " + c.body + "\n"}, tools(t, "s", list(map[string]string{"x": c.schema}))...)
			text := written(r.Findings)
			if c.want == "" {
				for _, id := range []string{"argument-undeclared", "argument-type", "argument-value"} {
					require.NotContains(t, text, id)
				}
				return
			}
			require.Contains(t, text, c.want)
		})
	}
}

// doubling is a schema that has 2^n places when it is written out.
func doubling(n int) string {
	defs := []string{fmt.Sprintf(`"d%d": {"type": "number"}`, n)}
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d": {"anyOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d", "title": "x"}]}`, i, i+1, i+1))
	}
	return `{"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {` + strings.Join(defs, ",") + `}}`
}

// A report without findings has lists, not null; SARIF has what a reader needs.
func TestReports(t *testing.T) {
	r := verify(t, map[string]string{"send.rego": sendPolicy}, tools(t, "mail", list(map[string]string{"send": before}))...)
	b, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"findings": [], "errors": 0, "warnings": 0, "tools": 1, "packages": 1}`, string(b))

	r = verify(t, map[string]string{"a b/send.rego": strings.ReplaceAll(sendPolicy, "arguments.to", "arguments.too")}, tools(t, "mail", list(map[string]string{"send": before, "other": before}))...)
	require.Equal(t, 1, r.Errors)
	require.Equal(t, 1, r.Warnings, "a tool without a package")
	var out bytes.Buffer
	require.NoError(t, r.WriteSARIF(&out, "1.2.3"))
	var log struct {
		Version string `json:"version"`
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name, Version string
					Rules         []struct{ ID string } `json:"rules"`
				} `json:"driver"`
			} `json:"tool"`
			Results []struct {
				RuleID    string                `json:"ruleId"`
				RuleIndex int                   `json:"ruleIndex"`
				Level     string                `json:"level"`
				Message   struct{ Text string } `json:"message"`
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }                 `json:"artifactLocation"`
						Region           struct{ StartLine, StartColumn int } `json:"region"`
					}
				} `json:"locations"`
			} `json:"results"`
		} `json:"runs"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &log))
	require.Equal(t, "2.1.0", log.Version)
	require.Len(t, log.Runs, 1)
	run := log.Runs[0]
	require.Equal(t, "1.2.3", run.Tool.Driver.Version)
	require.Len(t, run.Results, 2)
	for _, res := range run.Results {
		require.Equal(t, res.RuleID, run.Tool.Driver.Rules[res.RuleIndex].ID)
		require.NotEmpty(t, res.Message.Text)
		require.Contains(t, []string{"error", "warning", "note", "none"}, res.Level)
		if res.RuleID == "argument-undeclared" {
			require.Equal(t, "error", res.Level)
			require.Len(t, res.Locations, 1)
			at := res.Locations[0].PhysicalLocation
			require.Equal(t, "/a%20b/send.rego", strings.TrimPrefix(at.ArtifactLocation.URI, "file://"))
			require.Equal(t, 5, at.Region.StartLine)
			require.Positive(t, at.Region.StartColumn)
		}
	}
}

// Every finding has an id, a severity, words and a fix; those about rules have a place.
func TestFindingsAreComplete(t *testing.T) {
	nowhere := []string{"tool-uncovered", "tool-schema", "tool-unpinned", "pin-missing", "no-rules", "data-deny"}
	for _, m := range readMistakes(t) {
		for _, f := range verify(t, m.wrong, tools(t, "mail", m.tools)...).Findings {
			require.NotEmpty(t, f.ID, m.name)
			require.Contains(t, []lint.Severity{lint.Error, lint.Warning}, f.Severity, m.name)
			require.NotEmpty(t, f.Message, m.name)
			require.NotEmpty(t, f.Fix, "%s: %s", m.name, f)
			if !strings.Contains(strings.Join(nowhere, " "), f.ID) {
				require.NotEmpty(t, f.File, "%s: %s", m.name, f)
				require.Positive(t, f.Line, "%s: %s", m.name, f)
			}
		}
	}
}
