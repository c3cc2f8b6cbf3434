package skeleton_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/version"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/bundles/authoring/skeleton"
	"github.com/regogate/regogate/policy"
)

// stockOPA builds OPA's own command from its module, in the version that is linked here.
func stockOPA(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "install", "github.com/open-policy-agent/opa@v"+version.Version)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("OPA's command can't be built here: skipping stock opa test: %v\n%s", err, out)
	}
	return filepath.Join(dir, "opa")
}

// On the tools of 25 real servers: the bundle is written and loads, every tool is
// covered and refused, and stock opa test and opa check pass, as a bundle and not.
func TestRealServers(t *testing.T) {
	shared := os.Getenv("REGOGATE_SHARED")
	if shared == "" {
		t.Skip("REGOGATE_SHARED is not set: skipping the tools of real servers")
	}
	lists, err := filepath.Glob(filepath.Join(shared, "tools", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	opa := stockOPA(t)
	for _, list := range lists {
		server := strings.TrimSuffix(filepath.Base(list), ".json")
		t.Run(server, func(t *testing.T) {
			data, err := os.ReadFile(list)
			require.NoError(t, err)
			tools, err := policy.ReadTools(server, data)
			require.NoError(t, err)
			dir := filepath.Join(t.TempDir(), "policy")
			r := write(t, skeleton.Options{Dir: dir, Server: server, Tools: tools})
			require.Len(t, r.Added, len(tools))
			require.Len(t, r.Pinned, len(tools))
			rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{dir}})
			require.NoError(t, err)
			g, err := policy.NewGate(policy.Options{})
			require.NoError(t, err)
			g.Use(rs)
			for _, spec := range tools {
				require.True(t, rs.Cover(g.Tool(spec)).Own, spec.Name)
			}
			for _, args := range [][]string{{"test", "."}, {"test", "-b", "."}, {"check", "--strict", "."}, {"check", "-b", "."}, {"fmt", "--fail", "--list", "."}, {"build", "-b", ".", "-o", filepath.Join(t.TempDir(), "b.tar.gz")}} {
				cmd := exec.Command(opa, args...)
				cmd.Dir = dir
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				require.NoError(t, cmd.Run(), "opa %s:\n%.2000s", strings.Join(args, " "), out.String())
			}
		})
	}
}
