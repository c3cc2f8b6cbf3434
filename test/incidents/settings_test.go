package incidents

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
)

func loadWith(t testing.TB, settings string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "settings.json")
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o600))
	_, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{bundles.Starter}, SettingsFile: file})
	return err
}

// Settings that are wrong are refused when the bundle is loaded, by name.
func TestWrongSettingsAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ settings, says string }{
		"unknown group":        {`{"path": {}}`, "settings.path "},
		"unknown setting":      {`{"paths": {"root": []}}`, "settings.paths.root "},
		"group of wrong type":  {`{"paths": []}`, "settings.paths"},
		"null group":           {`{"money": null}`, "settings.money"},
		"string for a list":    {`{"paths": {"roots": "/srv"}}`, "settings.paths.roots "},
		"number in a list":     {`{"mail": {"internal_domains": [5]}}`, "settings.mail.internal_domains "},
		"empty string":         {`{"mail": {"internal_domains": [""]}}`, "settings.mail.internal_domains "},
		"relative root":        {`{"paths": {"roots": ["srv"]}}`, "settings.paths.roots "},
		"string for a number":  {`{"money": {"max_amount": "5"}}`, "settings.money.max_amount "},
		"negative number":      {`{"bulk": {"max_items": -1}}`, "settings.bulk.max_items "},
		"null for a number":    {`{"ranges": {"max_days": null}}`, "settings.ranges.max_days "},
		"string for a boolean": {`{"git": {"direct_writes": "no"}}`, "settings.git.direct_writes "},
		"bad expression":       {`{"secrets": {"extra": ["("]}}`, "settings.secrets.extra "},
		"bad glob":             {`{"repos": {"allow": ["a/[b"]}}`, "settings.repos.allow "},
		"bad relation":         {`{"sql": {"relations": ["a(b"]}}`, "settings.sql.relations "},
		"bad verb":             {`{"sql": {"verbs": ["insert|"]}}`, "settings.sql.verbs "},
		"unknown operator":     {`{"commands": {"operators": ["&&&"]}}`, "settings.commands.operators "},
		"unknown rule":         {`{"rules": {"paths.roots": "off"}}`, "paths.roots"},
		"unknown mode":         {`{"rules": {"paths.root": "disabled"}}`, "paths.root "},
		"rules of wrong type":  {`{"rules": ["paths.root"]}`, "settings.rules "},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, loadWith(t, test.settings), test.says)
		})
	}
	require.NoError(t, loadWith(t, `{}`))
	require.NoError(t, loadWith(t, `{"own": {"anything": [1, {"a": null}]}}`))
}

// One line switches a rule off, or to warn.
func TestRulesCanBeSwitched(t *testing.T) {
	call := []byte(`{"path": "../secret"}`)
	file := filepath.Join(t.TempDir(), "settings.json")
	for mode, want := range map[string]struct {
		allowed  bool
		warnings int
	}{
		`"deny"`: {false, 0},
		`"warn"`: {true, 1},
		`"off"`:  {true, 0},
	} {
		require.NoError(t, os.WriteFile(file, []byte(`{"rules": {"paths.traversal": `+mode+`}}`), 0o600))
		d := decide(starterGate(t, file), "read_file", call)
		require.Equalf(t, want.allowed, d.Allowed, "%s: %v", mode, d.Refusals)
		require.Lenf(t, d.Warnings, want.warnings, "%s: %v", mode, d.Warnings)
	}
}

// A refusal says which argument and which rule, and never what the argument was.
func TestRefusalsNameThePlace(t *testing.T) {
	g := starterGate(t, "")
	d := decide(g, "fetch", []byte(`{"urls": ["https://example.com/", "http://127.0.0.1:9/marker"]}`))
	require.False(t, d.Allowed)
	require.Len(t, d.Refusals, 1)
	require.Equal(t, "urls.private", d.Refusals[0].Rule)
	require.Equal(t, "/urls/1", d.Refusals[0].Location)
	require.NotContains(t, d.Refusals[0].Message, "marker")
}
