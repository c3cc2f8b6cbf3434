package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What docs/size.md compares are programs that compile, and each is what it says: the
// first has nothing of the gate, and only the last has an engine for Rego in it.
func TestProgramsAreWhatTheySay(t *testing.T) {
	for _, p := range programs {
		path := "./testdata/" + p.folder
		out, err := exec.Command("go", "vet", path).CombinedOutput()
		require.NoError(t, err, string(out))
		out, err = exec.Command("go", "list", "-deps", path).CombinedOutput()
		require.NoError(t, err, string(out))
		deps := string(out)
		require.Equal(t, p.folder != "server", strings.Contains(deps, "regogate/regogate/policy\n"), p.folder)
		require.Equal(t, p.folder == "rego", strings.Contains(deps, "open-policy-agent/opa/v1/topdown\n"), p.folder)
		require.Contains(t, deps, "modelcontextprotocol/go-sdk/mcp\n", p.folder)
	}
}
