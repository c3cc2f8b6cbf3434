package regoeval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

const anyCall = "package shared.all\n\ndeny contains \"no\" if input.arguments.n == 0\n"

func pinFiles(tools string) map[string]string {
	return map[string]string{"all.rego": anyCall, "pinned/data.json": tools,
		".manifest": `{"roots":["shared","pinned"],"metadata":{"regogate":{"common":[{"package":"shared.all"}]}}}`}
}

// A tool is compared with the pin of its own server, then with one for every server.
func TestPinsByServer(t *testing.T) {
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	spec := func(server, name string) policy.ToolSpec {
		return policy.ToolSpec{Server: server, Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
	}
	pin := func(server, name string, right bool) string {
		digest := g.Tool(spec(server, name)).Digest()
		if !right {
			digest = "sha256:" + strings.Repeat("0", 64)
		}
		return fmt.Sprintf(`{"server":%q,"name":%q,"digest":%q,"description_digest":"","inputSchema":{"type":"object"}}`, server, name, digest)
	}
	tests := []struct {
		name, pins   string
		server, tool string
		want         policy.Code
	}{
		{"its own", pin("s", "x", true), "s", "x", ""},
		{"its own, changed", pin("s", "x", false), "s", "x", policy.ToolChanged},
		{"another tool of its server", pin("s", "x", true), "s", "y", policy.ToolChanged},
		{"another server", pin("s", "x", false), "t", "x", ""},
		{"every server", pin("", "x", true), "t", "x", ""},
		{"every server, changed", pin("", "x", false), "t", "x", policy.ToolChanged},
		{"its own before every server", pin("", "x", false) + "," + pin("t", "x", true), "t", "x", ""},
		{"a server without a name", pin("s", "x", true), "", "x", ""},
		{"a server without a name, changed", pin("s", "x", false), "", "x", policy.ToolChanged},
		{"a server without a name, nobody knows which", pin("s", "x", false) + "," + pin("t", "x", true), "", "x", policy.ToolChanged},
		{"a server without a name, not pinned", pin("s", "y", true), "", "x", policy.ToolChanged},
		{"nothing", "", "s", "x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rs := mustLoad(t, pinFiles(`{"tools":[`+tt.pins+`]}`))
			g.Use(rs)
			d := g.Decide(context.Background(), policy.Call{Tool: g.Tool(spec(tt.server, tt.tool)), Arguments: []byte(`{"n":1}`)})
			require.Equal(t, tt.want, d.Code(), d.Text())
		})
	}
}

func TestBadPins(t *testing.T) {
	zero := `"digest":"sha256:` + strings.Repeat("0", 64) + `"`
	for _, pins := range []string{
		`[]`, `{"tools":{}}`, `{"tools":null}`, `{"tools":[1]}`, `{"tools":[{}]}`, `{"tools":[{"name":"x"}]}`, `{"tools":[{"name":"",` + zero + `}]}`,
		`{"tools":[{"name":"x","server":1,` + zero + `}]}`, `{"tools":[{"name":"x","digest":"sha256:00"}]}`,
		`{"tools":[{"name":"x",` + zero + `},{"name":"x","server":"",` + zero + `}]}`,
	} {
		_, err := load(t, pinFiles(pins))
		require.ErrorContains(t, err, "b/pinned/data.json: pins: data.pinned", pins)
	}
	rs := mustLoad(t, pinFiles(`{"tools":[{"name":"x","server":null,`+zero+`}]}`))
	require.Equal(t, 1, rs.Pins())
	require.Zero(t, mustLoad(t, pinFiles(`{"mine":1}`)).Pins(), "not ours")
}
