package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/test/wire"
)

// The servers that the tricks are played on. Each has a tool that the policy lets run and
// one that it doesn't.
const (
	goSDK  = "go-sdk"
	mcpGo  = "mcp-go"
	schema = `{"type":"object","properties":{"path":{"type":"string","x-mcp-header":"Path"}}}`

	// stdioServerEnv makes the test binary be one of the Go servers, on its standard
	// streams; runsFileEnv is where it writes what it ran.
	stdioServerEnv = "REGOGATE_TEST_SERVER"
	runsFileEnv    = "REGOGATE_TEST_RUNS"
)

// A runLog is what a server ran.
type runLog struct {
	mu   sync.Mutex
	runs []wire.Run
}

func (l *runLog) add(r wire.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, r)
}

// take returns what ran since it was called last.
func (l *runLog) take([][]byte) []wire.Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	runs := l.runs
	l.runs = nil
	return runs
}

func newGoSDKServer(ran func(wire.Run)) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: goSDK, Version: "1"}, nil)
	for _, name := range []string{"safe", "secret"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ran(wire.Run{Tool: name, Args: string(r.Params.Arguments)})
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran " + name}}}, nil
		})
	}
	return s
}

func newMCPGoServer(ran func(wire.Run)) *mcpgoserver.MCPServer {
	s := mcpgoserver.NewMCPServer(mcpGo, "1")
	for _, name := range []string{"safe", "secret"} {
		s.AddTool(mcpgo.NewToolWithRawSchema(name, "", json.RawMessage(schema)), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			args, err := json.Marshal(r.GetRawArguments())
			ran(wire.Run{Tool: name, Args: string(args)})
			return mcpgo.NewToolResultText("ran " + name), err
		})
	}
	return s
}

// goServerHTTP starts one of the Go servers over HTTP.
func goServerHTTP(t *testing.T, kind string, e wire.Era, ran func(wire.Run)) string {
	t.Helper()
	var h http.Handler
	stateless := e == wire.Stateless
	switch kind {
	case goSDK:
		s := newGoSDKServer(ran)
		h = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	case mcpGo:
		h = mcpgoserver.NewStreamableHTTPServer(newMCPGoServer(ran), mcpgoserver.WithStateLess(stateless))
	default:
		require.Fail(t, "no such server", kind)
	}
	u := httptest.NewServer(h)
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
	})
	return u.URL + "/mcp"
}

// goServerStdio is the command that starts one of the Go servers on its standard streams.
func goServerStdio(t *testing.T, kind, runs string) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return []string{"env", stdioServerEnv + "=" + kind, runsFileEnv + "=" + runs, self}
}

// serveStdio is what the test binary does as a server.
func serveStdio(kind string) {
	if kind == openKind {
		if err := openServer(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	f, err := os.OpenFile(os.Getenv(runsFileEnv), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ran := func(r wire.Run) {
		line, err := json.Marshal(r)
		if err == nil {
			_, err = f.Write(append(line, '\n'))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	switch kind {
	case goSDK:
		err = newGoSDKServer(ran).Run(context.Background(), &mcp.StdioTransport{})
	case mcpGo:
		err = mcpgoserver.ServeStdio(newMCPGoServer(ran))
	default:
		err = fmt.Errorf("no server %q", kind)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fileRuns reads what a server wrote that it ran, since it was called last.
func fileRuns(t *testing.T, path string) func([][]byte) []wire.Run {
	read := 0
	return func([][]byte) (runs []wire.Run) {
		t.Helper()
		all, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		require.NoError(t, err)
		end := bytes.LastIndexByte(all, '\n') + 1
		for line := range bytes.Lines(all[read:end]) {
			var r wire.Run
			require.NoError(t, json.Unmarshal(line, &r))
			runs = append(runs, r)
		}
		read = end
		return runs
	}
}

// everythingNames are the tools of server-everything that stand for those.
func everythingNames() wire.Names {
	return wire.Names{Safe: "echo", SafeArguments: `{"message":"ok"}`, Secret: "get-sum", SecretArguments: `{"a":2,"b":3}`, Argument: "message"}
}

// answered tells what server-everything ran by what it answered.
func answered(answers [][]byte) (runs []wire.Run) {
	for _, a := range answers {
		if bytes.Contains(a, []byte("The sum of 2 and 3 is 5")) {
			runs = append(runs, wire.Run{Tool: "secret"})
		}
		if bytes.Contains(a, []byte("Echo: ")) {
			args := `{}`
			if bytes.Contains(a, []byte("Echo: /secret")) {
				args = `{"path":"/secret"}`
			}
			runs = append(runs, wire.Run{Tool: "echo", Args: args})
		}
	}
	return runs
}
