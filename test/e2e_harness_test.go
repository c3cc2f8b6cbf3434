package test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// e2eFolder returns the folder with the installed servers, or skips by name.
func e2eFolder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("REGOGATE_E2E")
	if dir == "" {
		t.Skip("REGOGATE_E2E is not set: skipping the end-to-end tests against real MCP servers (npm ci in test/e2e, then REGOGATE_E2E=test/e2e)")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", dir)
	}
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	require.DirExists(t, filepath.Join(dir, "node_modules"), "run npm ci in %s", dir)
	return dir
}

// npmServer is the command that starts one of the installed servers.
func npmServer(t *testing.T, name string, args ...string) []string {
	t.Helper()
	return append([]string{filepath.Join(e2eFolder(t), "node_modules", ".bin", name)}, args...)
}

var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "regogate")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "regogate")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/regogate").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

// program builds regogate once and returns its path.
func program(t *testing.T) string {
	t.Helper()
	path, err := buildOnce()
	require.NoError(t, err, path)
	return path
}

// gated puts the gate before a server's command.
func gated(t *testing.T, flags []string, server []string) []string {
	t.Helper()
	return append(append(append([]string{program(t), "run"}, flags...), "--"), server...)
}

// writeBundle writes files below a temporary folder and returns it.
func writeBundle(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

// allowAll is a bundle that covers every tool and objects to nothing.
func allowAll(t *testing.T) string {
	t.Helper()
	return writeBundle(t, map[string]string{
		".manifest": `{"revision":"e2e","roots":["shared"],"metadata":{"regogate":{"common":[{"package":"shared.none"}]}}}`,
		"none.rego": "package shared.none\n\ndeny contains \"never\" if false\n",
	})
}

// A wireClient speaks JSON-RPC as bytes: it sends exactly what it is told and keeps
// every line that comes back.
type wireClient struct {
	t     *testing.T
	in    io.WriteCloser
	cmd   *exec.Cmd
	mu    sync.Mutex
	lines []string
	seen  chan struct{} // a token for each line
	eof   chan struct{}
	// answer replies to a request of the server, "" leaves it unanswered.
	answer    func(method string) string
	stderr    strings.Builder
	forgotten []string
}

// forget lets ids be used again: what came so far answers nothing any more.
func (c *wireClient) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten, c.lines = append(c.forgotten, c.lines...), nil
}

func startWire(t *testing.T, command []string, answer func(method string) string) *wireClient {
	t.Helper()
	c := &wireClient{t: t, cmd: exec.Command(command[0], command[1:]...), seen: make(chan struct{}, 10_000), eof: make(chan struct{}), answer: answer}
	var err error
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.cmd.Stderr = &c.stderr
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	go c.read(bufio.NewReader(out))
	return c
}

func (c *wireClient) read(r *bufio.Reader) {
	defer close(c.eof)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			c.mu.Lock()
			c.lines = append(c.lines, line)
			c.mu.Unlock()
			c.reply(line)
			c.seen <- struct{}{}
		}
		if err != nil {
			return
		}
	}
}

// reply answers a request of the server.
func (c *wireClient) reply(line string) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal([]byte(line), &m) != nil || m.Method == "" || m.ID == nil || c.answer == nil {
		return
	}
	if result := c.answer(m.Method); result != "" {
		c.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
	}
}

func (c *wireClient) send(line string) {
	_, err := io.WriteString(c.in, line+"\n")
	if err != nil {
		c.t.Logf("send: %v", err)
	}
}

// await waits until a line satisfies want, and returns it.
func (c *wireClient) await(what string, want func(line string) bool) string {
	c.t.Helper()
	deadline := time.After(30 * time.Second)
	next := 0
	for {
		c.mu.Lock()
		for ; next < len(c.lines); next++ {
			if want(c.lines[next]) {
				line := c.lines[next]
				c.mu.Unlock()
				return line
			}
		}
		c.mu.Unlock()
		select {
		case <-c.seen:
		case <-time.After(20 * time.Millisecond): // another await may have taken the token
		case <-deadline:
			c.t.Fatalf("%s did not come\nlines: %q\nstderr: %s", what, c.lines, c.stderr.String())
		}
	}
}

// request sends a line with an id and waits for the answer.
func (c *wireClient) request(id, line string) string {
	c.t.Helper()
	c.send(line)
	return c.answerTo(id)
}

func (c *wireClient) answerTo(id string) string {
	c.t.Helper()
	return c.await("the answer to "+id, func(l string) bool {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method *string         `json:"method"`
		}
		return json.Unmarshal([]byte(l), &m) == nil && string(m.ID) == id && m.Method == nil
	})
}

// handshake opens a session of the 2025 era.
func (c *wireClient) handshake(capabilities string) string {
	c.t.Helper()
	answer := c.request("0", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"wire","version":"1"}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return answer
}

// close ends the client's side and returns every line that came, and the exit status.
func (c *wireClient) close() ([]string, int) {
	c.t.Helper()
	require.NoError(c.t, c.in.Close())
	select {
	case <-c.eof:
	case <-time.After(20 * time.Second):
		c.t.Fatalf("the server did not end after its input was closed; stderr: %s", c.stderr.String())
	}
	_ = c.cmd.Wait()
	return c.lines, c.cmd.ProcessState.ExitCode()
}
