package regoeval_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A mask that would lose records is found while loading, and one that OPA takes isn't.
func TestMaskIsCheckedWhileLoading(t *testing.T) {
	const tool = "package tools.x\n\nimport rego.v2\n\ndeny contains \"no\" if input.arguments.n == 1\n"
	for rule, want := range map[string]string{
		"mask := 5":                          "mask.rego:5:1: log-mask: data.system.log.mask is a number",
		"mask := {\"a\": \"/input/x\"}":      "is an object",
		"mask if true":                       "is a boolean",
		"mask(x) := x":                       "is a function",
		"mask contains 7 if true":            "an element is a number",
		"mask contains [\"/input\"] if true": "an element is an array",
		"mask contains \"input/x\"":          "doesn't begin with a slash",
		"mask contains \"/arguments/x\"":     "neither /input nor /result",
		"mask contains {\"op\": \"delete\", \"path\": \"/input/x\"}": "neither remove nor upsert",
		"mask contains {\"path\": \"/input/x\"}":                     "has no op",
		"mask contains {\"op\": \"remove\", \"path\": 7}":            "path is a number",
		"mask := [\"/input/x\", \"x\"]":                              "doesn't begin with a slash",
		"mask[\"x\"] := 1":                                           "log-mask",
		"mask.x := 1":                                                "log-mask",
		"mask contains \"/input/arguments/password\"":                "",
		"mask contains {\"op\": \"upsert\", \"path\": \"/input/x\", \"value\": input.tool}": "",
		"mask contains {\"op\": \"upsert\", \"path\": \"/input/x\", \"value\": null}":       "",
		"mask := [\"/input/x\"]":                       "",
		"mask := {\"/input/x\" | input.tool == \"x\"}": "",
		"mask contains path if {\n\tsome name in [\"a\"]\n\tpath := concat(\"/\", [\"/input\", name])\n}": "",
		"mask contains $\"/input/arguments/{input.tool}\"":                                                "",
		"default mask := []":          "",
		"drop if input.tool == \"x\"": "",
	} {
		_, err := load(t, map[string]string{"x.rego": tool, "mask.rego": "package system.log\n\nimport rego.v2\n\n" + rule + "\n"})
		if want == "" {
			require.NoError(t, err, rule)
			continue
		}
		require.ErrorContains(t, err, want, rule)
		require.ErrorContains(t, err, "mask.rego:5", rule)
		require.True(t, has(err, "log-mask"), rule)
	}
}
