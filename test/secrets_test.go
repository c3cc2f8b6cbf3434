package test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// secrets are what is planted: the secret, and arguments that hold it by name, by
// shape, nested, in JSON within a string, and in the middle of a text.
// shaped are recognised wherever they stand; the others by what is around them.
var secrets = []struct {
	secret, arguments string
	shaped            bool
}{
	{"Tr0ub4dor&3x", `{"password":"Tr0ub4dor&3x"}`, false},
	{"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", `{"env":{"aws_secret_access_key":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}}`, false},
	{"AKIAIOSFODNN7EXAMPLE", `{"text":"key AKIAIOSFODNN7EXAMPLE please"}`, true},
	{"ghp_16C7e42F292c6912E7710c838347Ae178B4a", `{"list":[["ghp_16C7e42F292c6912E7710c838347Ae178B4a"]]}`, true},
	{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N", `{"text":"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N"}`, true},
	{"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", `{"text":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"}`, false},
	{"hunter2horse", `{"text":"postgres://bob:hunter2horse@db.example/x"}`, false},
	{"batterystaple9", `{"body":"{\"data\":\"{\\\"apiKey\\\":\\\"batterystaple9\\\"}\"}"}`, false},
	{"xkcdxkcdx1", `{"headers":[{"name":"X-Api-Key","value":"xkcdxkcdx1"}]}`, false},
	{"s3cretquery7", `{"text":"https://x.example/a?access_token=s3cretquery7&b=c"}`, false},
	{"83719204817", `{"deep":{"deeper":{"pin":83719204817}}}`, false},
	{"exportedt0ken", `{"text":"export API_TOKEN=exportedt0ken; run"}`, false},
}

// secretsPolicy refuses for every reason that there is, and warns by repeating all that
// it sees; a deny rule whose own message repeats an argument passes that on, so there is none.
const secretsPolicy = `package tools.open

import rego.v2

deny contains "no" if input.arguments.how == "denied"

deny contains "never" if {
	input.arguments.how == "undecided"
	to_number(json.marshal(input.arguments)) == 1
}

deny contains "never" if {
	input.arguments.how == "too many steps"
	some a in numbers.range(1, 2000)
	some b in numbers.range(1, 2000)
	a * b == 0
}

warn contains {"msg": json.marshal(input.arguments), "rule": json.marshal(input.arguments), "location": json.marshal(input.arguments)}
`

// openKind makes the test binary be an openServer.
const openKind = "open"

// openServer is an MCP server with a tool that takes anything, and one that takes little.
func openServer(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "open", Version: "1"}, nil)
	for name, schema := range map[string]string{
		"open": `{"type":"object"}`, "uncovered": `{"type":"object"}`,
		"strict":  `{"type":"object","properties":{"n":{"type":"integer","enum":[1,2]},"s":{"type":"string","pattern":"^[a-c]*$","maxLength":3},"u":{"type":"string","format":"uri"}},"required":["n"],"additionalProperties":false}`,
		"unusual": `{"type":"object","properties":{"a":{"$ref":"https://nowhere.invalid/x"}}}`,
	} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
		})
	}
	return server.Run(ctx, &mcp.StdioTransport{})
}

// plantedLines are messages with one of the secrets in them, by their ids; with each
// the code or the number that the answer has to have.
func plantedLines(secret, arguments string, shaped bool) (lines, codes map[string]string) {
	lines, codes = map[string]string{}, map[string]string{}
	text, _ := json.Marshal(secret)
	add := func(code, format string, a ...any) {
		id := fmt.Sprint(100 + len(lines))
		lines[id], codes[id] = strings.ReplaceAll(fmt.Sprintf(format, a...), "%ID%", id), code
	}
	how := func(how string) string { return `{"how":"` + how + `",` + arguments[1:] }
	tool := func(code, name, arguments string) {
		add(code, `{"jsonrpc":"2.0","id":%%ID%%,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, name, arguments)
	}
	tool(`"done"`, "open", how("allowed"))
	tool("denied", "open", how("denied"))
	tool("undecided", "open", how("undecided"))
	tool("undecided", "open", how("too many steps"))
	tool("unmapped", "uncovered", arguments)
	tool("schema_unusable", "unusual", arguments)
	tool("schema_violation", "strict", arguments)
	tool("schema_violation", "strict", `{"n":`+arguments+`}`)
	tool("schema_violation", "strict", `{"n":1,"s":[`+arguments+`],"x":`+arguments+`}`)
	tool("malformed", "open", `{"a":1,"a":`+arguments+`}`)
	if !shaped {
		text = []byte(`"x"`)
	}
	for _, a := range []string{`{"n":%s}`, `{"n":1,"s":%s}`, `{"n":1,"u":[%s]}`, `{"n":1,%s:1}`, `{"n":{"a":%s}}`, `{%s:{"x":1}}`, `{"n":1,"s":{%s:%[1]s}}`} {
		tool("schema_violation", "strict", fmt.Sprintf(a, text))
	}
	for _, a := range []string{`{"a":%s,"a":1}`, `{%s:1,%[1]s:2}`, `{"a":%s,"A":1}`, `[%s]`, `%s`, `{"a":"\ud800","b":%s}`, `{"b":%s,"n":1e999999}`, `{"b":%s,"d":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`} {
		tool("malformed", "open", fmt.Sprintf(a, text))
	}
	tool("malformed", "open", `{"big":"`+strings.Repeat("x", 5000)+`",`+arguments[1:])
	add("-32602", `{"jsonrpc":"2.0","id":%%ID%%,"method":"tools/call","params":{"name":%s,"arguments":%s}}`, text, arguments)
	add("-32602", `{"jsonrpc":"2.0","id":%%ID%%,"method":"tools/call","params":{"name":"open","arguments":%s,"task":{"ttl":1}}}`, how("denied"))
	add("-32", `{"jsonrpc":"2.0","id":%%ID%%,"method":%s,"params":%s}`, text, arguments)
	add("-32", `{"jsonrpc":"2.0","id":%%ID%%,"method":"x/unknown","params":%s}`, arguments)
	add("-32", `{"jsonrpc":"2.0","id":%%ID%%,"method":"tools/call","Params":%s,"params":{"name":"open"}}`, arguments)
	add(`"done"`, `{"jsonrpc":"2.0","id":%%ID%%,"method":"tools/call","params":{"name":"open","arguments":{"how":"x"},"_meta":{"traceparent":%s,"progressToken":%[1]s}}}`, text)
	return lines, codes
}

// brokenLines are no messages at all, with the secret in them.
func brokenLines(secret string) []string {
	text, _ := json.Marshal(secret)
	return []string{`{"jsonrpc":"2.0","method":` + string(text), `[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + string(text) + `}}]`, string(text), secret,
		`{"jsonrpc":"2.0","method":"notifications/` + strings.ReplaceAll(strings.Trim(string(text), `"`), `\`, "") + `","params":{"a":` + string(text) + `}}`, `{"jsonrpc":"1.0","id":7,"method":"ping","x":` + string(text) + `}`}
}

// A sieve keeps all that comes to it over HTTP, unzipped.
type sieve struct {
	*httptest.Server
	mu   sync.Mutex
	text bytes.Buffer
}

func newSieve(t *testing.T) *sieve {
	s := &sieve{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		body := io.Reader(r.Body)
		if zr, err := gzip.NewReader(r.Body); err == nil {
			body = zr
		}
		_ = r.Header.Write(&s.text)
		_, _ = io.Copy(&s.text, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sieve) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A watchedGate is everything that can be read of a gate that runs.
type watchedGate struct {
	config, admin, file string
	spans, records      *sieve
	told                map[string]string // by where it was told
}

func newWatchedGate(t *testing.T) *watchedGate {
	t.Helper()
	w := &watchedGate{admin: freeAddress(t), file: filepath.Join(t.TempDir(), "decisions.jsonl"), spans: newSieve(t), records: newSieve(t), told: map[string]string{}}
	bundle := writeBundle(t, map[string]string{
		".manifest": `{"revision":"r1","roots":["tools"],"metadata":{"regogate":{"map":[{"tool":"strict","package":"tools.open"},{"tool":"unusual","package":"tools.open"}]}}}`,
		"open.rego": secretsPolicy,
	})
	w.config = filepath.Join(t.TempDir(), "gate.yaml")
	require.NoError(t, os.WriteFile(w.config, fmt.Appendf(nil, `bundle: %s
admin: {listen: "%s"}
limits: {argument_bytes: 4KiB}
decision_log: {file: %s, stderr: true, url: %s}
telemetry: {otlp: {url: %s}}
`, bundle, w.admin, w.file, w.records.URL, w.spans.URL), 0o600))
	return w
}

// look asks the admin listener.
func (w *watchedGate) look(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/metrics", "/status", "/readyz"} {
		w.told[path] = eventually(t, w.admin, path, http.StatusOK)
	}
	out, _ := exec.Command(program(t), "status", "--admin", w.admin).CombinedOutput()
	w.told["status"] = string(out)
}

// ended collects what is there after the gate has ended, and looks for the secrets.
func (w *watchedGate) ended(t *testing.T, answers []string) {
	t.Helper()
	file, err := os.ReadFile(w.file)
	require.NoError(t, err)
	w.told["decision log"], w.told["decision log, sent"], w.told["spans"] = string(file), w.records.String(), w.spans.String()
	w.told["answers"] = strings.Join(answers, "\n")
	for _, code := range []string{"denied", "undecided", "unmapped", "schema_unusable", "schema_violation", "malformed", "unknown_tool"} {
		for _, where := range []string{"/metrics", "spans", "decision log", "decision log, sent", "stderr"} {
			require.Contains(t, w.told[where], code, "%s has no %s: the test shows nothing", where, code)
		}
	}
	require.Contains(t, w.told["spans"], "regogate.decide")
	for where, text := range w.told {
		require.NotEmpty(t, text, where)
		low := strings.ToLower(text)
		for _, s := range secrets {
			for _, part := range []string{s.secret, s.secret[:len(s.secret)*3/4], s.secret[len(s.secret)/4:]} {
				if i := strings.Index(low, strings.ToLower(part)); i >= 0 {
					t.Errorf("%s tells %q: …%s…", where, part, text[max(0, i-200):min(len(text), i+100)])
				}
			}
		}
	}
}

// check looks whether an answer is the one that was expected.
func checkAnswer(t *testing.T, line, want, answer string) {
	t.Helper()
	require.Contains(t, answer, want, "%s", line)
}

func TestPlantedSecretsThroughRun(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			w := newWatchedGate(t)
			self, err := os.Executable()
			require.NoError(t, err)
			c := startWire(t, gated(t, []string{"--config", w.config, "--format", format}, []string{"env", stdioServerEnv + "=" + openKind, self}), nil)
			c.handshake(`{}`)
			for _, s := range secrets {
				lines, codes := plantedLines(s.secret, s.arguments, s.shaped)
				for id, line := range lines {
					checkAnswer(t, line, codes[id], c.request(id, line))
					delete(codes, id)
				}
				c.forget()
			}
			for _, s := range secrets {
				for _, line := range brokenLines(s.secret) {
					c.send(line)
				}
			}
			c.request("9999", `{"jsonrpc":"2.0","id":9999,"method":"ping"}`)
			w.look(t)
			answers, _ := c.close()
			w.told["stderr"] = c.stderr.String()
			w.ended(t, append(answers, c.forgotten...))
		})
	}
}

func TestPlantedSecretsThroughServe(t *testing.T) {
	w := newWatchedGate(t)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program(t), "serve", "--listen", "127.0.0.1:0", "--config", w.config, "--", "env", stdioServerEnv+"="+openKind, self)
	stderr := &lines{}
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	endpoint := ""
	require.Eventually(t, func() bool {
		if m := servingAt.FindStringSubmatch(stderr.String()); m != nil {
			endpoint = m[1]
		}
		return endpoint != ""
	}, time.Minute, 10*time.Millisecond, "%s", stderr)
	response, err := post(endpoint, "", initialize)
	require.NoError(t, err)
	session := response.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	_, err = post(endpoint, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.NoError(t, err)
	var answers []string
	said := func(response *http.Response, err error) string {
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		var header strings.Builder
		require.NoError(t, response.Header.Write(&header))
		answers = append(answers, header.String(), string(body))
		return string(body)
	}
	for _, s := range secrets {
		planted, codes := plantedLines(s.secret, s.arguments, s.shaped)
		for id, line := range planted {
			checkAnswer(t, line, codes[id], said(post(endpoint, session, line)))
		}
		for _, line := range brokenLines(s.secret) {
			said(post(endpoint, session, line))
		}
		said(post(endpoint+"?token="+strings.NewReplacer("&", "", "\n", "").Replace(s.secret), session, initialize))
		said(post(endpoint+"/"+s.secret, session, initialize))
		said(post(endpoint, s.secret, planted["100"]))
		for _, header := range []string{"Authorization", "Mcp-Name", "Mcp-Method", "Traceparent", "Origin", "Content-Encoding", "X-Any"} {
			request, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(planted["100"]))
			require.NoError(t, err)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "application/json, text/event-stream")
			request.Header.Set("Mcp-Session-Id", session)
			request.Header.Set(header, s.secret)
			said(http.DefaultClient.Do(request))
		}
	}
	w.look(t)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	w.told["stderr"] = stderr.String()
	w.ended(t, answers)
}
