package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// On the tools of real servers, init, verify and test do their work, without a finding:
// of the skeleton by itself, and of the starter bundle held to the same tools.
func TestSharedToolListsToBundles(t *testing.T) {
	shared := os.Getenv("REGOGATE_SHARED")
	if shared == "" {
		t.Skip("REGOGATE_SHARED is not set: skipping bundles for the tools of real servers")
	}
	lists, err := filepath.Glob(filepath.Join(shared, "tools", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	for _, list := range lists {
		server := strings.TrimSuffix(filepath.Base(list), ".json")
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "policy")
			for _, args := range [][]string{
				{"init", "--server", server, "--tools", list, "--output", dir},
				{"verify", "--strict", dir},
				{"verify", "--strict", "starter", "--tools", server + "=" + list},
				{"test", dir},
			} {
				out, err := exec.Command(program(t), args...).CombinedOutput()
				require.NoErrorf(t, err, "regogate %s:\n%.2000s", strings.Join(args, " "), out)
			}
		})
	}
}
