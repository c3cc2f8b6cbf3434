package incidents

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles/starter"
)

var ruleID = regexp.MustCompile(`(?:finding|about)\("([a-z]+\.[a-z-]+)"`)

// ruleIDs lists the rules of the bundle's files, by file.
func ruleIDs(t testing.TB) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	files, err := fs.Glob(starter.FS(), "*.rego")
	require.NoError(t, err)
	for _, file := range files {
		src, err := fs.ReadFile(starter.FS(), file)
		require.NoError(t, err)
		for _, m := range ruleID.FindAllStringSubmatch(string(src), -1) {
			if !slices.Contains(out[file], m[1]) {
				out[file] = append(out[file], m[1])
			}
		}
	}
	return out
}

// Each kind is a file that says what it stops, what it doesn't, and why it exists, and
// whose rules are called after it.
func TestEachKindSaysWhatItIs(t *testing.T) {
	rules := ruleIDs(t)
	require.GreaterOrEqual(t, len(rules), 16)
	for file, ids := range rules {
		kind := strings.TrimSuffix(file, ".rego")
		src, err := fs.ReadFile(starter.FS(), file)
		require.NoError(t, err)
		header, _, found := strings.Cut(string(src), "package starter."+kind)
		require.Truef(t, found, "%s: package starter.%s", file, kind)
		for _, part := range []string{"# Stops", "# Doesn't stop:", "# Incidents:"} {
			require.Containsf(t, header, part, file)
		}
		for _, id := range ids {
			require.Truef(t, strings.HasPrefix(id, kind+"."), "%s: rule %s", file, id)
		}
		tests := regoTests(t, kind)
		for _, id := range ids {
			require.Truef(t, strings.Contains(tests, `"`+id+`"`), "no test of %s", id)
		}
	}
}

// regoTests returns the tests of one kind.
func regoTests(t testing.TB, kind string) string {
	t.Helper()
	files, err := fs.Glob(starter.FS(), "tests/"+kind+"*_test.rego")
	require.NoError(t, err)
	require.NotEmptyf(t, files, "%s has no tests", kind)
	var b strings.Builder
	for _, file := range files {
		src, err := fs.ReadFile(starter.FS(), file)
		require.NoError(t, err)
		b.Write(src)
	}
	return b.String()
}

// Settings know every rule and no other, and the guide describes every rule and setting.
func TestEverythingIsDocumented(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "starter.md"))
	require.NoError(t, err)
	src, err := fs.ReadFile(starter.FS(), "settings.rego")
	require.NoError(t, err)
	_, known, found := strings.Cut(string(src), "rules := {")
	require.True(t, found)
	known, _, _ = strings.Cut(known, "\n}")
	var all []string
	for _, ids := range ruleIDs(t) {
		all = append(all, ids...)
	}
	for _, id := range all {
		require.Containsf(t, known, `"`+id+`"`, "settings.rego doesn't know %s", id)
		require.Containsf(t, string(guide), "| `"+id+"` |", "the guide doesn't describe %s", id)
	}
	require.Equal(t, strings.Count(known, `"`)/2, len(all), "settings.rego knows a rule that doesn't exist")
	for _, name := range settingNames(t) {
		require.Containsf(t, string(guide), "`"+name+"` |", "the guide doesn't describe %s", name)
	}
}

// settingNames lists the settings of data.json as group.name.
func settingNames(t testing.TB) []string {
	t.Helper()
	raw, err := fs.ReadFile(starter.FS(), "data.json")
	require.NoError(t, err)
	var data struct {
		Settings map[string]map[string]any `json:"settings"`
	}
	require.NoError(t, json.Unmarshal(raw, &data))
	require.NotEmpty(t, data.Settings)
	var out []string
	for group, members := range data.Settings {
		if len(members) == 0 {
			out = append(out, group)
		}
		for name := range members {
			out = append(out, group+"."+name)
		}
	}
	return out
}
