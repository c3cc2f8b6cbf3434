package policy

import (
	"encoding/json"
	"time"
)

// A Call is one request to run one tool, as an adapter received it. Who calls is
// not part of it: that comes from the context, see [WithCaller].
type Call struct {
	// Tool is what the server declares; nil or an [UndeclaredTool] is refused.
	Tool *Tool
	// Arguments are the exact bytes that the handler will get. An adapter turns
	// absent or null arguments into {}; an empty slice is malformed.
	Arguments []byte
	// ID is the request's JSON-RPC id: a string's content, or a number's literal. "" when unknown.
	ID string
	// Session names the MCP session, "" when there is none.
	Session string
	// Transport is "go", "stdio" or "http"; "" when unknown.
	Transport string
	// Responses are the answers that a multi-round-trip retry carries: a JSON object, nil when there are none.
	Responses json.RawMessage
	// Time is when the call is said to have come: what rules see as input.call.time. It is
	// for deciding calls of the past again; zero, which is what adapters leave it at, means now.
	Time time.Time
	// Unfaithful says why what would be decided is not what the handler would get: the
	// bytes were lost, or who calls can't be told. Such a call is undecided. nil for
	// every other call.
	Unfaithful error
}

// CallInfo is what a validator may read about a call beside its arguments.
type CallInfo struct {
	ID        string
	Session   string
	Transport string
	Time      time.Time // when the decision began, UTC
	Responses map[string]any
}

// ToolInfo is what a validator may read about the tool.
type ToolInfo struct {
	Name        string
	Server      string
	Title       string
	Annotations map[string]any // hints of the server, untrusted
	Digest      string
}
