package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// idsIn returns the constants of a kind of name, or of type Kind, that a file declares,
// or a folder's files.
func idsIn(t *testing.T, place string, names *regexp.Regexp) []string {
	t.Helper()
	files := []string{place}
	if !strings.HasSuffix(place, ".go") {
		var err error
		files, err = filepath.Glob(filepath.Join(place, "*.go"))
		require.NoError(t, err)
	}
	var out []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != len(spec.Names) {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			for i, name := range spec.Names {
				lit, ok := spec.Values[i].(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING || !names.MatchString(name.Name) && (kind == nil || kind.Name != "Kind") {
					continue
				}
				id, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				out = append(out, id)
			}
			return true
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Every finding that verify can make is explained with its severity, either in
// docs/verify.md or with the contract, and nothing else is.
func TestEveryFindingIsExplained(t *testing.T) {
	ids := regexp.MustCompile(`^id[A-Z]`)
	contract := idsIn(t, "../ids.go", ids)
	own := slices.DeleteFunc(append(idsIn(t, ".", ids), idsIn(t, "../internal/typecheck", regexp.MustCompile(`^$`))...), func(id string) bool {
		return slices.Contains(contract, id)
	})
	slices.Sort(own)
	own = slices.Compact(own)
	require.Greater(t, len(own), 15)
	require.Greater(t, len(contract), 20)

	text, err := os.ReadFile("../../docs/verify.md")
	require.NoError(t, err)
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|([^|]*)\\|([^|]*)\\|([^|]*)\\|$").FindAllStringSubmatch(string(text), -1) {
		told = append(told, row[1])
		require.Regexp(t, `^ (error|warning)\b`, row[2], row[1])
		for _, cell := range row[2:] {
			require.NotEmpty(t, strings.TrimSpace(cell), row[1])
		}
	}
	slices.Sort(told)
	require.Equal(t, own, told)

	text, err = os.ReadFile("../../docs/contract.md")
	require.NoError(t, err)
	for _, id := range contract {
		require.True(t, strings.Contains(string(text), "### `"+id+"`"), id)
	}
}

// The mistakes make every finding that has to do with rules, so that none is left
// without an example.
func TestEveryFindingHasAMistake(t *testing.T) {
	found := map[string]bool{}
	for _, m := range readMistakes(t) {
		for _, id := range strings.Split(m.header["finds"], ", ") {
			found[id] = true
		}
	}
	elsewhere := []string{"tool-twice", "pin-missing", "tool-unpinned"} // TestServersAndPins
	for _, id := range append(idsIn(t, ".", regexp.MustCompile(`^id[A-Z]`)), idsIn(t, "../internal/typecheck", regexp.MustCompile(`^$`))...) {
		require.True(t, found[id] || slices.Contains(elsewhere, id), "%s has no mistake", id)
	}
}
