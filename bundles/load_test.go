package bundles_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
)

const good = "package tools.x\n\nimport rego.v2\n\ndeny contains \"too many\" if input.arguments.n > data.settings.max\n"

func goodFiles() map[string]string {
	return map[string]string{
		".manifest": `{"revision": "r1", "roots": ["tools", "settings"]}`,
		"x.rego":    good,
		"data.json": `{"settings": {"max": 3}}`,
	}
}

// with returns the good bundle with some files replaced; "" removes one.
func with(changes ...string) map[string]string {
	files := goodFiles()
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == "" {
			delete(files, changes[i])
			continue
		}
		files[changes[i]] = changes[i+1]
	}
	return files
}

func writeDir(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "policy")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

func archive(t testing.TB, headers []tar.Header, contents []string) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for i, h := range headers {
		h.Size, h.Mode = int64(len(contents[i])), 0o600
		require.NoError(t, tw.WriteHeader(&h))
		_, err := tw.Write([]byte(contents[i]))
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())
	return buf.Bytes()
}

func pack(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var headers []tar.Header
	var contents []string
	for name, content := range files {
		headers = append(headers, tar.Header{Name: "/" + name, Typeflag: tar.TypeReg})
		contents = append(contents, content)
	}
	return archive(t, headers, contents)
}

func writeFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func decide(t testing.TB, rs policy.Ruleset, arguments string) policy.Decision {
	t.Helper()
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(rs)
	return g.Decide(context.Background(), policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "x", NoSchema: true}), Arguments: []byte(arguments)})
}

func TestDirectoryAndArchiveDecideAlike(t *testing.T) {
	sources := map[string]string{
		"directory":          writeDir(t, goodFiles()),
		"archive":            writeFile(t, "p.tar.gz", pack(t, goodFiles())),
		"archive, no slash":  writeFile(t, "p.tar.gz", archive(t, []tar.Header{{Name: "x.rego"}, {Name: "./data.json"}, {Name: ".manifest"}}, []string{good, goodFiles()["data.json"], goodFiles()[".manifest"]})),
		"yaml instead":       writeDir(t, with("data.json", "", "data.yaml", "settings:\n  max: 3\n")),
		"data by its folder": writeDir(t, with("data.json", "", "settings/data.json", `{"max": 3}`)),
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{source}})
			require.NoError(t, err)
			require.Equal(t, "r1", rs.Revision())
			require.True(t, decide(t, rs, `{"n":3}`).Allowed)
			require.Equal(t, policy.Denied, decide(t, rs, `{"n":4}`).Code())
		})
	}
}

func TestBadSources(t *testing.T) {
	truncated := pack(t, goodFiles())
	truncated = truncated[:len(truncated)/2]
	checksum := pack(t, goodFiles())
	checksum[len(checksum)-8] ^= 0xff
	bomb := archive(t, []tar.Header{{Name: "data.json"}}, []string{`{"a":"` + strings.Repeat("a", 1<<20) + `"}`})
	var many []tar.Header
	var contents []string
	for i := range 2000 {
		many = append(many, tar.Header{Name: filepath.Join("f", string(rune('a'+i%26)), strings.Repeat("x", i%50+1), "d"+strings.Repeat("y", i/26+1)+".txt")})
		contents = append(contents, strings.Repeat("z", 100))
	}
	unreadable := writeDir(t, goodFiles())
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(unreadable, "y.rego")))
	tests := []struct {
		name   string
		source string
		want   []string // all on the first line
	}{
		{"does not exist", "no/such/place", []string{"no/such/place", "no such file"}},
		{"a scheme that is not read", "ftp://x.test/b", []string{"ftp"}},
		{"empty directory", writeDir(t, nil), []string{"no .rego file"}},
		{"data only", writeDir(t, with("x.rego", "")), []string{"no .rego file"}},
		{"not gzip", writeFile(t, "p.tar.gz", []byte("hello")), []string{"p.tar.gz", "not a .tar.gz"}},
		{"empty file", writeFile(t, "p.tar.gz", nil), []string{"not a .tar.gz"}},
		{"truncated", writeFile(t, "p.tar.gz", truncated), []string{"unexpected EOF"}},
		{"checksum", writeFile(t, "p.tar.gz", checksum), []string{"damaged archive"}},
		{"too large", writeFile(t, "p.tar.gz", bomb), []string{"larger than"}},
		{"many small files", writeFile(t, "p.tar.gz", archive(t, many, contents)), []string{"larger than"}},
		{"path out of the bundle", writeFile(t, "p.tar.gz", archive(t, []tar.Header{{Name: "../x.rego"}}, []string{good})), []string{"../x.rego"}},
		{"path with dots inside", writeFile(t, "p.tar.gz", archive(t, []tar.Header{{Name: "a/../x.rego"}}, []string{good})), []string{"not a plain path"}},
		{"file twice", writeFile(t, "p.tar.gz", archive(t, []tar.Header{{Name: "x.rego"}, {Name: "/x.rego"}}, []string{good, good})), []string{"twice"}},
		{"link in the archive", writeFile(t, "p.tar.gz", archive(t, []tar.Header{{Name: "x.rego", Typeflag: tar.TypeSymlink, Linkname: "/etc/hostname"}}, []string{""})), []string{"link"}},
		{"link out of the directory", unreadable, []string{"y.rego", "symbolic link"}},
		{"syntax error", writeDir(t, with("x.rego", "package tools.x\n\ndeny contains \"a\" if {")), []string{"x.rego:3:", "parse"}},
		{"v0 syntax", writeDir(t, with("x.rego", "package tools.x\n\ndeny[msg] { msg := \"a\" }")), []string{"x.rego:3:", "parse"}},
		{"data is not JSON", writeDir(t, with("data.json", "{\n  \"settings\": {\"max\": 3,}\n}")), []string{"data.json:2:"}},
		{"data gives a name twice", writeDir(t, with("data.json", "{\"settings\": {\"max\": 3,\n \"max\": 1000000}}")), []string{"data.json:2:", "twice"}},
		{"data twice", writeDir(t, with("settings/data.json", `{"max": 4}`)), []string{"data"}},
		{"something after the data", writeDir(t, with("data.json", "{}\n{}")), []string{"data.json:2:1"}},
		{"manifest is not JSON", writeDir(t, with(".manifest", "{")), []string{".manifest:1:"}},
		{"manifest of another shape", writeDir(t, with(".manifest", `{"roots": "tools"}`)), []string{"manifest"}},
		{"roots do not cover the package", writeDir(t, with(".manifest", `{"roots": ["settings"]}`)), []string{"roots"}},
		{"unknown metadata", writeDir(t, with(".manifest", `{"metadata": {"regogate": {"comon": []}}}`)), []string{"comon", "manifest"}},
		{"metadata of another type", writeDir(t, with(".manifest", `{"metadata": {"regogate": []}}`)), []string{"metadata.regogate"}},
		{"Rego v0 by manifest", writeDir(t, with(".manifest", `{"rego_version": 0}`, "x.rego", "package tools.x\n\ndeny[msg] { msg := \"a\" }")), []string{"rego-version"}},
		{"common package that is not there", writeDir(t, with(".manifest", `{"metadata": {"regogate": {"common": [{"package": "shared.paths"}]}}}`)), []string{"package-missing", "shared.paths"}},
		{"mapping without a package", writeDir(t, with(".manifest", `{"metadata": {"regogate": {"map": [{"tool": "x"}]}}}`)), []string{"manifest", "mapping"}},
		{"built-in that is not OPA's", writeDir(t, with(".manifest", `{"metadata": {"regogate": {"builtins": ["json.parse"]}}}`)), []string{"json.parse"}},
		{"built-in that nobody gets", writeDir(t, with(".manifest", `{"metadata": {"regogate": {"builtins": ["http.send"]}}}`)), []string{"http.send"}},
		{"delta bundle", writeFile(t, "p.tar.gz", archive(t, []tar.Header{{Name: "patch.json"}, {Name: "x.rego"}}, []string{`{"data": []}`, good})), []string{"delta"}},
		{"no package decides", writeDir(t, with(".manifest", "", "x.rego", "package lib\n\nx := 1\n")), []string{"no-rules"}},
		{"signed, and no key to verify with", writeFile(t, "p.tar.gz", pack(t, with(".signatures.json", `{"signatures": ["a.b.c"]}`))), []string{"verif"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{tt.source}, MaxBytes: 100_000})
			require.Error(t, err)
			require.Nil(t, rs)
			first, _, _ := strings.Cut(err.Error(), "\n")
			for _, w := range tt.want {
				require.Contains(t, first, w)
			}
			require.NotContains(t, err.Error(), "goroutine")
		})
	}
	_, err := bundles.Load(context.Background(), bundles.Options{})
	require.ErrorContains(t, err, "no bundle")
}

func TestUnreadableFileIsAnErrorAndNotAnAbsence(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can read every file: run as another user to check this")
	}
	dir := writeDir(t, goodFiles())
	require.NoError(t, os.Chmod(filepath.Join(dir, "x.rego"), 0))
	_, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}})
	require.ErrorContains(t, err, "permission denied")
}

func TestLinksInsideTheDirectoryAreFollowedOnce(t *testing.T) {
	dir := writeDir(t, goodFiles())
	require.NoError(t, os.Symlink("x.rego", filepath.Join(dir, "also.rego")))
	rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}})
	require.NoError(t, err)
	require.Equal(t, 1, rs.Packages()[0].Deny)
}

func TestSettings(t *testing.T) {
	dir := writeDir(t, goodFiles())
	tests := []struct {
		name, settings, want string
		max                  string // the smallest n that is denied
	}{
		{"replaced", `{"max": 10}`, "", `{"n":11}`},
		{"other key", `{"other": {"a": 1}}`, "", `{"n":4}`},
		{"not JSON", "{\n\"max\": }", ":2:", ""},
		{"twice", `{"max": 1, "max": 2}`, "twice", ""},
		{"not an object", `[1]`, "not a JSON object", ""},
		{"empty", ``, "not valid JSON", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}, SettingsFile: writeFile(t, "settings.json", []byte(tt.settings))})
			if tt.want != "" {
				require.ErrorContains(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			require.Regexp(t, `^r1\+settings\.[0-9a-f]{12}$`, rs.Revision(), "the digest is part of the revision")
			require.Equal(t, policy.Denied, decide(t, rs, tt.max).Code())
		})
	}
	_, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}, SettingsFile: "no.json"})
	require.ErrorContains(t, err, "no.json")
}

func TestSeveralBundles(t *testing.T) {
	other := map[string]string{".manifest": `{"revision": "o2", "roots": ["shared"], "metadata": {"regogate": {"common": [{"package": "shared.all"}]}}}`,
		"s.rego": "package shared.all\n\nimport rego.v2\n\ndeny contains \"forbidden\" if input.arguments.n == 0\n"}
	load := func(files ...map[string]string) (policy.Ruleset, error) {
		var names []string
		for _, f := range files {
			names = append(names, writeDir(t, f))
		}
		return bundles.Load(context.Background(), bundles.Options{Bundles: names})
	}
	rs, err := load(goodFiles(), other)
	require.NoError(t, err)
	require.Equal(t, "r1+o2", rs.Revision())
	require.Equal(t, policy.Denied, decide(t, rs, `{"n":0}`).Code())
	require.Equal(t, policy.Denied, decide(t, rs, `{"n":4}`).Code())
	require.True(t, decide(t, rs, `{"n":1}`).Allowed)

	side := map[string]string{".manifest": `{"revision": "s3", "roots": ["tools/y", "settings"]}`, "data.json": `{"settings": {"min": 1}}`,
		"y.rego": "package tools.y\n\nimport rego.v2\n\ndeny contains \"few\" if input.arguments.n < data.settings.min\n"}
	narrow := with(".manifest", `{"revision": "r1", "roots": ["tools/x", "settings"]}`)
	rs, err = load(narrow, side)
	require.NoError(t, err, "settings lie side by side")
	require.Equal(t, policy.Denied, decide(t, rs, `{"n":4}`).Code())
	side["data.json"] = `{"settings": {"max": 100}}`
	side["y.rego"] = strings.ReplaceAll(side["y.rego"], "settings.min", "settings.max")
	_, err = load(narrow, side)
	require.ErrorContains(t, err, `both claim "settings/max"`)

	_, err = load(goodFiles(), goodFiles())
	require.ErrorContains(t, err, "both claim")
	_, err = load(goodFiles(), with(".manifest", "", "data.json", `{"settings": {"max": 100}}`, "x.rego", strings.Replace(good, "tools.x", "tools.y", 1)))
	require.ErrorContains(t, err, "both claim", "a bundle can't overwrite another's settings")
	_, err = load(goodFiles(), with(".manifest", "", "data.json", "", "x.rego", "package tools.x\n\nhelper := 1\n"))
	require.ErrorContains(t, err, "both claim", "a bundle can't add to another's package")
}
