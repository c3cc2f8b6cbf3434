package gosdk_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

func request(name, arguments string) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name, Arguments: json.RawMessage(arguments)}}
}

func TestHandlerRunsOnlyWhatIsLetThrough(t *testing.T) {
	tests := []struct {
		name, arguments string
		want            policy.Code
		got             string
	}{
		{"allowed", "{ \"path\": \"a\",\t\"n\": 9007199254740993 }", "", ``},
		{"denied", `{"path":"/etc/shadow"}`, policy.Denied, ""},
		{"schema", `{"path":1}`, policy.SchemaViolation, ""},
		{"malformed", `{"path":"a","path":"b"}`, policy.Malformed, ""},
		{"trailing data", `{"path":"a"} {"path":"/etc/shadow"}`, policy.Malformed, ""},
		{"absent", ``, policy.SchemaViolation, ""},
		{"undecided", `{"path":"error"}`, policy.Undecided, ""},
	}
	var s spy
	h, err := gosdk.Handler(adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), tool("read", pathSchema), s.handle, gosdk.Options{})
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := h(context.Background(), request("read", tt.arguments))
			require.NoError(t, err)
			if tt.want == "" {
				require.False(t, r.IsError)
				require.Equal(t, []string{tt.arguments}, s.Take(), "the very bytes")
				return
			}
			require.Equal(t, tt.want, codeOf(t, r))
			require.Empty(t, s.Take())
		})
	}
	for name, req := range map[string]*mcp.CallToolRequest{"nil": nil, "no params": {}, "another tool": request("write", `{"path":"a"}`)} {
		t.Run(name, func(t *testing.T) {
			r, err := h(context.Background(), req)
			require.NoError(t, err)
			require.Equal(t, policy.Undecided, codeOf(t, r))
			require.Empty(t, s.Take())
		})
	}
}

func TestHandlerRefusesWhatCanNeverWork(t *testing.T) {
	g := adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
	h := (&spy{}).handle
	tests := []struct {
		name string
		tool *mcp.Tool
		h    mcp.ToolHandler
		want string
	}{
		{"nil tool", nil, h, "tool is nil"},
		{"no name", &mcp.Tool{InputSchema: json.RawMessage(openSchema)}, h, "no name"},
		{"nil handler", tool("read", openSchema), nil, "handler is nil"},
		{"no schema", &mcp.Tool{Name: "read"}, h, "declares no inputSchema"},
		{"schema that can't be used", tool("read", brokenSchema), h, "inputSchema"},
		{"schema that is no JSON", tool("read", `{`), h, "no JSON"},
		{"schema that can't be encoded", &mcp.Tool{Name: "read", InputSchema: func() {}}, h, "no JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := gosdk.Handler(g, tt.tool, tt.h, gosdk.Options{})
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, got)
		})
	}
}

// asking is a tool that asks its user for a confirmation before it does anything.
func asking(runs *[]string, mu *sync.Mutex) mcp.ToolHandler {
	return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		answer, ok := req.Params.InputResponses["confirm"].(*mcp.ElicitResult)
		if !ok {
			*runs = append(*runs, "asked")
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"confirm": &mcp.ElicitParams{Message: "sure?"}}, RequestState: "s1"}, nil
		}
		*runs = append(*runs, answer.Action+" "+req.Params.RequestState)
		return text("done"), nil
	}
}

// declining refuses calls whose user did not accept.
func declining(seen *[]string, mu *sync.Mutex) policy.ValidatorFunc {
	return func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		mu.Lock()
		defer mu.Unlock()
		responses := in.Call().Responses
		confirm, ok := responses["confirm"].(map[string]any)
		if !ok {
			*seen = append(*seen, "first")
			return nil, nil
		}
		action, _ := confirm["action"].(string)
		*seen = append(*seen, action)
		if action != "accept" {
			return []policy.Refusal{{Message: "the user said no"}}, nil
		}
		return nil, nil
	}
}

func elicit(action string) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: action}, nil
	}}
}

// Each time that a call comes with a client's answers, it is decided anew.
func TestRetriesAreDecidedAnew(t *testing.T) {
	tests := []struct {
		name, action string
		wrap         bool // Handler, not Middleware
		version      string
		seen, runs   []string
		refused      bool
	}{
		{"middleware, stateless, accepted", "accept", false, modern, []string{"first", "accept"}, []string{"asked", "accept s1"}, false},
		{"middleware, stateless, declined", "decline", false, modern, []string{"first", "decline"}, []string{"asked"}, true},
		{"handler, stateless, declined", "decline", true, modern, []string{"first", "decline"}, []string{"asked"}, true},
		{"handler, sessions, accepted", "accept", true, legacy, []string{"first", "accept"}, []string{"asked", "accept s1"}, false},
		{"handler, sessions, declined", "decline", true, legacy, []string{"first", "decline"}, []string{"asked"}, true},
		// The SDK repeats the handler within one tools/call: see Limits.
		{"middleware, sessions", "decline", false, legacy, []string{"first"}, []string{"asked", "decline s1"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			var seen, runs []string
			g := adaptertest.NewGate(t, policy.Options{}, declining(&seen, &mu))
			server := newServer(nil)
			h := asking(&runs, &mu)
			if tt.wrap {
				var err error
				h, err = gosdk.Handler(g, tool("send", openSchema), h, gosdk.Options{})
				require.NoError(t, err)
			} else {
				require.NoError(t, gosdk.GateServer(server, g, gosdk.Options{}))
			}
			server.AddTool(tool("send", openSchema), h)
			r, err := call(t, inMemory(tt.version)(t, server, newClient(elicit(tt.action))), "send", `{}`)
			require.NoError(t, err)
			require.Equal(t, tt.refused, r.IsError)
			require.Equal(t, tt.seen, seen)
			require.Equal(t, tt.runs, runs)
		})
	}
}
