package toolsource_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/decorator/toolsource"
)

const fake = "TOOLSOURCE_TEST_SERVER"

func TestMain(m *testing.M) {
	if kind := os.Getenv(fake); kind != "" {
		serve(kind)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serve is a server that talks over standard input and output, with a fault or without.
func serve(kind string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Cursor string
				Meta   map[string]any `json:"_meta"`
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		switch {
		case kind == "silent":
		case kind == "dies":
			fmt.Fprintln(os.Stderr, "no database")
			os.Exit(3)
		case m.Method == "initialize" && kind == "stateless":
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no sessions"}}`, m.ID)
		case m.Method == "initialize" && kind == "other":
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		case m.Method == "initialize":
			say("starting up, this is no JSON")
			say(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}`, m.ID)
		case m.Method == "tools/list" && kind == "stateless" && m.Params.Meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28":
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no version"}}`, m.ID)
		case m.Method == "tools/list" && kind == "refuses":
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"log in\nfirst"}}`, m.ID)
		case m.Method == "tools/list" && kind == "circle":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[],"nextCursor":"again"}}`, m.ID)
		case m.Method == "tools/list" && kind == "endless":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a%s"}],"nextCursor":"%sx"}}`, m.ID, m.Params.Cursor, m.Params.Cursor)
		case m.Method == "tools/list" && m.Params.Cursor == "":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[{"name":"one","description":"First.","inputSchema":{"type":"object"}},{"name":7}],"nextCursor":"2"}}`, m.ID)
		case m.Method == "tools/list":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[{"name":"two","inputSchema":{"type":"object"}}]}}`, m.ID)
		}
	}
	if kind == "stays" {
		time.Sleep(time.Hour)
	}
}

func stdio(t *testing.T, kind string, timeout time.Duration) (toolsource.List, error) {
	t.Helper()
	return toolsource.Stdio(context.Background(), toolsource.StdioOptions{
		Command: []string{os.Args[0]}, Env: append(os.Environ(), fake+"="+kind), Server: "s", Timeout: timeout,
	})
}

func TestStdio(t *testing.T) {
	for _, kind := range []string{"sessions", "stateless", "stays"} {
		t.Run(kind, func(t *testing.T) {
			l, err := stdio(t, kind, 0)
			require.NoError(t, err)
			require.Len(t, l.Tools, 2, "of both pages")
			require.Equal(t, "one", l.Tools[0].Name)
			require.Equal(t, "First.", l.Tools[0].Description)
			require.Equal(t, "s", l.Tools[1].Server)
			require.ErrorContains(t, l.Unreadable, "/tools/1")
		})
	}
	for kind, want := range map[string]string{
		"dies":    "exit status 3",
		"other":   "doesn't speak MCP",
		"refuses": "error -32000: log in first",
		"circle":  "nextCursor",
		"endless": "pages",
	} {
		t.Run(kind, func(t *testing.T) {
			_, err := stdio(t, kind, 0)
			require.ErrorContains(t, err, want)
		})
	}
	_, err := stdio(t, "silent", 200*time.Millisecond)
	require.ErrorContains(t, err, "longer than 200ms")
	_, err = toolsource.Stdio(context.Background(), toolsource.StdioOptions{Command: []string{"no-such-program-anywhere"}})
	require.ErrorContains(t, err, "could not be started")
	_, err = toolsource.Stdio(context.Background(), toolsource.StdioOptions{})
	require.ErrorContains(t, err, "no command")
}

// A server made with an SDK, in both eras and both forms of an answer.
func TestHTTP(t *testing.T) {
	for name, o := range map[string]*mcp.StreamableHTTPOptions{
		"sessions, events": {},
		"sessions, JSON":   {JSONResponse: true},
		"stateless":        {Stateless: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
			for i := range 1500 { // more than a page
				s.AddTool(&mcp.Tool{Name: fmt.Sprintf("t%04d", i), InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
			}
			var unauthorized atomic.Int64
			h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer t" {
					unauthorized.Add(1)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				h.ServeHTTP(w, r)
			}))
			defer web.Close()
			defer web.CloseClientConnections()
			client := web.Client()
			defer client.CloseIdleConnections()
			l, err := toolsource.HTTP(context.Background(), toolsource.HTTPOptions{URL: web.URL, Server: "s", Client: client, Header: http.Header{"authorization": {"Bearer t"}}})
			require.NoError(t, err)
			require.NoError(t, l.Unreadable)
			require.Len(t, l.Tools, 1500)
			require.Zero(t, unauthorized.Load())
			_, err = toolsource.HTTP(context.Background(), toolsource.HTTPOptions{URL: web.URL, Client: client})
			require.ErrorContains(t, err, "--header")
		})
	}
}

func TestHTTPFaults(t *testing.T) {
	answer := func(status int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	var followed atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	defer elsewhere.Close()
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"a web page":             {answer(200, "text/html", "<html>"), "is this the URL"},
		"not found":              {answer(404, "text/plain", ""), "status 404"},
		"broken":                 {answer(500, "text/plain", ""), "status 500"},
		"elsewhere":              {http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP, "redirections are not followed"},
		"events without answer":  {answer(200, "text/event-stream", ": hello\n\ndata: {}\n\n"), "ended before the answer"},
		"an answer to nobody":    {answer(200, "application/json", `{"jsonrpc":"2.0","id":9,"result":{}}`), "no message of MCP"},
		"only the modern era":    {modern, ""},
		"modern, events, ending": {modernEvents, ""},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(tt.handler)
			defer web.Close()
			client := web.Client()
			defer client.CloseIdleConnections()
			l, err := toolsource.HTTP(context.Background(), toolsource.HTTPOptions{URL: web.URL, Client: client, Header: http.Header{"Authorization": {"secret"}}})
			if tt.want == "" {
				require.NoError(t, err)
				require.Len(t, l.Tools, 1)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
	require.Zero(t, followed.Load())
	for _, u := range []string{"", "127.0.0.1:80", "ftp://x/", "http://", "://"} {
		_, err := toolsource.HTTP(context.Background(), toolsource.HTTPOptions{URL: u})
		require.ErrorContains(t, err, "not the URL of an endpoint", u)
	}
	_, err := toolsource.HTTP(context.Background(), toolsource.HTTPOptions{URL: "http://user:secret@127.0.0.1:1/"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

func modernBody(w http.ResponseWriter, r *http.Request) string {
	if r.Header.Get("MCP-Protocol-Version") != "2026-07-28" || r.Header.Get("Mcp-Method") != "tools/list" {
		w.WriteHeader(http.StatusBadRequest)
		return ""
	}
	var m struct{ ID json.RawMessage }
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"resultType":"complete","tools":[{"name":"a","inputSchema":{}}]}}`
}

func modern(w http.ResponseWriter, r *http.Request) {
	if body := modernBody(w, r); body != "" {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprint(w, body)
	}
}

func modernEvents(w http.ResponseWriter, r *http.Request) {
	if body := modernBody(w, r); body != "" {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: message\r\ndata: "+strings.Replace(body, ",", ",\r\ndata: ", 1)) // no blank line at the end
	}
}
