package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/regogate/regogate"

type goPackage struct {
	Dir        string
	ImportPath string
	Name       string
	Doc        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps=false", "-json=Dir,ImportPath,Name,Doc,Imports,Deps,GoFiles", "./...")
	cmd.Dir = ".."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var pkgs []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else {
			require.NoError(t, err)
		}
		pkgs = append(pkgs, p)
	}
}

// folder returns the top-level folder of one of our packages.
func folder(importPath string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
	head, _, _ := strings.Cut(rest, "/")
	return head
}

func ours(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// Imports point one way: cmd → config, bundles, decorator; bundles → regoeval →
// policy; decorator → policy. Commands may import any of them.
func TestImportsPointOneWay(t *testing.T) {
	allowed := map[string][]string{
		"cmd":       {"cmd", "config", "bundles", "regoeval", "policy", "decorator"},
		"config":    {"config"},
		"policy":    {"policy"},
		"regoeval":  {"regoeval", "policy"},
		"bundles":   {"bundles", "regoeval", "policy"},
		"decorator": {"decorator", "policy"},
		"test":      {"test", "cmd", "config", "bundles", "regoeval", "policy", "decorator"},
	}
	for _, p := range listPackages(t) {
		from := folder(p.ImportPath)
		may, known := allowed[from]
		require.True(t, known, "%s: a top-level folder that is not in the house", p.ImportPath)
		for _, i := range p.Imports {
			if ours(i) {
				require.Contains(t, may, folder(i), "%s must not import %s", p.ImportPath, i)
			}
		}
	}
}

// A dependency's types stay in the packages that are its adapter.
func TestDependenciesStayInTheirAdapters(t *testing.T) {
	homes := map[string][]string{
		"github.com/open-policy-agent/opa":       {"regoeval", "bundles"},
		"github.com/santhosh-tekuri/jsonschema":  {"policy/internal/inputschema"},
		"github.com/qri-io/jsonschema":           {"policy/internal/inputschema"},
		"github.com/modelcontextprotocol/go-sdk": {"decorator/gosdk", "cmd/regogate/internal/demo"},
		"github.com/mark3labs/mcp-go":            {"decorator/mcpgo"},
		"github.com/lestrrat-go/jwx":             {"decorator/identity", "bundles"},
		"go.opentelemetry.io/otel":               {"policy/telemetry"},
		"go.opentelemetry.io/proto":              {"policy/telemetry/otlp"},
		"github.com/prometheus":                  {"policy/telemetry/scrape"},
		"github.com/spf13/viper":                 {"config"},
		"github.com/spf13/cobra":                 {"cmd"},
		"github.com/stretchr/testify":            {"test", "policy/validatortest"},
	}
	for _, p := range listPackages(t) {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, i := range p.Imports {
			for dep, may := range homes {
				if i != dep && !strings.HasPrefix(i, dep+"/") {
					continue
				}
				ok := false
				for _, home := range may {
					ok = ok || rel == home || strings.HasPrefix(rel, home+"/")
				}
				require.True(t, ok, "%s must not import %s: it belongs in %q", p.ImportPath, i, may)
			}
		}
	}
}

// OpenTelemetry's root package is its global state: what goes where is said by whoever
// makes a recorder.
func TestNothingIsMeasuredGlobally(t *testing.T) {
	for _, p := range listPackages(t) {
		require.NotContains(t, p.Imports, "go.opentelemetry.io/otel", p.ImportPath)
	}
}

// What a library user links with policy and decorator has no engine, no
// configuration and no SDK in it.
func TestLibraryStaysLight(t *testing.T) {
	heavy := []string{"github.com/open-policy-agent/", "github.com/spf13/", "github.com/modelcontextprotocol/", "github.com/mark3labs/", "go.opentelemetry.io/", "github.com/prometheus/"}
	for _, p := range listPackages(t) {
		if p.ImportPath != module+"/policy" && p.ImportPath != module+"/decorator" {
			continue
		}
		for _, d := range p.Deps {
			for _, h := range heavy {
				require.False(t, strings.HasPrefix(d, h), "%s pulls in %s", p.ImportPath, d)
			}
		}
	}
}

// Every package says in one place what it does, and what it doesn't.
func TestEveryPackageIsDocumented(t *testing.T) {
	for _, p := range listPackages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		var with []string
		var text string
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.PackageClauseOnly)
			require.NoError(t, err)
			if f.Doc != nil {
				with = append(with, name)
				text = f.Doc.Text()
			}
		}
		require.Len(t, with, 1, "%s: one file, and one only, holds the package's documentation", p.ImportPath)
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command "
		}
		require.True(t, strings.HasPrefix(text, want), "%s: the documentation begins with %q", p.ImportPath, want)
		require.NotEmpty(t, new(doc.Package).Synopsis(text))
		require.Contains(t, text, "\n# Limits\n", "%s: say what the package doesn't do under # Limits", p.ImportPath)
	}
}

// Files stay short enough to be read in one go.
func TestFilesStayShort(t *testing.T) {
	const most = 330
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		require.LessOrEqual(t, countLines(t, path), most, "%s: split it by a reader's question", path)
		return nil
	})
	require.NoError(t, err)
}

func countLines(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return bytes.Count(b, []byte{'\n'})
}
