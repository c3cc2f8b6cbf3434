package regoeval_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// Policies as people write them: they keep the contract, so that they load, and they
// decide what their calls.jsonl says.
func TestCorrectPoliciesLoad(t *testing.T) {
	names, err := filepath.Glob("testdata/correct/*.txtar")
	require.NoError(t, err)
	require.Greater(t, len(names), 15)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			require.NoError(t, err)
			require.Contains(t, string(a.Comment), "title: ")
			files := map[string]string{}
			for _, f := range a.Files {
				files[f.Name] = string(f.Data)
			}
			expected := trap{}.checkCalls(t, files)
			require.Contains(t, expected, "allowed")
			require.Contains(t, expected, "denied")
		})
	}
}
