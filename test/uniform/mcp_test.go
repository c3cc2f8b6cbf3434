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
	"net/url"
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
	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/decorator/mcpgo"
	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

var sources = []source{
	{"plain handlers", plain, wrappable, true, nil},
	{"typed handlers", typed, wrappable, false, nil},
	{"JSON over POST", overPOST, wrappable, true, nil},
	{"go-sdk in memory, sessions", goSDKInMemory(sessions), enveloped, false, nil}, // the client writes the message
	{"go-sdk in memory, stateless", goSDKInMemory(stateless), enveloped, false, nil},
	{"go-sdk over Streamable HTTP, sessions", goSDKOverHTTP(sessions), enveloped, true, nil},
	{"go-sdk over Streamable HTTP, stateless", goSDKOverHTTP(stateless), decoded, true, nil},
	{"go-sdk client, sessions", goSDKClient(sessions), enveloped, false, nil},
	{"go-sdk client, stateless", goSDKClient(stateless), enveloped, false, nil},
	{"mcp-go, sessions", mcpGo(sessions), decoded, true, func(r row) bool { return spec(r.tool).Name == "" }},
	{"mcp-go, stateless", mcpGo(stateless), decoded, true, func(r row) bool { return spec(r.tool).Name == "" }},
	{"stdio proxy, sessions", stdio(sessions), oneLine, true, nil},
	{"stdio proxy, stateless", stdio(stateless), oneLine, true, nil},
	{"HTTP proxy, sessions", httpProxy(sessions), enveloped, true, nil},
	{"HTTP proxy, stateless", httpProxy(stateless), enveloped, true, nil},
}

func oneLine(r row) string {
	if strings.ContainsAny(r.arguments, "\r\n") {
		return "a message is one line"
	}
	return enveloped(r)
}

// decoded says what is refused as unreadable before anybody is asked: by mcp-go, and by
// go-sdk where it compares the message with its headers.
func decoded(r row) string {
	var v any
	if why := enveloped(r); why != "" || r.arguments == "" {
		return why
	}
	if json.Unmarshal([]byte(r.arguments), &v) != nil {
		return "a number beyond float64 makes the message unreadable for the SDK"
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

func inMemory(t *testing.T, e era, s *mcp.Server, c *mcp.Client) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	ss, err := s.Connect(ambient(), far, nil)
	require.NoError(t, err)
	cs, err := c.Connect(ambient(), near, &mcp.ClientSessionOptions{ProtocolVersion: string(e)})
	require.NoError(t, err)
	require.EqualValues(t, e, cs.InitializeResult().ProtocolVersion)
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

// A starter starts a source for one gate.
type starter func(t *testing.T, f *fixture) func(*testing.T, row) wire

func goSDKInMemory(e era) starter {
	return func(t *testing.T, f *fixture) func(*testing.T, row) wire {
		return viaClient(inMemory(t, e, gatedGoSDKServer(t, f), mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)))
	}
}

func goSDKClient(e era) starter {
	return func(t *testing.T, f *fixture) func(*testing.T, row) wire {
		c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		require.NoError(t, gosdk.GateClient(c, f.gate, gosdk.ClientOptions{}))
		return viaClient(inMemory(t, e, goSDKServer(f), c))
	}
}

func gatedGoSDKServer(t *testing.T, f *fixture) *mcp.Server {
	t.Helper()
	s := goSDKServer(f)
	require.NoError(t, gosdk.GateServer(s, f.gate, gosdk.Options{Caller: func(context.Context, *mcp.RequestExtra) (policy.Caller, error) { return caller, nil }}))
	return s
}

func goSDKOverHTTP(e era) starter {
	return func(t *testing.T, f *fixture) func(*testing.T, row) wire {
		return overHTTP(t, e, gatedGoSDKServer(t, f))
	}
}

func overHTTP(t *testing.T, e era, s *mcp.Server) func(*testing.T, row) wire {
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(server.Close)
	return func(t *testing.T, r row) wire { return e.read(t, post(t, server.URL, e, r)) }
}

// post makes a call over Streamable HTTP and returns the answer, which is JSON.
func post(t *testing.T, url string, e era, r row) []byte {
	request, err := http.NewRequest(http.MethodPost, url, reader(e.message(r)))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Mcp-Protocol-Version", string(e))
	if e == stateless {
		request.Header.Set("Mcp-Method", "tools/call")
		request.Header.Set("Mcp-Name", r.tool)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return raw
}

// httpProxy puts the proxy in front of the server that stdio has, over HTTP.
func httpProxy(e era) starter {
	return func(t *testing.T, f *fixture) func(*testing.T, row) wire {
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			message, err := io.ReadAll(r.Body)
			if err != nil {
				panic(err)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answered(message))
		}))
		t.Cleanup(upstream.Close)
		to, err := url.Parse(upstream.URL)
		require.NoError(t, err)
		proxy, err := httpproxy.New(httpproxy.Options{Gate: f.gate, Upstream: to, Caller: func(*http.Request) (policy.Caller, error) { return caller, nil }})
		require.NoError(t, err)
		front := httptest.NewServer(proxy)
		t.Cleanup(front.Close)
		t.Cleanup(func() { require.NoError(t, proxy.Close()) })
		return func(t *testing.T, r row) wire { return e.readAndRan(t, f, post(t, front.URL+"/mcp", e, r)) }
	}
}

func mcpGo(e era) starter {
	return func(t *testing.T, f *fixture) func(*testing.T, row) wire { return handledByMCPGo(t, e, f) }
}

func handledByMCPGo(t *testing.T, e era, f *fixture) func(*testing.T, row) wire {
	s := mcpgoserver.NewMCPServer("t", "1")
	require.NoError(t, mcpgo.Install(s, f.gate, mcpgo.Options{Exact: func(string) bool { return true }}))
	for _, tool := range tools {
		s.AddTool(mcpgomcp.NewToolWithRawSchema(tool.name, "", json.RawMessage(tool.schema)), func(_ context.Context, req mcpgomcp.CallToolRequest) (*mcpgomcp.CallToolResult, error) {
			f.ran(string(req.Params.RawArguments))
			return mcpgomcp.NewToolResultText("ran"), nil
		})
	}
	return func(t *testing.T, r row) wire {
		raw, err := json.Marshal(s.HandleMessage(ambient(), json.RawMessage(e.message(r))))
		require.NoError(t, err)
		return e.read(t, raw)
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
		if answer := answered(line); answer != "" {
			fmt.Println(answer)
		}
	}
}

// answered is what that server says to a message, "" for nothing.
func answered(message []byte) string {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments json.RawMessage }
	}
	if json.Unmarshal(message, &m) != nil || m.ID == nil {
		return ""
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
		result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[` + strings.Join(list, ",") + `]}`
	case "tools/call":
		got, _ := json.Marshal(string(m.Params.Arguments)) // a string of what is valid UTF-8
		result = `{"resultType":"complete","content":[{"type":"text","text":` + string(got) + `}]}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func stdio(e era) starter {
	return func(t *testing.T, f *fixture) func(*testing.T, row) wire { return overStdio(t, e, f) }
}

func overStdio(t *testing.T, e era, f *fixture) func(*testing.T, row) wire {
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
	if e == sessions { // the other era has no handshake
		say(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		_, err := lines.ReadString('\n')
		require.NoError(t, err)
		say(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return func(t *testing.T, r row) wire {
		say(t, e.message(r))
		raw, err := lines.ReadBytes('\n')
		require.NoError(t, err)
		return e.readAndRan(t, f, raw)
	}
}

// readAndRan reads an answer. What the server says that it got is what ran.
func (e era) readAndRan(t *testing.T, f *fixture, raw []byte) wire {
	w := e.read(t, raw)
	if w.ran {
		var m struct {
			Result struct{ Content []struct{ Text string } }
		}
		require.NoError(t, json.Unmarshal(raw, &m))
		f.ran(m.Result.Content[0].Text)
	}
	return w
}
