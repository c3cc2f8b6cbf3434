package demo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

// ungated is a client of the example server with nothing in between: every call
// reaches it. What the recorder says is up to the test.
func ungated(t *testing.T) *Client {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server, err := newServer().Connect(t.Context(), there, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close(); _ = server.Wait() })
	return &Client{session: session, recorder: NewRecorder()}
}

// The demonstration sees that a gate doesn't do what it says.
func TestTryProvesItself(t *testing.T) {
	allowed := policy.Decision{Allowed: true, Effective: true}
	refused := func(c policy.Code) policy.Decision {
		return policy.Decision{Refusals: []policy.Refusal{{Code: c, Message: "no"}}}
	}
	for name, c := range map[string]struct {
		want      policy.Code
		tool      string
		decisions []policy.Decision
		wrong     string // "" when all is as it should be
	}{
		"allowed and reached":            {"", "read_file", []policy.Decision{allowed}, ""},
		"no decision":                    {"", "read_file", nil, "0 decisions"},
		"decided twice":                  {"", "read_file", []policy.Decision{allowed, allowed}, "2 decisions"},
		"allowed, should be denied":      {policy.Denied, "read_file", []policy.Decision{allowed}, "want denied"},
		"denied, should be allowed":      {"", "read_file", []policy.Decision{refused(policy.Denied)}, "want allowed"},
		"another code":                   {policy.Denied, "read_file", []policy.Decision{refused(policy.Unmapped)}, "want denied"},
		"denied, but reached the server": {policy.Denied, "read_file", []policy.Decision{refused(policy.Denied)}, "the client was told"},
		"unknown, but reached":           {policy.UnknownTool, "read_file", []policy.Decision{refused(policy.UnknownTool)}, "the client got no error"},
		"unknown":                        {policy.UnknownTool, "delete_all", []policy.Decision{refused(policy.UnknownTool)}, ""},
		"allowed, but never reached":     {"", "delete_all", []policy.Decision{allowed}, "the client got an error"},
	} {
		t.Run(name, func(t *testing.T) {
			client := ungated(t)
			for _, d := range c.decisions {
				client.recorder.Record(t.Context(), policy.Record{Decision: d})
			}
			o := client.Try(t.Context(), Case{Tool: c.tool, Arguments: `{"path":"x"}`, Want: c.want})
			if c.wrong == "" {
				require.Empty(t, o.Wrong)
				return
			}
			require.Contains(t, o.Wrong, c.wrong)
		})
	}
}

// A refused call that reaches the server is seen at the next allowed one.
func TestTryCountsWhatReachesTheServer(t *testing.T) {
	client := ungated(t)
	client.recorder.Record(t.Context(), policy.Record{Decision: policy.Decision{Refusals: []policy.Refusal{{Code: policy.Denied}}}})
	client.Try(t.Context(), Case{Tool: "read_file", Arguments: `{"path":"x"}`, Want: policy.Denied})
	client.recorder.Record(t.Context(), policy.Record{Decision: policy.Decision{Allowed: true}})
	o := client.Try(t.Context(), Case{Tool: "read_file", Arguments: `{"path":"x"}`})
	require.Contains(t, o.Wrong, "should have seen 1 calls")
}

func TestWriteBundle(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WriteBundle(dir))
	for _, name := range []string{".manifest", "send_mail.rego", "book_room.rego"} {
		require.FileExists(t, filepath.Join(dir, name))
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

func TestCasesShowEveryKind(t *testing.T) {
	seen := map[policy.Code]bool{}
	for _, k := range Cases() {
		seen[k.Want] = true
		require.NotEmpty(t, k.Why)
	}
	for _, code := range []policy.Code{"", policy.SchemaViolation, policy.Denied, policy.Undecided, policy.Malformed, policy.UnknownTool} {
		require.True(t, seen[code], code)
	}
}
