package skeleton_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/bundles/authoring/skeleton"
	"github.com/regogate/regogate/policy"
)

func specs(t testing.TB, list string) []policy.ToolSpec {
	t.Helper()
	s, err := policy.ReadTools("", []byte(list))
	require.NoError(t, err)
	return s
}

const mail = `{"tools":[
	{"name":"send_mail","description":"Sends a mail.","inputSchema":{"type":"object","properties":{"to":{"type":"array","items":{"type":"string"}},"subject":{"type":"string","maxLength":80}},"required":["to"]}},
	{"name":"fs.read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}
]}`

func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	}))
	return out
}

func write(t testing.TB, o skeleton.Options) skeleton.Report {
	t.Helper()
	r, err := skeleton.Write(o)
	require.NoError(t, err)
	return r
}

// decide decides one call of a tool with the bundle in dir.
func decide(t testing.TB, dir, server string, spec policy.ToolSpec, arguments string) policy.Decision {
	t.Helper()
	rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}})
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(rs)
	spec.Server = server
	return g.Decide(context.Background(), policy.Call{Tool: g.Tool(spec), Arguments: []byte(arguments)})
}

func TestABundleForEachTool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "policy")
	r := write(t, skeleton.Options{Dir: dir, Server: "mail", Tools: specs(t, mail)})
	require.True(t, r.Clean(), r)
	require.Equal(t, []string{"fs.read", "send_mail"}, r.Added)
	got := files(t, dir)
	require.ElementsMatch(t, r.Written, keys(got))
	rules := got["tools/send_mail.rego"]
	require.Contains(t, rules, "\npackage tools.send_mail\n")
	require.Contains(t, rules, "#   - to: array of string, required\n")
	require.Contains(t, rules, "#   - subject: string (length at most 80)\n")
	require.Contains(t, rules, "#   | Sends a mail.\n")
	odd := got["tools/"+only(t, got, `^tools/fs_read-[0-9a-f]{8}\.rego$`)]
	require.Contains(t, odd, "\npackage tools[\"fs.read\"]\n")

	// Refused until reviewed, then decided by what is written.
	call := `{"to":["a@b.c"]}`
	d := decide(t, dir, "mail", specs(t, mail)[0], call)
	require.Equal(t, policy.Denied, d.Code())
	require.Equal(t, "not-reviewed", d.Refusals[0].Rule)
	data := strings.Replace(got["data.json"], `"send_mail": false`, `"send_mail": true`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data.json"), []byte(data), 0o600))
	require.True(t, decide(t, dir, "mail", specs(t, mail)[0], call).Allowed)
	require.False(t, decide(t, dir, "mail", specs(t, mail)[1], `{"path":"x"}`).Allowed)
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// only returns the name of the one file that matches, below its first folder.
func only(t testing.TB, files map[string]string, pattern string) string {
	t.Helper()
	found := ""
	for name := range files {
		if regexp.MustCompile(pattern).MatchString(name) {
			require.Empty(t, found)
			found = name
		}
	}
	require.NotEmpty(t, found, pattern)
	_, rest, _ := strings.Cut(found, "/")
	return rest
}

func TestAllowOpensNewTools(t *testing.T) {
	dir := t.TempDir()
	write(t, skeleton.Options{Dir: dir, Tools: specs(t, mail), Allow: true})
	require.True(t, decide(t, dir, "", specs(t, mail)[0], `{"to":[]}`).Allowed)
}

func TestTheSameListGivesTheSameBytes(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	list := specs(t, mail)
	write(t, skeleton.Options{Dir: a, Server: "s", Tools: list})
	write(t, skeleton.Options{Dir: b, Server: "s", Tools: []policy.ToolSpec{list[1], list[0]}})
	require.Equal(t, files(t, a), files(t, b))
	before := files(t, a)
	r := write(t, skeleton.Options{Dir: a, Server: "s", Tools: list})
	require.Empty(t, r.Written)
	require.Empty(t, r.Added)
	require.True(t, r.Clean())
	require.Equal(t, before, files(t, a))
}

// Running again adds what is new, keeps every byte of the author's and reports drift.
func TestMerging(t *testing.T) {
	dir := t.TempDir()
	write(t, skeleton.Options{Dir: dir, Server: "s", Tools: specs(t, mail)})
	mine := map[string]string{
		"tools/mine.rego": "package tools.send_mail\n\nimport rego.v2\n\ndeny contains \"never\" if input.arguments.subject == \"x\"\n",
		"data.json":       "{ \"settings\":{\"reviewed\":{ \"send_mail\":true }} }",
		"tests/mine.rego": "package tests.mine\n\ntest_it if true\n",
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "tools/send_mail.rego")), "the author calls the file otherwise")
	for name, content := range mine {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	next := specs(t, `[
		{"name":"send_mail","description":"Sends mail now.","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"cc":{"type":"string"}},"required":["to"]}},
		{"name":"delete_mail","inputSchema":{"type":"object"}}]`)
	before := files(t, dir)
	r := write(t, skeleton.Options{Dir: dir, Server: "s", Tools: next})
	require.False(t, r.Clean())
	require.Equal(t, []string{"delete_mail"}, r.Added)
	require.Equal(t, []skeleton.Drift{
		{Tool: "fs.read", What: skeleton.Vanished},
		{Tool: "send_mail", What: skeleton.Changed, Arguments: []string{"to was array of string, required, is string, required", "cc is new", "subject is gone"}},
	}, r.Drift)
	after := files(t, dir)
	for name, content := range before {
		if name != "pinned/data.json" {
			require.Equal(t, content, after[name], name)
		}
	}
	require.Equal(t, policy.Denied, decide(t, dir, "s", next[1], `{}`).Code(), "what is new is refused")

	// Without --update-pins the drift stays; with it, it is gone.
	require.Len(t, write(t, skeleton.Options{Dir: dir, Server: "s", Tools: next}).Drift, 2)
	r = write(t, skeleton.Options{Dir: dir, Server: "s", Tools: next, UpdatePins: true})
	require.Len(t, r.Drift, 2)
	require.True(t, r.Clean())
	r = write(t, skeleton.Options{Dir: dir, Server: "s", Tools: next})
	require.Empty(t, r.Drift)

	// A description is drift too, and another server's tools are not.
	next[1].Description = "Deletes all mail."
	r = write(t, skeleton.Options{Dir: dir, Server: "s", Tools: next})
	require.Equal(t, []skeleton.Drift{{Tool: "delete_mail", What: skeleton.Redescribed}}, r.Drift)
	r = write(t, skeleton.Options{Dir: dir, Server: "other", Tools: specs(t, mail)[1:]})
	require.Empty(t, r.Drift)
}

func TestPinsAreThoseOfThePolicy(t *testing.T) {
	dir := t.TempDir()
	write(t, skeleton.Options{Dir: dir, Server: "s", Tools: specs(t, mail)})
	var doc struct {
		Tools []map[string]any `json:"tools"`
	}
	require.NoError(t, json.Unmarshal([]byte(files(t, dir)["pinned/data.json"]), &doc))
	require.Len(t, doc.Tools, 2)
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	for i, spec := range []policy.ToolSpec{specs(t, mail)[1], specs(t, mail)[0]} {
		require.Equal(t, spec.Name, doc.Tools[i]["name"])
		require.Equal(t, "s", doc.Tools[i]["server"])
		require.Equal(t, g.Tool(spec).Digest(), doc.Tools[i]["digest"])
		var schema any
		require.NoError(t, json.Unmarshal(spec.InputSchema, &schema))
		require.Equal(t, schema, doc.Tools[i]["inputSchema"])
	}
	require.Equal(t, "", doc.Tools[0]["description_digest"])
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, doc.Tools[1]["description_digest"])
}

func TestThingsThatAreNoBundles(t *testing.T) {
	_, err := skeleton.Write(skeleton.Options{Dir: t.TempDir()})
	require.ErrorIs(t, err, skeleton.ErrNoTools)
	list := specs(t, mail)

	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "thesis.txt"), nil, 0o600))
	_, err = skeleton.Write(skeleton.Options{Dir: full, Tools: list})
	require.ErrorContains(t, err, "give an empty folder")

	_, err = skeleton.Write(skeleton.Options{Dir: filepath.Join(full, "thesis.txt"), Tools: list})
	require.ErrorContains(t, err, "thesis.txt")

	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "x.rego"), []byte("package tools.x\n\ndeny contains {"), 0o600))
	_, err = skeleton.Write(skeleton.Options{Dir: broken, Tools: list})
	require.ErrorContains(t, err, "x.rego:3:")

	for name, content := range map[string]string{
		"not JSON":     "{",
		"twice":        `{"tools":[],"tools":[]}`,
		"other fields": `{"tools":[{"server":"","name":"a","digest":"d","who":1}]}`,
		"pinned twice": `{"tools":[{"server":"","name":"a","digest":"d"},{"server":"","name":"a","digest":"d"}]}`,
		"no digest":    `{"tools":[{"server":"","name":"a"}]}`,
	} {
		dir := t.TempDir()
		write(t, skeleton.Options{Dir: dir, Tools: list})
		require.NoError(t, os.WriteFile(filepath.Join(dir, "pinned/data.json"), []byte(content), 0o600))
		_, err := skeleton.Write(skeleton.Options{Dir: dir, Tools: list})
		require.ErrorContains(t, err, "pinned/data.json", name)
	}

	narrow := t.TempDir()
	write(t, skeleton.Options{Dir: narrow, Tools: list})
	require.NoError(t, os.WriteFile(filepath.Join(narrow, ".manifest"), []byte(`{"roots":["tools"]}`), 0o600))
	r := write(t, skeleton.Options{Dir: narrow, Tools: list})
	require.Len(t, r.Problems, 2)
	require.Contains(t, r.Problems[0], "tests")
}

func TestLinksDoNotLeadOut(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".manifest"), []byte(`{}`), 0o600))
	for _, name := range []string{"tools", "tests", "pinned"} {
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, name)))
	}
	_, err := skeleton.Write(skeleton.Options{Dir: dir, Tools: specs(t, mail)})
	require.Error(t, err)
	require.Empty(t, files(t, outside))
}

// Names that are hard on file systems, on Rego and on whoever reads the files.
func TestHostileLists(t *testing.T) {
	names := []string{"../../x", "/etc/passwd", "CON", "con", "Con", "nul.rego", "a", "A", "ä", "Ä", "a b", ".", "..", ".manifest", "data.json",
		"if", "contains", "default", "package", "input", "not", "_", "x\ny", "x\r\ny", "\x00", "\u2028", "\u202e", "🦊", `"`, `\`, "`", "$\"{input}\"", "{{x}}", "a/b", `a\b`,
		"x\"]\n\ndeny contains \"all\"\n#", "tests", "tools", "deny", "-rf", "--", "x#y", "%s%n", strings.Repeat("long", 250), strings.Repeat("🦊", 200), "a_test", "test_x", "METADATA",
		" ", "x ", "_test", "send\u00a0mail", "data", "data.tools", "[_]"}
	evil := "first\n\npackage tools.all\n\ndeny := set()\r\n# METADATA\n# scope: package\n# schemas:\n#   - input: schema.x\u2028import rego.v2\x1b[31m\u202e" + strings.Repeat(" word", 5000)
	var list []map[string]any
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "description": evil, "inputSchema": map[string]any{
			"type": "object", "title": evil, "required": []string{evil},
			"properties": map[string]any{
				evil:                       map[string]any{"type": "string", "description": evil, "enum": []any{evil, "${x}", "\"}] if true"}},
				"n\n\ndeny := set() #":     map[string]any{"type": "string\n\ndeny := set()", "default": evil},
				"METADATA":                 map[string]any{"$ref": "#"},
				"x]: \n true } deny if { ": map[string]any{"const": map[string]any{evil: evil}},
			}}})
	}
	raw, err := json.Marshal(list)
	require.NoError(t, err)
	dir := t.TempDir()
	tools, err := policy.ReadTools("", raw)
	require.NoError(t, err)
	write(t, skeleton.Options{Dir: dir, Server: evil[:200], Tools: tools})
	got := files(t, dir)
	folded := map[string]bool{}
	packages := map[string]int{}
	for name, content := range got {
		require.Regexp(t, `^(\.manifest|data\.json|pinned/data\.json|(tools|tests)/[A-Za-z0-9][A-Za-z0-9_-]{0,90}\.rego)$`, name)
		require.False(t, folded[strings.ToLower(name)], name)
		folded[strings.ToLower(name)] = true
		stem := strings.TrimSuffix(filepath.Base(name), ".rego")
		require.NotContains(t, []string{"con", "nul"}, strings.ToLower(stem))
		if !strings.HasSuffix(name, ".rego") {
			continue
		}
		for _, r := range content {
			require.False(t, r != '\n' && r != '\t' && (r < 0x20 || r == 0x2028 || r == 0x202e || r == 0x7f), "%s: %U", name, r)
		}
		m := ast.MustParseModule(content)
		require.Empty(t, m.Annotations)
		packages[m.Package.Path.String()]++
		if strings.HasPrefix(name, "tools/") {
			require.Len(t, m.Rules, 1, "nothing of the list became a rule")
			require.Less(t, len(content), 20_000)
		} else {
			require.Len(t, m.Rules, 3)
		}
	}
	for _, name := range names {
		require.Equal(t, 1, packages[(ast.Ref{ast.DefaultRootDocument, ast.StringTerm("tools"), ast.StringTerm(name)}).String()], "%q", name)
	}
	require.Len(t, packages, 2*len(names))
	rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}})
	require.NoError(t, err)
	require.Len(t, rs.Packages(), len(names))
	require.True(t, write(t, skeleton.Options{Dir: dir, Server: evil[:200], Tools: tools}).Updated == false)
	require.Equal(t, got, files(t, dir))
}

func TestToolsThatCanNotBePinned(t *testing.T) {
	dir := t.TempDir()
	tools := specs(t, `[{"name":"fine","inputSchema":{"type":"object"}},
		{"name":"twice","inputSchema":{"type":"object","type":"string"}},
		{"name":"none"},
		{"name":"declared","inputSchema":{}},{"name":"declared","inputSchema":{}},
		{"name":"`+strings.Repeat("x", 2000)+`","inputSchema":{}}]`)
	r := write(t, skeleton.Options{Dir: dir, Tools: tools})
	require.False(t, r.Clean())
	require.Equal(t, []string{"declared", "fine", "none", "twice"}, r.Added)
	require.Equal(t, []string{"fine", "none"}, r.Pinned)
	all := strings.Join(r.Problems, "\n")
	for _, want := range []string{"2000 bytes", `"twice": it can't be pinned`, `"declared": it can't be pinned`, `"none": its calls will be refused`} {
		require.Contains(t, all, want)
	}
	_, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}})
	require.NoError(t, err)
}

func TestStarterAsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "starter")
	r, err := skeleton.WriteStarter(dir)
	require.NoError(t, err)
	require.True(t, r.Clean())
	built, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{bundles.Starter}})
	require.NoError(t, err)
	copied, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}})
	require.NoError(t, err)
	require.Equal(t, built.Packages(), copied.Packages())
	require.Equal(t, built.Revision(), copied.Revision())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "data.json"), []byte(`{"settings":{}}`), 0o600))
	r, err = skeleton.WriteStarter(dir)
	require.NoError(t, err)
	require.Len(t, r.Problems, 1)
	require.Empty(t, r.Written)
	require.Equal(t, `{"settings":{}}`, files(t, dir)["data.json"])
}

func FuzzWrite(f *testing.F) {
	f.Add("send_mail", "Sends a mail.", `{"type":"object","properties":{"a":{"type":"string"}}}`)
	f.Add("../x", "a\n\ndeny := set()", `{"enum":["\""]}`)
	f.Fuzz(func(t *testing.T, name, description, schema string) {
		if name == "" || len(name) > 500 || len(schema) > 10_000 {
			return
		}
		dir := t.TempDir()
		spec := policy.ToolSpec{Name: strings.ToValidUTF8(name, "?"), Description: description, InputSchema: json.RawMessage(schema)}
		_, err := skeleton.Write(skeleton.Options{Dir: dir, Tools: []policy.ToolSpec{spec}})
		require.NoError(t, err)
		_, err = bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}})
		require.NoError(t, err)
	})
}
