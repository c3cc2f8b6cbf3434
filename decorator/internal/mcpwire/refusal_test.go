package mcpwire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func refused(code policy.Code, message string) policy.Decision {
	return policy.Decision{ID: "d-1", Tool: "read", Refusals: []policy.Refusal{{Code: code, Message: message, Location: "/to", Rule: "r1"}}}
}

func toolWith(t *testing.T, output bool) *policy.Tool {
	t.Helper()
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	return g.Tool(policy.ToolSpec{Name: "read", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: output})
}

const (
	plainCall = `{"jsonrpc":"2.0","id":"<\u0061>","method":"tools/call","params":{"name":"read"}}`
	taskCall  = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read","task":{"ttl":5}}}`
)

func TestRefusal(t *testing.T) {
	verdict := `{"decision_id":"d-1","refusals":[{"code":"denied","message":"no <b>","location":"/to","rule":"r1"}]}`
	text := `"The call was refused before it ran (denied).\n- /to: no <b>\nRepeating the same call will be refused again."`
	for name, c := range map[string]struct {
		line string
		d    policy.Decision
		tool *policy.Tool
		want string
	}{
		"tool result with structured content": {
			plainCall, refused(policy.Denied, "no <b>"), toolWith(t, false),
			`{"jsonrpc":"2.0","id":"<\u0061>","result":{"resultType":"complete","isError":true,"content":[{"type":"text","text":` + text + `}],` +
				`"structuredContent":` + verdict + `,"_meta":{"io.regogate/decision":` + verdict + `}}}`,
		},
		"tool result where an outputSchema forbids it": {
			plainCall, refused(policy.Denied, "no <b>"), toolWith(t, true),
			`{"jsonrpc":"2.0","id":"<\u0061>","result":{"resultType":"complete","isError":true,"content":[{"type":"text","text":` + text + `}],` +
				`"_meta":{"io.regogate/decision":` + verdict + `}}}`,
		},
		"task": {
			taskCall, refused(policy.Denied, "no <b>"), toolWith(t, false),
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":` + text + `,"data":{"decision_id":"d-1","code":"denied",` + verdict[len(`{"decision_id":"d-1",`):] + `}}`,
		},
		"unknown tool": {
			plainCall, policy.Decision{ID: "d-2", Refusals: []policy.Refusal{{Code: policy.UnknownTool, Message: "none"}}}, policy.UndeclaredTool("", "read"),
			`{"jsonrpc":"2.0","id":"<\u0061>","error":{"code":-32602,"message":"The call was refused before it ran (unknown_tool).\n- none\nList the server's tools and use one of them.",` +
				`"data":{"decision_id":"d-2","code":"unknown_tool","refusals":[{"code":"unknown_tool","message":"none"}]}}}`,
		},
		"not ready": {
			plainCall, policy.Decision{ID: "d-3", Refusals: []policy.Refusal{{Code: policy.NotReady, Message: "wait"}}}, nil,
			`{"jsonrpc":"2.0","id":"<\u0061>","result":{"resultType":"complete","isError":true,"content":[{"type":"text","text":"The call was refused before it ran (not_ready).\n- wait\nTry again later."}],` +
				`"_meta":{"io.regogate/decision":{"decision_id":"d-3","refusals":[{"code":"not_ready","message":"wait"}]}}}}`,
		},
		"the zero decision": {
			plainCall, policy.Decision{}, nil,
			`{"jsonrpc":"2.0","id":"<\u0061>","result":{"resultType":"complete","isError":true,"content":[{"type":"text","text":"The call was refused before it ran."}],` +
				`"_meta":{"io.regogate/decision":{"decision_id":"","refusals":[]}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, fault := Read([]byte(c.line), Limits{})
			require.Nil(t, fault)
			require.Equal(t, c.want, string(Refusal(m, c.d, c.tool)))
			require.True(t, json.Valid([]byte(c.want)))
		})
	}
}

func TestErrorResponse(t *testing.T) {
	require.Equal(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a\nb"}}`, string(ErrorResponse(nil, CodeParse, "a\nb", nil)))
	odd := ErrorResponse(json.RawMessage(`1`), CodeParse, "x", func() {})
	require.True(t, json.Valid(odd), string(odd))
	require.Contains(t, string(odd), `"error"`)
}
