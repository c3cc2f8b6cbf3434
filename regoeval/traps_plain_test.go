package regoeval_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/stretchr/testify/require"
)

// plainOPA evaluates the deny rule the usual way, and says what that looks like.
func plainOPA(t testing.TB, b bundle.Bundle, tool string, c trapCall) string {
	var args any
	require.NoError(t, json.Unmarshal(c.bytes(), &args))
	input := map[string]any{"arguments": args, "tool": map[string]any{"name": tool}, "caller": map[string]any{"subject": c.Caller.Subject}}
	quoted, err := json.Marshal(tool)
	require.NoError(t, err)
	query := "data.tools[" + string(quoted) + "].deny"
	rs, err := rego.New(rego.Query(query), rego.ParsedBundle("b", &b), rego.Input(input)).Eval(context.Background())
	switch {
	case err != nil:
		return "error"
	case len(rs) == 0:
		return "undefined"
	}
	list, ok := rs[0].Expressions[0].Value.([]any)
	switch {
	case !ok:
		return "odd"
	case len(list) == 0:
		return "nothing"
	default:
		return "refuses"
	}
}

func requireTestExists(t *testing.T, name string) {
	sources, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, f := range sources {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		if regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`).Match(text) {
			return
		}
	}
	t.Errorf("there is no %s", name)
}
