package regoeval_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// notHelpers are the rules that the negations below are about.
const notHelpers = `
prefix := input.arguments.a
total := "x"
default fallback := "x"
fallback := input.arguments.a
flag if input.arguments.a == "x"
known contains input.arguments.a
fn(v) := lower(v)
picky("x") := "x"
ok(v) if v == "x"
deep := {"k": input.arguments.a}
alias := data.settings
`

var notOperands = []string{
	`input.arguments.a`, `input.arguments.o.k`, `input.arguments["a"]`, `input.arguments[input.arguments.b]`,
	`input.tool.name`, `input.tool.title`, `input.caller.claims.org`, `input.arguments`, `input.call.responses.x`,
	`data.settings.p`, `data.settings.m[input.arguments.a]`, `data.settings.m[data.settings.p]`, `data.settings.m.x`,
	`prefix`, `total`, `fallback`, `flag`, `known`, `known[input.arguments.a]`, `deep.k`, `alias.p`,
	`x`, `x.k`, `x[input.arguments.b]`, `y`, `"x"`, `["x", input.arguments.a]`, `{"k": input.arguments.a}`, `{input.arguments.a}`,
	`fn(input.arguments.a)`, `fn(input.tool.name)`, `picky(input.tool.name)`, `lower(input.arguments.a)`, `lower(input.tool.name)`,
	`max(input.arguments.l)`, `max([v | some v in input.arguments.l])`, `min(data.settings.l)`, `count(input.arguments.l)`, `count([v | some v in input.arguments.l])`,
	`[v | v := input.arguments.a]`, `$"{input.arguments.a}"`, `object.get(input.arguments, "a", "x")`, `object.get(input.arguments.o, "k", "x")`,
	`json.patch(input.arguments, [{"op": "remove", "path": "/a"}])`, `input.arguments.a + 1`, `upper(lower(data.settings.p))`,
}

var notForms = []string{
	`not %s`, `not %s == "x"`, `not "x" == %s`, `not %s == x`, `not %s != "x"`, `not %s > 0`, `not %s == input.arguments.b`,
	`not startswith(%s, "x")`, `not startswith("xx", %s)`, `not %s in data.settings.l`, `not "x" in %s`, `not ok(%s)`,
	`not every v in %s { v == "x" }`, `not flag with input.arguments.a as %s`, `not %s with input.arguments.b as "a"`, `not data.settings.m[%s]`,
	`not [%s] == ["x"]`, `not count({%s}) == 0`, `not data.tools.x.ok(%s)`, `not is_string(%s)`,
}

var notCalls = []string{
	`{}`, `{"a":"x"}`, `{"a":"y","b":"a"}`, `{"b":"x","o":{}}`, `{"a":1,"o":{"k":"x"},"l":[]}`, `{"o":{"k":"y"},"l":["x"],"y":"x"}`, `{"a":"x","b":"k","o":{"k":"x"},"l":[1,2],"y":{"k":"x"}}`, `{"l":{},"y":null}`,
}

// Where `not` in its old meaning is let through, it says the same as the new one for
// every call: nothing falls silent because an operand is undefined.
func TestOldNotIsRefusedWhereItDiffers(t *testing.T) {
	data := `{"settings": {"p": "x", "l": ["x", "z"], "m": {"x": "x", "y": false}}}`
	refused, equal := 0, 0
	for _, form := range notForms {
		packages := map[string]string{}
		for _, operand := range notOperands {
			expr := fmt.Sprintf(form, operand)
			packages[expr] = "deny contains \"no\" if { x := input.tool; y := input.tool.name; count(x) > 0; y != \"z\"; " + expr + " }\n" + mentioned(notHelpers, expr)
		}
		after, _ := loadSurvivors(t, "import future.keywords.not", packages, data)
		before, findings := loadSurvivors(t, "", packages, data)
		for expr := range packages {
			switch {
			case after.has(expr) && before.has(expr):
				equal++
				for _, call := range notCalls {
					x, y := after.decide(t, expr, call), before.decide(t, expr, call)
					require.Equal(t, x.Allowed, y.Allowed, "`%s` is let through and differs from the new meaning for %s (%v, %v)", expr, call, x.Err, y.Err)
				}
			case after.has(expr) && slices.Contains(findings[expr], "not-semantics"):
				refused++
			}
		}
	}
	t.Logf("%d negations let through, %d refused", equal, refused)
	require.Greater(t, equal, 300)
	require.Greater(t, refused, 300)
}

// survivors are many small packages in one ruleset, one a tool.
type survivors struct {
	rules policy.Ruleset
	tools map[string]string // name of the tool by what its package is about
}

func (s survivors) has(what string) bool { return s.tools[what] != "" }

func (s survivors) decide(t testing.TB, what, arguments string) policy.Decision {
	return decide(t, s.rules, s.tools[what], arguments)
}

// loadSurvivors loads packages together, taking those away that are refused. It
// returns the ids of the findings about those.
func loadSurvivors(t testing.TB, imports string, packages map[string]string, data string) (survivors, map[string][]string) {
	t.Helper()
	s := survivors{tools: map[string]string{}}
	findings := map[string][]string{}
	files, about := map[string]string{"data.json": data, ".manifest": `{"metadata":{"regogate":{"builtins":["json.patch"]}}}`}, map[string]string{}
	for i, what := range slices.Sorted(maps.Keys(packages)) {
		tool := fmt.Sprintf("t%d", i)
		s.tools[what], about["b/"+tool+".rego"] = tool, what
		files[tool+".rego"] = "package tools." + tool + "\n" + imports + "\n" + packages[what]
	}
	for {
		rs, err := load(t, files)
		if err == nil {
			s.rules = rs
			return s, findings
		}
		var e *regoeval.LoadError
		require.True(t, errors.As(err, &e), "%v", err)
		if len(s.tools) == 0 {
			return s, findings
		}
		for _, f := range e.Findings {
			what := about[f.File]
			require.NotEmpty(t, what, "%v", f)
			require.NotEqual(t, "engine", f.ID, "%s: %v", what, f)
			findings[what] = append(findings[what], f.ID)
			delete(files, strings.TrimPrefix(f.File, "b/"))
			delete(s.tools, what)
		}
	}
}

// mentioned returns the lines of helper rules whose names are in use.
func mentioned(helpers, use string) string {
	out := ""
	for line := range strings.Lines(helpers) {
		name := strings.TrimPrefix(strings.TrimSpace(line), "default ")
		name = name[:max(0, strings.IndexFunc(name, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }))]
		if name != "" && strings.Contains(use, name) {
			out += line
		}
	}
	return out
}
