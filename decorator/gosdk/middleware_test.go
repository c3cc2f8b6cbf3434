package gosdk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

// withOut is a tool that says what its results look like.
func withOut(name string) *mcp.Tool {
	t := tool(name, openSchema)
	t.OutputSchema = json.RawMessage(`{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"],"additionalProperties":false}`)
	return t
}

func TestEveryCallIsDecidedBeforeTheHandlerRuns(t *testing.T) {
	const exact = `{"path":"/tmp/a","n":9007199254740993}`
	tests := []struct {
		name, tool, arguments string
		want                  policy.Code // "" when the handler runs
		got                   string      // what it then gets
	}{
		{"allowed", "read", `{"path":"/tmp/a"}`, "", `{"path":"/tmp/a"}`},
		{"allowed, a large integer", "read", exact, "", exact},
		{"allowed, escapes as they came", "read", `{"path":"\u003c\/tmp\u003e"}`, "", `{"path":"\u003c\/tmp\u003e"}`},
		{"denied", "read", `{"path":"/etc/shadow"}`, policy.Denied, ""},
		{"denied, written otherwise", "read", `{"path":"\/etc\/shado\u0077"}`, policy.Denied, ""},
		{"schema violation", "read", `{"path":7}`, policy.SchemaViolation, ""},
		{"no arguments", "read", ``, policy.SchemaViolation, ""},
		{"null arguments", "read", `null`, policy.SchemaViolation, ""},
		{"undeclared argument", "read", `{"path":"a","mode":"w"}`, policy.SchemaViolation, ""},
		{"name twice", "read", `{"path":"/tmp/a","path":"/etc/shadow"}`, policy.Malformed, ""},
		{"name twice, escaped", "read", `{"path":"/tmp/a","p\u0061th":"/etc/shadow"}`, policy.Malformed, ""},
		{"name in other letters", "read", `{"path":"/tmp/a","Path":"/etc/shadow"}`, policy.Malformed, ""},
		{"array", "read", `["/etc/shadow"]`, policy.Malformed, ""},
		{"half a surrogate pair", "read", `{"path":"\ud800"}`, policy.Malformed, ""},
		{"validator fails", "read", `{"path":"error"}`, policy.Undecided, ""},
		{"validator panics", "read", `{"path":"panic"}`, policy.Undecided, ""},
		{"schema that can't be used", "broken", `{"path":"a"}`, policy.SchemaUnusable, ""},
		{"nothing covers it", "stray", `{"path":"a"}`, policy.Unmapped, ""},
		{"with output schema", "sized", `{"path":"/etc/shadow"}`, policy.Denied, ""},
	}
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			var s spy
			var log log
			server := newServer(nil)
			server.AddTool(gosdk.Exact(tool("read", pathSchema)), s.handle)
			server.AddTool(tool("broken", brokenSchema), s.handle)
			server.AddTool(tool("stray", openSchema), s.handle)
			server.AddTool(withOut("sized"), s.handle)
			g := adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow, "read", "broken", "sized")
			require.NoError(t, gosdk.GateServer(server, g, gosdk.Options{Server: "files"}))
			cs := l.connect(t, server, newClient(nil))
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					log.Take()
					s.Take()
					r, err := call(t, cs, tt.tool, tt.arguments)
					require.NoError(t, err)
					records := log.Take()
					require.Len(t, records, 1, "each call is decided once")
					require.Equal(t, tt.want, records[0].Decision.Code())
					require.Equal(t, "files", records[0].Decision.Server)
					if tt.want == "" {
						require.False(t, r.IsError)
						require.Equal(t, []string{tt.got}, s.Take())
						return
					}
					require.Equal(t, tt.want, codeOf(t, r))
					require.Equal(t, records[0].Decision.Text(), textOf(t, r))
					require.Empty(t, s.Take(), "the handler must not run")
					if tt.tool == "sized" {
						require.Nil(t, r.StructuredContent, "it would have to fit the output schema")
					} else {
						require.NotNil(t, r.StructuredContent)
					}
				})
			}
		})
	}
}

func TestUnknownToolIsAProtocolError(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			var log log
			server := newServer(nil)
			server.AddTool(tool("read", openSchema), (&spy{}).handle)
			server.AddReceivingMiddleware(gosdk.Middleware(adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow), gosdk.Options{}))
			_, err := call(t, l.connect(t, server, newClient(nil)), "Read", `{}`)
			var failure *jsonrpc.Error
			require.ErrorAs(t, err, &failure)
			require.EqualValues(t, -32602, failure.Code)
			records := log.Take()
			require.Len(t, records, 1)
			require.Equal(t, policy.UnknownTool, records[0].Decision.Code())
			require.Equal(t, records[0].Decision.Text(), failure.Message)
			require.JSONEq(t, `{"decision_id":"`+records[0].Decision.ID+`","code":"unknown_tool","refusals":[{"code":"unknown_tool","message":"the server declares no such tool"}]}`, string(failure.Data))
		})
	}
}

// A client of 2026-07-28 requires resultType, and every client the id of its request.
func TestRefusalOnTheWire(t *testing.T) {
	server := newServer(nil)
	server.AddTool(tool("read", pathSchema), (&spy{}).handle)
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}))
	url := serveHTTP(t, server, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, nil)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	tests := []struct{ name, version, id, params, want string }{
		{"stateless", modern, `"a\u0062"`, meta + `,"name":"read","arguments":{"path":"/etc/shadow"}`, `{"id":"ab","resultType":"complete","isError":true}`},
		{"stateless, arguments given twice: the SDK takes the last, and so does the gate", modern, `7`, meta + `,"name":"read","arguments":{"path":"a"},"arguments":{"path":"/etc/shadow"}`, `{"id":7,"resultType":"complete","isError":true}`},
		{"sessions", legacy, `12`, `"name":"read","arguments":{"path":"/etc/shadow"}`, `{"id":12,"resultType":"complete","isError":true}`},
		{"unknown tool", legacy, `13`, `"name":"write","arguments":{}`, `{"id":13,"code":-32602}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"jsonrpc":"2.0","id":` + tt.id + `,"method":"tools/call","params":{` + tt.params + `}}`
			name := "read"
			if strings.Contains(tt.params, `"write"`) {
				name = "write"
			}
			raw := post(t, url, body, http.Header{"Mcp-Protocol-Version": {tt.version}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {name}})
			var m struct {
				ID     any `json:"id"`
				Result *struct {
					ResultType string `json:"resultType"`
					IsError    bool   `json:"isError"`
				} `json:"result"`
				Error *struct {
					Code int `json:"code"`
				} `json:"error"`
			}
			require.NoError(t, json.Unmarshal(raw, &m), string(raw))
			got := map[string]any{"id": m.ID}
			if m.Result != nil {
				got["resultType"], got["isError"] = m.Result.ResultType, m.Result.IsError
			}
			if m.Error != nil {
				got["code"] = m.Error.Code
			}
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(text), string(raw))
		})
	}
}

// The version of 2025-03-26 has batches, and the SDK runs each request of one.
func TestBatchIsDecidedCallByCall(t *testing.T) {
	var s spy
	server := newServer(nil)
	server.AddTool(tool("read", pathSchema), s.handle)
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}))
	url := serveHTTP(t, server, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, nil)
	raw := post(t, url, `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"/tmp/a"}}},
		{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"path":"/etc/shadow"}}}]`,
		http.Header{"Mcp-Protocol-Version": {"2025-03-26"}})
	require.Equal(t, []string{`{"path":"/tmp/a"}`}, s.Take())
	require.Contains(t, string(raw), "not that file")
	require.Contains(t, string(raw), `"ran"`)
}

func post(t *testing.T, url, body string, header http.Header) []byte {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewBufferString(body))
	require.NoError(t, err)
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := hc.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, string(raw))
	return raw
}

func TestToolsThatComeLaterAreSeenAsTheyAre(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			var s spy
			server := newServer(&mcp.ServerOptions{PageSize: 2})
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				server.AddTool(tool(name, openSchema), s.handle)
			}
			require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}))
			cs := l.connect(t, server, newClient(nil))
			for _, name := range []string{"a", "b", "c", "d", "e"} { // all pages
				r, err := call(t, cs, name, `{"path":"/etc/shadow"}`)
				require.NoError(t, err)
				require.Equal(t, policy.Denied, codeOf(t, r), name)
			}
			_, err := call(t, cs, "later", `{"path":"a"}`)
			require.Error(t, err)
			server.AddTool(tool("later", pathSchema), s.handle)
			for arguments, want := range map[string]bool{`{"path":"a"}`: false, `{"path":"/etc/shadow"}`: true, `{"other":1}`: true} {
				r, err := call(t, cs, "later", arguments)
				require.NoError(t, err)
				require.Equal(t, want, r.IsError, arguments)
			}
			server.AddTool(tool("later", `{"type":"object","required":["other"]}`), s.handle) // the schema of now counts
			r, err := call(t, cs, "later", `{"path":"a"}`)
			require.NoError(t, err)
			require.Equal(t, policy.SchemaViolation, codeOf(t, r))
			r, err = call(t, cs, "later", `{"other":1}`)
			require.NoError(t, err)
			require.False(t, r.IsError)
			server.RemoveTools("later")
			_, err = call(t, cs, "later", `{"other":1}`)
			require.Error(t, err)
			require.Equal(t, []string{`{"path":"a"}`, `{"other":1}`}, s.Take())
		})
	}
}

// Lists may differ from caller to caller: middleware inside of the gate sees for whom
// the gate lists.
func TestAToolHiddenFromTheCallerIsUnknown(t *testing.T) {
	var s spy
	server := newServer(nil)
	server.AddTool(tool("read", openSchema), s.handle)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			r, err := next(ctx, method, req)
			if list, ok := r.(*mcp.ListToolsResult); ok && req.GetExtra().Header.Get("X-Role") != "admin" {
				list.Tools = nil
			}
			return r, err
		}
	})
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{}))
	url := serveHTTP(t, server, &mcp.StreamableHTTPOptions{Stateless: true}, nil)
	for _, version := range []string{legacy, modern} {
		_, err := call(t, dial(t, newClient(nil), url, version, http.Header{"X-Role": {"guest"}}), "read", `{}`)
		require.Error(t, err)
		require.Empty(t, s.Take())
		r, err := call(t, dial(t, newClient(nil), url, version, http.Header{"X-Role": {"admin"}}), "read", `{}`)
		require.NoError(t, err)
		require.False(t, r.IsError)
		require.Len(t, s.Take(), 1)
	}
}

func TestToolsThatCanNotBeListedRefuse(t *testing.T) {
	twice := []*mcp.Tool{tool("read", openSchema), tool("read", openSchema)}
	tests := map[string]func() (mcp.Result, error){
		"error":          func() (mcp.Result, error) { return nil, errors.New("database is down") },
		"panic":          func() (mcp.Result, error) { panic("boom") },
		"something else": func() (mcp.Result, error) { return &mcp.ListPromptsResult{}, nil },
		"nil":            func() (mcp.Result, error) { return (*mcp.ListToolsResult)(nil), nil },
		"twice":          func() (mcp.Result, error) { return &mcp.ListToolsResult{Tools: twice}, nil },
		"endless":        func() (mcp.Result, error) { return &mcp.ListToolsResult{NextCursor: "again"}, nil },
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			var s spy
			var reported []error
			server := newServer(nil)
			server.AddTool(tool("read", openSchema), s.handle)
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "tools/list" {
						return list()
					}
					return next(ctx, method, req)
				}
			})
			o := gosdk.Options{Report: func(err error) { reported = append(reported, err) }}
			require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), o))
			r, err := call(t, inMemory(legacy)(t, server, newClient(nil)), "read", `{}`)
			require.NoError(t, err)
			want := map[string]policy.Code{"panic": policy.Undecided, "twice": policy.SchemaUnusable}[name]
			if want == "" {
				want = policy.NotReady
			}
			require.Equal(t, want, codeOf(t, r))
			require.Empty(t, s.Take())
			require.Len(t, reported, 1)
		})
	}
}

func TestATooBrokenToBeUsedIsReportedOnce(t *testing.T) {
	var reported []error
	server := newServer(nil)
	server.AddTool(tool("broken", brokenSchema), (&spy{}).handle)
	o := gosdk.Options{Report: func(err error) { reported = append(reported, err) }}
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), o))
	cs := inMemory(legacy)(t, server, newClient(nil))
	for range 3 {
		r, err := call(t, cs, "broken", `{}`)
		require.NoError(t, err)
		require.Equal(t, policy.SchemaUnusable, codeOf(t, r))
	}
	require.Len(t, reported, 1)
	require.ErrorContains(t, reported[0], `"broken"`)
}
