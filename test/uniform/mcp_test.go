package uniform

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	mcpgomcp "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/decorator/mcpgo"
	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

var sources = []source{
	{"plain handlers", plain, wrappable, true, nil},
	{"typed handlers", typed, wrappable, false, nil},
	{"JSON over POST", overPOST, wrappable, true, nil},
	{"go-sdk in memory", goSDKInMemory, enveloped, false, nil}, // the client writes the message
	{"go-sdk over Streamable HTTP", goSDKOverHTTP, enveloped, true, nil},
	{"go-sdk client", goSDKClient, enveloped, false, nil},
	{"mcp-go", mcpGo, decoded, true, func(r row) bool { return spec(r.tool).Name == "" }},
	{"stdio proxy", stdio, oneLine, true, nil},
}

func oneLine(r row) string {
	if strings.ContainsAny(r.arguments, "\r\n") {
		return "a message is one line"
	}
	return enveloped(r)
}

// decoded says what mcp-go refuses to read before anybody is asked.
func decoded(r row) string {
	var v any
	if why := enveloped(r); why != "" || r.arguments == "" {
		return why
	}
	if json.Unmarshal([]byte(r.arguments), &v) != nil {
		return "a number beyond float64 makes the message unreadable for mcp-go"
	}
	return ""
}

func goSDKServer(f *fixture) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	for _, tool := range tools {
		s.AddTool(gosdk.Exact(&mcp.Tool{Name: tool.name, InputSchema: json.RawMessage(tool.schema)}), func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			f.ran(string(req.Params.Arguments))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
		})
	}
	return s
}

func inMemory(t *testing.T, s *mcp.Server, c *mcp.Client) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	ss, err := s.Connect(ambient(), far, nil)
	require.NoError(t, err)
	cs, err := c.Connect(ambient(), near, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Wait()
	})
	return cs
}

func viaClient(cs *mcp.ClientSession) func(*testing.T, row) wire {
	return func(t *testing.T, r row) wire {
		p := &mcp.CallToolParams{Name: r.tool}
		if r.arguments != "" {
			p.Arguments = json.RawMessage(r.arguments)
		}
		result, err := cs.CallTool(ambient(), p)
		if err != nil {
			var failure *jsonrpc.Error
			require.ErrorAs(t, err, &failure)
			var data struct{ Code policy.Code }
			require.NoError(t, json.Unmarshal(failure.Data, &data))
			return wire{code: data.Code, text: failure.Message}
		}
		raw, err := json.Marshal(map[string]any{"result": result})
		require.NoError(t, err)
		return fromMessage(t, raw)
	}
}

func goSDKInMemory(t *testing.T, f *fixture) func(*testing.T, row) wire {
	s := goSDKServer(f)
	require.NoError(t, gosdk.GateServer(s, f.gate, gosdk.Options{Caller: func(context.Context, *mcp.RequestExtra) (policy.Caller, error) { return caller, nil }}))
	return viaClient(inMemory(t, s, mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)))
}

func goSDKClient(t *testing.T, f *fixture) func(*testing.T, row) wire {
	c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	require.NoError(t, gosdk.GateClient(c, f.gate, gosdk.ClientOptions{}))
	return viaClient(inMemory(t, goSDKServer(f), c))
}

func goSDKOverHTTP(t *testing.T, f *fixture) func(*testing.T, row) wire {
	s := goSDKServer(f)
	require.NoError(t, gosdk.GateServer(s, f.gate, gosdk.Options{Caller: func(context.Context, *mcp.RequestExtra) (policy.Caller, error) { return caller, nil }}))
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(server.Close)
	return func(t *testing.T, r row) wire {
		request, err := http.NewRequest(http.MethodPost, server.URL, reader(message(r)))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		raw, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return fromMessage(t, raw)
	}
}

func mcpGo(t *testing.T, f *fixture) func(*testing.T, row) wire {
	s := mcpgoserver.NewMCPServer("t", "1")
	require.NoError(t, mcpgo.Install(s, f.gate, mcpgo.Options{Exact: func(string) bool { return true }}))
	for _, tool := range tools {
		s.AddTool(mcpgomcp.NewToolWithRawSchema(tool.name, "", json.RawMessage(tool.schema)), func(_ context.Context, req mcpgomcp.CallToolRequest) (*mcpgomcp.CallToolResult, error) {
			f.ran(string(req.Params.RawArguments))
			return mcpgomcp.NewToolResultText("ran"), nil
		})
	}
	return func(t *testing.T, r row) wire {
		raw, err := json.Marshal(s.HandleMessage(ambient(), json.RawMessage(message(r))))
		require.NoError(t, err)
		return fromMessage(t, raw)
	}
}

const serverEnv = "REGOGATE_TEST_UNIFORM_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		serve()
		return
	}
	os.Exit(m.Run())
}

// serve is an MCP server over standard input and output. The text of its results are
// the arguments that it got.
func serve() {
	in := bufio.NewReaderSize(os.Stdin, 4<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments json.RawMessage }
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`
		case "tools/list":
			var list []string
			for _, tool := range tools {
				list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, tool.name, tool.schema))
			}
			result = `{"tools":[` + strings.Join(list, ",") + `]}`
		case "tools/call":
			got, _ := json.Marshal(string(m.Params.Arguments)) // a string of what is valid UTF-8
			result = `{"content":[{"type":"text","text":` + string(got) + `}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

func stdio(t *testing.T, f *fixture) func(*testing.T, row) wire {
	clientIn, toProxy := io.Pipe()
	fromProxy, proxyOut := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := stdioproxy.Run(ambient(), stdioproxy.Options{
			Command: []string{os.Args[0]}, Env: append(os.Environ(), serverEnv+"=1"),
			Stdin: clientIn, Stdout: proxyOut, Gate: f.gate,
		})
		done <- errors.Join(err, proxyOut.Close())
	}()
	lines := bufio.NewReaderSize(fromProxy, 4<<20)
	say := func(t *testing.T, line string) {
		_, err := io.WriteString(toProxy, line+"\n")
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		_ = toProxy.Close()
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Error("the proxy does not end")
		}
	})
	say(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	_, err := lines.ReadString('\n')
	require.NoError(t, err)
	say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return func(t *testing.T, r row) wire {
		say(t, message(r))
		raw, err := lines.ReadBytes('\n')
		require.NoError(t, err)
		w := fromMessage(t, raw)
		if w.ran {
			var m struct {
				Result struct{ Content []struct{ Text string } }
			}
			require.NoError(t, json.Unmarshal(raw, &m))
			f.ran(m.Result.Content[0].Text)
		}
		return w
	}
}
