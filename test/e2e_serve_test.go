package test

import (
	"bufio"
	"io"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var servingAt = regexp.MustCompile(`msg=serving url=(\S+)`)

// serving starts regogate serve on a free port and returns the endpoint. stop sends
// SIGTERM and wants exit status 0.
func serving(t *testing.T, flags ...string) (endpoint string, stop func()) {
	t.Helper()
	endpoint, _, stop = servingAs(t, flags...)
	return endpoint, stop
}

// servingAs says the process too.
func servingAs(t *testing.T, flags ...string) (endpoint string, pid int, stop func()) {
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
	return endpoint, cmd.Process.Pid, func() {
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
	sameButRefused(t, drive(t, "everything.mjs", server...), drive(t, "everything.mjs", endpoint), refusedSteps...)
	stop()
}
