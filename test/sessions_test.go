package test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// manySessions are open at once.
const manySessions = 200

// sessionServer answers what it is told and by which session, at once, in a while, or
// with progress before it.
func sessionServer(t *testing.T) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "sessions", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"wait":{"type":"integer"}},"required":["path"]}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args struct {
				Path string `json:"path"`
				Wait int    `json:"wait"`
			}
			if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
				return nil, err
			}
			if token := r.Params.GetProgressToken(); token != nil {
				err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: args.Path})
				if err != nil {
					return nil, err
				}
			}
			time.Sleep(time.Duration(args.Wait) * time.Millisecond)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Session.ID() + " " + args.Path}}}, nil
		})
	u := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
	})
	return u.URL + "/mcp"
}

// A tally counts what happened to calls.
type tally struct{ answered, refused, progress, crossed, lost atomic.Int64 }

// converse has one session call again and again, and wants its own answers.
func converse(ctx context.Context, endpoint string, number int, until time.Time, n *tally) error {
	own := fmt.Sprintf("session-%d-", number)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			n.progress.Add(1)
			if !strings.HasPrefix(r.Params.Message, own) {
				n.crossed.Add(1)
			}
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint}, nil)
	if err != nil {
		return err
	}
	for i := 0; i < 10 || time.Now().Before(until); i++ { // the tenth is refused
		path := own + strconv.Itoa(i)
		if i%10 == 9 {
			path = "/secret"
		}
		params := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"path": path, "wait": i % 3 * 20}}
		if i%4 == 0 {
			params.SetProgressToken(path)
		}
		res, err := session.CallTool(ctx, params)
		if err != nil || len(res.Content) != 1 {
			n.lost.Add(1)
			return fmt.Errorf("call %d of session %d: %w", i, number, err)
		}
		text, ok := res.Content[0].(*mcp.TextContent)
		switch {
		case !ok:
			n.crossed.Add(1)
		case path == "/secret" && res.IsError && strings.Contains(text.Text, "denied"):
			n.refused.Add(1)
		case !res.IsError && text.Text == session.ID()+" "+path:
			n.answered.Add(1)
		default:
			n.crossed.Add(1)
		}
	}
	return session.Close()
}

// residentKB reads how much memory a process has.
func residentKB(t *testing.T, pid int) uint64 {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if os.IsNotExist(err) {
		t.Skip("memory of a process is read from /proc, which this system doesn't have")
	}
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	require.True(t, found)
	kb, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
	require.NoError(t, err)
	return kb
}

// Many sessions at once, each with calls, refusals and progress of its own, for as long as
// REGOGATE_SESSIONS_FOR says (a duration): no answer is lost or gets to another session,
// memory stays flat, and the gate ends cleanly when it is told to.
func TestManySessions(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: skipping many sessions at once")
	}
	duration := 3 * time.Second
	if s := os.Getenv("REGOGATE_SESSIONS_FOR"); s != "" {
		var err error
		duration, err = time.ParseDuration(s)
		require.NoError(t, err, "REGOGATE_SESSIONS_FOR is a duration such as 60s")
	}
	dir := writeBundle(t, map[string]string{"echo.rego": "package tools.echo\n\ndeny contains \"not that\" if input.arguments.path == \"/secret\"\n"})
	endpoint, pid, stop := servingAs(t, "--bundle", dir, "--upstream", sessionServer(t))
	ctx, cancel := context.WithTimeout(t.Context(), duration+2*time.Minute)
	defer cancel()
	var n tally
	var wg sync.WaitGroup
	until := time.Now().Add(duration)
	for i := range manySessions {
		wg.Go(func() {
			if err := converse(ctx, endpoint, i, until, &n); err != nil {
				t.Errorf("session %d: %v", i, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var resident []uint64
	ticker := time.NewTicker(duration / 20)
	defer ticker.Stop()
	for running := true; running; {
		select {
		case <-ticker.C:
			resident = append(resident, residentKB(t, pid)>>10)
		case <-done:
			running = false
		}
	}
	t.Logf("%d sessions for %v: %d answered, %d refused, %d progress; lost %d, crossed %d; resident MB %v",
		manySessions, duration, n.answered.Load(), n.refused.Load(), n.progress.Load(), n.lost.Load(), n.crossed.Load(), resident)
	require.Zero(t, n.lost.Load())
	require.Zero(t, n.crossed.Load())
	require.Greater(t, n.answered.Load(), int64(manySessions))
	require.Greater(t, n.refused.Load(), int64(0))
	quarter := len(resident) / 4
	require.Positive(t, quarter)
	early, late := most(resident[quarter:2*quarter]), most(resident[3*quarter:])
	require.LessOrEqual(t, late, early*3/2+32, "memory grows")
	stop()
}
