package test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The official Go client, the real file server, and the starter bundle between them.
func TestGoClientWithTheStarterBundle(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.txt"), []byte("inside"), 0o600))
	settings := filepath.Join(t.TempDir(), "settings.json")
	require.NoError(t, os.WriteFile(settings, []byte(`{}`), 0o600))
	command := gated(t, []string{"--bundle", "starter", "--settings", settings}, npmServer(t, "mcp-server-filesystem", root))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil)
	require.NoError(t, err)
	tools, err := session.ListTools(ctx, nil)
	require.NoError(t, err)
	require.Greater(t, len(tools.Tools), 10)
	call := func(path any) *mcp.CallToolResult {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "read_text_file", Arguments: map[string]any{"path": path}})
		require.NoError(t, err)
		return res
	}
	text := func(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

	ok := call(filepath.Join(root, "a.txt"))
	require.False(t, ok.IsError, text(ok))
	require.Equal(t, "inside", text(ok))

	for path, code := range map[any]string{
		"/home/me/.ssh/id_rsa":     "denied",
		root + "/../../etc/passwd": "denied",
		7:                          "schema_violation",
	} {
		refused := call(path)
		require.True(t, refused.IsError)
		require.Contains(t, text(refused), code)
	}
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "no_such_tool", Arguments: map[string]any{}})
	require.ErrorContains(t, err, "unknown_tool")
	require.NoError(t, session.Close())
}

// What the gate adds to a server's start, the bundle loaded and the tools learned, is
// less than 100 ms. The quickest start of each counts, and on a busy machine it may
// take some tries to see one that nothing else delayed.
func TestStartIsQuick(t *testing.T) {
	server := npmServer(t, "mcp-server-memory")
	through := gated(t, []string{"--bundle", "starter"}, server)
	start := func(command []string) time.Duration {
		begin := time.Now()
		c := startWire(t, command, nil)
		c.handshake(`{}`)
		took := time.Since(begin)
		c.close()
		return took
	}
	const atLeast, atMost, limit = 5, 25, 100 * time.Millisecond
	direct, gate := time.Hour, time.Hour
	for i := 0; i < atLeast || i < atMost && gate-direct >= limit; i++ {
		direct = min(direct, start(server))
		gate = min(gate, start(through))
	}
	t.Logf("server alone %v, through the gate %v, added %v", direct, gate, gate-direct)
	require.Less(t, gate-direct, limit)
}
