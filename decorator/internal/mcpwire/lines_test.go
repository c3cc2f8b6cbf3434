package mcpwire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Empty lines around a message hide nothing, and a message on a line within one is hidden.
func TestLinesAroundAMessage(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`
	for _, text := range []string{
		message, "\n" + message, message + "\n", message + "\n\n", "\n \t\n" + message + " \r\n", message + "\t\n\n\n",
		"{\"jsonrpc\":\"2.0\",\n\"id\":1,\n\"method\":\"tools/call\",\n\"params\":{\"name\":\"a\"}}\n\n",
	} {
		m, fault := Read([]byte(text), Limits{Multiline: true})
		require.Nil(t, fault, "%q", text)
		require.Equal(t, "a", m.Tool, "%q", text)
	}
	for _, text := range []string{
		"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\n" + message + "\n}}\n\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\n\n" + message + "}}",
	} {
		_, fault := Read([]byte(text), Limits{Multiline: true})
		require.NotNil(t, fault, "%q", text)
	}
}
