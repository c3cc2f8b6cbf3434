package test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// summary runs a conformance suite and returns what it says of each scenario.
func summary(t *testing.T, version string, args ...string) string {
	t.Helper()
	suite := filepath.Join(e2eFolder(t), "node_modules", "conformance-"+version, "dist", "index.js")
	cmd := exec.Command(node22(t), append([]string{suite}, args...)...)
	cmd.Dir = t.TempDir()
	out, _ := cmd.CombinedOutput() // its status says whether all passed, which is not the question here
	_, s, found := strings.Cut(string(out), "SUMMARY ===")
	require.True(t, found, "no summary: %s", out)
	return s
}

// The official conformance suites see no difference between the Go SDK's server and
// the same server behind the gate.
func TestConformanceSummaryIsTheSameThroughTheGate(t *testing.T) {
	e2eFolder(t)
	sessions, stateless := goSDKServer(t, false), goSDKServer(t, true)
	for _, suite := range []struct {
		name, upstream, version string
		args                    []string
		passed                  string
	}{
		{"0.1.16", sessions, "v01", nil, "Total: 40 passed, 0 failed"},
		{"0.1.16, all", sessions, "v01", []string{"--suite", "all"}, "Total: 44 passed, 0 failed"},
		{"0.2.0-alpha.12, 2025-11-25", sessions, "v02", []string{"--requirements", "2025-11-25"}, "Total: 82 passed, 0 failed"},
		{"0.2.0-alpha.12, 2026-07-28", stateless, "v02", []string{"--requirements", "2026-07-28"}, "Total: 165 passed, 30 failed"},
	} {
		t.Run(suite.name, func(t *testing.T) {
			gate := served(t, []string{"--bundle", "starter"}, "--upstream", suite.upstream)
			direct := summary(t, suite.version, append([]string{"server", "--url", suite.upstream}, suite.args...)...)
			require.Contains(t, direct, suite.passed, "the server alone")
			require.Equal(t, direct, summary(t, suite.version, append([]string{"server", "--url", gate}, suite.args...)...))
			t.Log(suite.passed)
		})
	}
}

var (
	scenarioLine = regexp.MustCompile(`(?m)^([✓✗]) (\S+): \d+ passed, \d+ failed`)
	failedCheck  = regexp.MustCompile(`\[([^\]\s]+)\s*\]\s*(?:\x1b\[[0-9;]*m)?FAILURE`)
)

// The Go SDK's client passes through the gate what it passes without, but for the checks
// that compare with the address of the server behind the gate.
func TestConformanceOfAClientBehindTheGate(t *testing.T) {
	e2eFolder(t)
	dir, err := goSDKPrograms()
	require.NoError(t, err, dir)
	client := filepath.Join(dir, "everything-client")
	configuration := filepath.Join(t.TempDir(), "regogate.yaml")
	require.NoError(t, os.WriteFile(configuration, []byte("bundle: "+allowAll(t)+"\nschema:\n  optional_null: absent\nupstream:\n  resource: same\n"), 0o600))
	gate, err := json.Marshal([]string{program(t), "serve", "--config", configuration, "--listen", "ADDRESS"})
	require.NoError(t, err)
	viaGate := node22(t) + " " + filepath.Join(e2eFolder(t), "via-gate.mjs")
	// The suite knows what the server calls itself; clients of the gate know the gate.
	byDesign := "resource-parameter-matches-prm"
	suite := filepath.Join(e2eFolder(t), "node_modules", "conformance-v02", "dist", "index.js")
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		direct := summary(t, "v02", "client", "--command", client, "--requirements", revision)
		slots := make(chan struct{}, 2)
		t.Run(revision, func(t *testing.T) {
			for _, m := range scenarioLine.FindAllStringSubmatch(direct, -1) {
				passes, scenario := m[1] == "✓", m[2]
				if !passes {
					t.Logf("%s fails without a gate: the Go SDK's client doesn't have it", scenario)
					continue
				}
				t.Run(scenario, func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					defer func() { <-slots }()
					cmd := exec.Command(node22(t), suite, "client", "--command", viaGate, "--scenario", scenario, "--spec-version", revision, "--force")
					cmd.Dir = t.TempDir()
					cmd.Env = append(os.Environ(), "GATE="+string(gate), "CLIENT="+client)
					out, _ := cmd.CombinedOutput() // the checks say what failed
					require.Contains(t, string(out), "Passed: ")
					for _, f := range failedCheck.FindAllStringSubmatch(string(out), -1) {
						require.Equal(t, byDesign, f[1], "%s", out)
						t.Logf("%s: %s compares with the upstream's own address", scenario, byDesign)
					}
					require.NotContains(t, string(out), "Passed: 0/0", "%s", out)
				})
			}
		})
	}
}
