package generate_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/generate"
)

// valid reports whether a gate's schema check accepts the arguments.
func valid(t testing.TB, g *policy.Gate, tool *policy.Tool, arguments []byte) bool {
	t.Helper()
	return g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: arguments}).Allowed
}

type everythingAllowed struct{}

func (everythingAllowed) Revision() string { return "r" }
func (everythingAllowed) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })}
}

func gate(t testing.TB) *policy.Gate {
	t.Helper()
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(everythingAllowed{})
	return g
}

func TestMinimalArgumentsAreValid(t *testing.T) {
	schemas := map[string]string{
		"empty":              `{"type":"object"}`,
		"required":           `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"],"additionalProperties":false}`,
		"undeclared":         `{"type":"object","required":["x"]}`,
		"enum":               `{"type":"object","properties":{"a":{"enum":["p","q"]}},"required":["a"]}`,
		"const":              `{"type":"object","properties":{"a":{"const":7}},"required":["a"]}`,
		"reference":          `{"type":"object","$defs":{"s":{"type":"string","minLength":3}},"properties":{"a":{"$ref":"#/$defs/s"}},"required":["a"]}`,
		"reference, escaped": `{"type":"object","$defs":{"a/b":{"type":"null"}},"properties":{"a":{"$ref":"#/$defs/a~1b"}},"required":["a"]}`,
		"to itself":          `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"type":"array","items":{"$ref":"#"}}},"required":["b"]}`,
		"anyOf":              `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{"type":"number"},"b":{"type":"boolean"}}}`,
		"oneOf inside":       `{"type":"object","properties":{"a":{"oneOf":[{"type":"object","properties":{"k":{"const":"x"}},"required":["k"]},{"type":"string"}]}},"required":["a"]}`,
		"allOf":              `{"type":"object","allOf":[{"required":["a"]},{"properties":{"a":{"type":"integer","minimum":5}}}]}`,
		"type list":          `{"type":"object","properties":{"a":{"type":["null","string"]}},"required":["a"]}`,
		"pattern":            `{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]{3}-\\d+(x|y)$"}},"required":["a"]}`,
		"pattern and length": `{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-f]+$","minLength":9}},"required":["a"]}`,
		"format":             `{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"email"},"c":{"type":"string","format":"uri"},"d":{"type":"string","format":"uuid"}},"required":["a","b","c","d"]}`,
		"numbers":            `{"type":"object","properties":{"a":{"type":"integer","exclusiveMinimum":10,"multipleOf":7},"b":{"type":"number","minimum":0.25,"maximum":0.3},"c":{"type":"integer","maximum":-5}},"required":["a","b","c"]}`,
		"items":              `{"type":"object","properties":{"a":{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"string"}},"b":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false,"minItems":2}},"required":["a","b"]}`,
		"minProperties":      `{"type":"object","properties":{"a":{"type":"object","minProperties":2,"additionalProperties":{"type":"integer"}}},"required":["a"]}`,
		"lengths":            `{"type":"object","properties":{"a":{"type":"string","maxLength":2},"b":{"type":"string","minLength":50},"c":{"type":"string","maxLength":0}},"required":["a","b","c"]}`,
	}
	g := gate(t)
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			raw, err := generate.Minimal([]byte(schema))
			require.NoError(t, err)
			tool := g.Tool(policy.ToolSpec{Name: "x", InputSchema: json.RawMessage(schema)})
			d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: raw})
			require.True(t, d.Allowed, "%s: %s", raw, d.Text())
		})
	}
}

// The same seed gives the same arguments, another seed others, and none comes twice.
func TestArgumentsFollowTheSeed(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"array","items":{"enum":["x","y"]}},"d":{"type":"boolean"}}}`)
	first, err := generate.Arguments(schema, 300, generate.Options{Seed: 1})
	require.NoError(t, err)
	again, err := generate.Arguments(schema, 300, generate.Options{Seed: 1})
	require.NoError(t, err)
	other, err := generate.Arguments(schema, 300, generate.Options{Seed: 2})
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NotEqual(t, first, other)
	require.Len(t, first, 300)
	seen, kinds := map[string]bool{}, map[generate.Kind]int{}
	for _, c := range first {
		require.False(t, seen[string(c.Arguments)])
		seen[string(c.Arguments)] = true
		kinds[c.Kind]++
	}
	require.Positive(t, kinds[generate.Valid])
	require.Positive(t, kinds[generate.Boundary])
	require.Positive(t, kinds[generate.Combined])
}

func TestHintsAreTried(t *testing.T) {
	cases, err := generate.Arguments([]byte(`{"type":"object","properties":{"to":{"type":"array","items":{"type":"string"}},"n":{"type":"integer"}}}`), 500,
		generate.Options{Hints: []any{"@corp.example", json.Number("4711")}})
	require.NoError(t, err)
	all := ""
	for _, c := range cases {
		all += string(c.Arguments) + "\n"
	}
	for _, want := range []string{`"n":4711`, `"n":4712`, `"n":4710`} {
		require.Contains(t, all, want)
	}
}

func TestBadSchemas(t *testing.T) {
	for _, schema := range []string{``, `{`, `[]`, `7`, `null`, `"x"`} {
		_, err := generate.Arguments([]byte(schema), 10, generate.Options{})
		require.Error(t, err, schema)
	}
	cases, err := generate.Arguments([]byte(`true`), 10, generate.Options{})
	require.NoError(t, err)
	require.Equal(t, "{}", string(cases[0].Arguments))
}

// Schemas that would make a naive generator run for ever, or use all memory.
func TestHostileSchemasEnd(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200)
	schemas := []string{
		`{"$ref":"#"}`,
		`{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}]}`,
		`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		`{"type":"object","required":["a","b","c","d"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"$ref":"#"}}}`,
		`{"type":"object","properties":{"a":{"type":"array","minItems":1e9,"items":{"type":"string","minLength":1e9}},"b":{"type":"string","minLength":-5,"maxLength":-1}}}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^((a{1000}){1000}){1000}$"},"b":{"type":"string","pattern":"(a{900}){900}"}},"required":["a","b"]}`,
		`{"type":"object","minProperties":1e9}`,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1e308,"maximum":-1e308,"multipleOf":1e-300}},"required":["a"]}`,
		`{"type":[],"properties":{"a":{"type":["null"]},"b":{"enum":[]}},"required":["a","b",3,null]}`,
		deep,
	}
	for _, schema := range schemas {
		cases, err := generate.Arguments([]byte(schema), 200, generate.Options{Hints: []any{"x", json.Number("1e400")}})
		require.NoError(t, err)
		size := 0
		for _, c := range cases {
			size += len(c.Arguments)
		}
		require.Less(t, size, 64<<20, schema[:min(len(schema), 80)])
	}
}

func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$"}}}`))
	f.Add([]byte(`{"anyOf":[{"$ref":"#"}]}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		cases, err := generate.Arguments(schema, 20, generate.Options{Seed: 3})
		if err != nil {
			return
		}
		for _, c := range cases {
			require.True(t, json.Valid(c.Arguments))
			require.Equal(t, byte('{'), c.Arguments[0])
		}
	})
}

// Of the tools of real servers, nearly all get minimal arguments that are valid, and
// most of what is generated is.
func TestRealTools(t *testing.T) {
	shared := os.Getenv("REGOGATE_SHARED")
	if shared == "" {
		t.Skip("REGOGATE_SHARED is not set: skipping the tools of real servers")
	}
	files, err := filepath.Glob(filepath.Join(shared, "tools", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	g := gate(t)
	strict := g.Tool(policy.ToolSpec{Name: "x", InputSchema: json.RawMessage(`{"type":"object","required":["a"]}`)})
	require.False(t, valid(t, g, strict, []byte(`{}`)), "the gate does check")
	tools, minimal, all, good := 0, 0, 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		specs, err := policy.ReadTools("", data)
		require.NoError(t, err)
		for _, spec := range specs {
			tool := g.Tool(spec)
			if tool.SchemaErr() != nil {
				continue
			}
			tools++
			cases, err := generate.Arguments(spec.InputSchema, 40, generate.Options{Seed: 1})
			require.NoError(t, err)
			for i, c := range cases {
				ok := valid(t, g, tool, c.Arguments)
				all++
				if ok {
					good++
				}
				if i == 0 && ok {
					minimal++
				} else if i == 0 {
					t.Logf("%s %s: %.200s", filepath.Base(file), spec.Name, c.Arguments)
				}
			}
		}
	}
	t.Logf("%d tools, minimal arguments valid for %d; %d of %d cases valid", tools, minimal, good, all)
	require.GreaterOrEqual(t, float64(minimal), 0.98*float64(tools))
	require.GreaterOrEqual(t, float64(good), 0.75*float64(all))
}
