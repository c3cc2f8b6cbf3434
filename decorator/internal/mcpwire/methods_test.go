package mcpwire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func passes(t *testing.T, m *Methods, line string) bool {
	t.Helper()
	msg, fault := Read([]byte(line), Limits{})
	require.Nil(t, fault)
	return m.Pass(msg)
}

func TestMethodsDefault(t *testing.T) {
	var none *Methods
	empty, err := NewMethods(nil)
	require.NoError(t, err)
	for _, m := range []*Methods{none, {}, empty} {
		for _, method := range []string{"initialize", "ping", "server/discover", "tools/list", "resources/list", "resources/templates/list",
			"resources/read", "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete",
			"logging/setLevel", "subscriptions/listen", "tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"} {
			require.True(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`), method)
			require.False(t, passes(t, m, `{"jsonrpc":"2.0","method":"`+method+`"}`), "%s without an id", method)
		}
		for _, method := range []string{"notifications/initialized", "notifications/cancelled", "notifications/progress",
			"notifications/roots/list_changed", "notifications/tasks/status"} {
			require.True(t, passes(t, m, `{"jsonrpc":"2.0","method":"`+method+`"}`), method)
			require.False(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`), "%s with an id", method)
		}
		for _, method := range []string{"tools/Call", "tools/call ", "Tools/list", "vendor/run", "sampling/createMessage", "elicitation/create",
			"roots/list", "notifications/message", "notifications/tools/list_changed", "rpc.discover"} {
			require.False(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`), method)
			require.False(t, passes(t, m, `{"jsonrpc":"2.0","method":"`+method+`"}`), method)
		}
		require.False(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`), "tools/call never passes undecided")
		require.False(t, passes(t, m, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}`))
		require.False(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"result":{}}`), "a response has no method")
		require.Subset(t, m.Undecided(), []string{"resources/read", "prompts/get", "completion/complete"})
		require.NotContains(t, m.Undecided(), "ping")
		require.NotContains(t, m.Undecided(), "tools/call")
		require.IsNonDecreasing(t, m.Undecided())
	}
}

func TestMethodFault(t *testing.T) {
	m, fault := Read([]byte(`{"jsonrpc":"2.0","id":"\u0061","method":"hunter2/run"}`), Limits{})
	require.Nil(t, fault)
	require.False(t, Known(m.Method))
	require.True(t, Known(CallTool))
	require.True(t, Known("ping"))
	answer := string(MethodFault(m).Answer())
	require.Equal(t, `{"jsonrpc":"2.0","id":"\u0061","error":{"code":-32601,"message":"this method is not available through the gate"}}`, answer)
}

func TestMethodsConfigured(t *testing.T) {
	m, err := NewMethods([]MethodRule{{"resources/read", "refuse"}, {"vendor/run", "pass"}, {"vendor/stop", "refuse"}})
	require.NoError(t, err)
	require.False(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"method":"resources/read"}`))
	require.True(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"method":"vendor/run"}`))
	require.True(t, passes(t, m, `{"jsonrpc":"2.0","method":"vendor/run"}`))
	require.False(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"method":"vendor/stop"}`))
	require.False(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"method":"vendor/other"}`))
	require.True(t, passes(t, m, `{"jsonrpc":"2.0","id":1,"method":"prompts/get"}`))
	require.Contains(t, m.Undecided(), "vendor/run")
	require.NotContains(t, m.Undecided(), "resources/read")
	require.NotContains(t, m.Undecided(), "vendor/stop")
	require.Contains(t, (*Methods)(nil).Undecided(), "resources/read", "the default must not be changed by a configuration")

	for name, rules := range map[string][]MethodRule{
		"tools/call":   {{"tools/call", "pass"}},
		"no name":      {{"", "pass"}},
		"odd action":   {{"x", "allow"}},
		"no action":    {{"x", ""}},
		"two opinions": {{"x", "pass"}, {"x", "refuse"}},
	} {
		_, err := NewMethods(rules)
		require.Error(t, err, name)
		require.Contains(t, err.Error(), "methods[")
	}
}
