package test

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sight is what the official TypeScript client saw of server-everything.
type sight struct {
	Out  map[string]json.RawMessage `json:"out"`
	Seen json.RawMessage            `json:"seen"`
}

// drive has the client use a server: a command, or a URL alone.
func drive(t *testing.T, server []string) (s sight) {
	t.Helper()
	cmd := exec.Command("node", append([]string{"everything.mjs"}, server...)...)
	cmd.Dir = e2eFolder(t)
	out, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &s))
	return s
}

// sameButRefused compares what was seen directly and through a gate.
func sameButRefused(t *testing.T, direct, through sight) {
	t.Helper()
	ours := []string{"unknown tool", "wrong type", "wrong type, with an output schema"}
	for name, want := range direct.Out {
		got := string(through.Out[name])
		if slices.Contains(ours, name) {
			continue
		}
		require.JSONEq(t, changing.ReplaceAllString(string(want), "TIME"), changing.ReplaceAllString(got, "TIME"), name)
	}
	require.Len(t, through.Out, len(direct.Out))
	require.JSONEq(t, string(direct.Seen), string(through.Seen))
	require.Contains(t, string(through.Out["unknown tool"]), "-32602")
	require.Contains(t, string(through.Out["wrong type"]), "schema_violation")
	require.Contains(t, string(through.Out["wrong type, with an output schema"]), "schema_violation", "a client doesn't reject the refusal because of the output schema")
}

var servingAt = regexp.MustCompile(`msg=serving url=(\S+)`)

// serving starts regogate serve on a free port and returns the endpoint. stop sends
// SIGTERM and wants exit status 0.
func serving(t *testing.T, flags ...string) (endpoint string, stop func()) {
	t.Helper()
	cmd := exec.Command(program(t), append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	lines := bufio.NewReader(stderr)
	for endpoint == "" {
		line, err := lines.ReadString('\n')
		require.NoError(t, err, "regogate serve doesn't serve: %s", line)
		if m := servingAt.FindStringSubmatch(line); m != nil {
			endpoint = m[1]
		}
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return endpoint, func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		select {
		case <-rest: // the children have its standard error too
		case <-time.After(time.Minute):
			t.Error("something of it is still running")
		}
		ended = true
		require.NoError(t, cmd.Wait())
	}
}

// Through the bridge the client sees over HTTP the server that it sees on stdio, and
// nothing of it is left after SIGTERM.
func TestTypeScriptClientSeesTheSameServerBehindHTTP(t *testing.T) {
	server := npmServer(t, "mcp-server-everything", "stdio")
	endpoint, stop := serving(t, append([]string{"--bundle", allowAll(t), "--"}, server...)...)
	sameButRefused(t, drive(t, server), drive(t, []string{endpoint}))
	stop()
}
