package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// everythingScript exercises what a session of server-everything can do, one step
// after the other, so that the order of the lines is the same on every run.
func everythingScript(c *wireClient) {
	c.handshake(`{"sampling":{},"elicitation":{"form":{}},"roots":{"listChanged":true}}`)
	c.await("the server's question for roots", func(l string) bool { return strings.Contains(l, `"roots/list"`) })
	time.Sleep(300 * time.Millisecond) // it adds tools when it has the roots
	steps := []string{
		`"method":"ping"`,
		`"method":"tools/list"`,
		`"method":"tools/list","params":{}`,
		`"method":"tools/call","params":{"name":"echo","arguments":{"message":"h\u00e9llo \u2028 <&>"}}`,
		`"method":"tools/call","params":{"arguments":{"b":2.50,"a":9007199254740993},"name":"get-sum"}`,
		`"method":"tools/call","params":{"name":"get-tiny-image"}`,
		`"method":"tools/call","params":{"name":"get-structured-content","arguments":{"location":"New York"}}`,
		`"method":"tools/call","params":{"name":"get-annotated-message","arguments":{"messageType":"success","includeImage":true}}`,
		`"method":"tools/call","params":{"name":"get-resource-links","arguments":{"count":2}}`,
		`"method":"tools/call","params":{"name":"trigger-long-running-operation","arguments":{"duration":0.4,"steps":4},"_meta":{"progressToken":"p1"}}`,
		`"method":"tools/call","params":{"name":"trigger-sampling-request","arguments":{"prompt":"say hi","maxTokens":10}}`,
		`"method":"tools/call","params":{"name":"trigger-elicitation-request","arguments":{}}`,
		`"method":"tools/call","params":{"name":"get-roots-list","arguments":{}}`,
		`"method":"resources/list"`,
		`"method":"resources/templates/list"`,
		`"method":"resources/read","params":{"uri":"demo://resource/static/document/architecture.md"}`,
		`"method":"resources/subscribe","params":{"uri":"demo://resource/dynamic/text/1"}`,
		`"method":"prompts/list"`,
		`"method":"prompts/get","params":{"name":"simple-prompt"}`,
		`"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"E"}}`,
		`"method":"logging/setLevel","params":{"level":"error"}`,
		`"method":"resources/read","params":{"uri":"demo://no/such"}`,
		`"method":"prompts/get","params":{"name":"no-such-prompt"}`,
	}
	for i, s := range steps {
		id := json.RawMessage(`"s` + strings.Repeat("i", i+1) + `"`)
		c.request(string(id), `{"jsonrpc":"2.0","id":`+string(id)+`,`+s+`}`)
	}
	c.send(`{"jsonrpc":"2.0","id":"cancelled","method":"tools/call","params":{"name":"trigger-long-running-operation","arguments":{"duration":3,"steps":1}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"cancelled","reason":"enough"}}`)
	c.request(`"last"`, `{"jsonrpc":"2.0","id":"last","method":"ping"}`)
}

func everythingAnswers(method string) string {
	switch method {
	case "sampling/createMessage":
		return `{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m","stopReason":"endTurn"}`
	case "elicitation/create":
		return `{"action":"accept","content":{"name":"Ann","check":true,"email":"a@example.com"}}`
	case "roots/list":
		return `{"roots":[{"uri":"file:///tmp/project","name":"project"}]}`
	default:
		return ""
	}
}

// changing is what differs between two runs of one server: times.
var changing = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z|\d\d?:\d\d:\d\d [AP]M`)

// comparable brings the lines of a run into an order that doesn't depend on timing:
// answers and notifications of different requests may overtake each other.
func comparable(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, changing.ReplaceAllString(l, "TIME"))
	}
	slices.Sort(out)
	return out
}

// Everything that the gate has no objection to is byte-identical to the server alone.
func TestEverythingIsByteIdenticalThroughTheGate(t *testing.T) {
	server := npmServer(t, "mcp-server-everything", "stdio")
	run := func(command []string) ([]string, int) {
		c := startWire(t, command, everythingAnswers)
		everythingScript(c)
		return c.close()
	}
	direct, directStatus := run(server)
	through, throughStatus := run(gated(t, []string{"--bundle", allowAll(t)}, server))
	require.Equal(t, comparable(direct), comparable(through))
	require.Equal(t, directStatus, throughStatus)
	require.Greater(t, len(direct), 30)
}

func TestMemoryIsByteIdenticalThroughTheGate(t *testing.T) {
	run := func(wrap func([]string) []string) []string {
		file := filepath.Join(t.TempDir(), "memory.json")
		server := append([]string{"env", "MEMORY_FILE_PATH=" + file}, npmServer(t, "mcp-server-memory")...)
		c := startWire(t, wrap(server), nil)
		c.handshake(`{}`)
		for i, s := range []string{
			`"method":"tools/list"`,
			`"method":"tools/call","params":{"name":"create_entities","arguments":{"entities":[{"name":"Ann","entityType":"person","observations":["likes tea"]}]}}`,
			`"method":"tools/call","params":{"name":"create_relations","arguments":{"relations":[{"from":"Ann","to":"Ann","relationType":"knows"}]}}`,
			`"method":"tools/call","params":{"name":"search_nodes","arguments":{"query":"tea"}}`,
			`"method":"tools/call","params":{"name":"read_graph","arguments":{}}`,
			`"method":"tools/call","params":{"name":"read_graph"}`,
			`"method":"tools/call","params":{"name":"delete_entities","arguments":{"entityNames":["Ann"]}}`,
		} {
			id := string(rune('1' + i))
			c.request(id, `{"jsonrpc":"2.0","id":`+id+`,`+s+`}`)
		}
		lines, status := c.close()
		require.Zero(t, status)
		return lines
	}
	direct := run(func(s []string) []string { return s })
	through := run(func(s []string) []string { return gated(t, []string{"--bundle", allowAll(t)}, s) })
	require.Equal(t, comparable(direct), comparable(through))
}

// A real file server behind a real policy: what is outside never reaches it.
func TestFilesystemBehindAPolicy(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.txt"), []byte("inside"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "secret.txt"), []byte("hidden"), 0o600))
	bundle := writeBundle(t, map[string]string{
		".manifest": `{"revision":"fs1","roots":["tools","shared"],"metadata":{"regogate":{"map":[{"tool":"*","package":"shared.inside"}]}}}`,
		"inside.rego": `package shared.inside

import rego.v2

deny contains {"msg": "only files below the project may be used", "rule": "inside", "location": "/path"} if {
	path := object.get(input.arguments, "path", data.shared.root)
	not startswith(path, data.shared.root)
}
`,
		"read.rego": `package tools.read_text_file

import rego.v2

deny contains "secrets are not read" if contains(input.arguments.path, "secret")
`,
		"shared/data.json": `{"root":` + string(mustMarshal(t, root)) + `}`,
	})
	c := startWire(t, gated(t, []string{"--bundle", bundle}, npmServer(t, "mcp-server-filesystem", root)), nil)
	c.handshake(`{}`)
	tests := []struct {
		name, call string
		code       string // "" when the server answers
		text       string
	}{
		{"inside", `{"name":"read_text_file","arguments":{"path":` + string(mustMarshal(t, filepath.Join(root, "a.txt"))) + `}}`, "", "inside"},
		{"outside", `{"name":"read_text_file","arguments":{"path":"/etc/passwd"}}`, "denied", "only files below the project"},
		{"secret", `{"name":"read_text_file","arguments":{"path":` + string(mustMarshal(t, filepath.Join(root, "secret.txt"))) + `}}`, "denied", "secrets are not read"},
		{"wrong type", `{"name":"read_text_file","arguments":{"path":7}}`, "schema_violation", "/path"},
		{"missing", `{"name":"read_text_file","arguments":{}}`, "schema_violation", "path"},
		{"absent arguments", `{"name":"read_text_file"}`, "schema_violation", "path"},
		{"name twice", `{"name":"read_text_file","arguments":{"path":"` + root + `/a.txt","path":"/etc/passwd"}}`, "malformed", ""},
		{"no arguments needed", `{"name":"list_allowed_directories"}`, "", filepath.Base(root)},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id := string(mustMarshal(t, i+1))
			line := c.request(id, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":`+tt.call+`}`)
			var answer struct {
				Result struct {
					IsError    bool   `json:"isError"`
					ResultType string `json:"resultType"`
					Content    []struct{ Type, Text string }
				}
				Error json.RawMessage
			}
			require.NoError(t, json.Unmarshal([]byte(line), &answer))
			require.Nil(t, answer.Error, line)
			require.NotEmpty(t, answer.Result.Content)
			require.Equal(t, tt.code != "", answer.Result.IsError, line)
			require.Contains(t, answer.Result.Content[0].Text, tt.text)
			if tt.code != "" {
				require.Equal(t, "complete", answer.Result.ResultType)
				require.Contains(t, answer.Result.Content[0].Text, tt.code)
				require.NotContains(t, line, "inside\\n")
			}
		})
	}
	unknown := c.request("99", `{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"rm","arguments":{}}}`)
	require.Contains(t, unknown, `-32602`)
	_, status := c.close()
	require.Zero(t, status)
	require.Contains(t, c.stderr.String(), "read_text_file")
}

func mustMarshal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// The official TypeScript client sees the same server through the gate as without
// it, but for the calls that the gate refuses.
func TestTypeScriptClientSeesTheSameServer(t *testing.T) {
	server := npmServer(t, "mcp-server-everything", "stdio")
	sameButRefused(t, drive(t, "everything.mjs", server...), drive(t, "everything.mjs", gated(t, []string{"--bundle", allowAll(t)}, server)...), refusedSteps...)
}
