package adapter

import (
	"encoding/json"
	"fmt"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// A Failure is a JSON-RPC error.
type Failure struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// An Answer is what a client gets for a refused call: a tool result, or an error
// where it couldn't take one. One of the two is set.
type Answer struct {
	Result json.RawMessage `json:"result"`
	Error  *Failure        `json:"error"`
}

// Refusal returns the answer to a call that d refuses; t is the tool that was
// decided about. Which id the call has is the SDK's affair.
func Refusal(d policy.Decision, t *policy.Tool) Answer {
	call := &mcpwire.Message{Kind: mcpwire.Request, ID: json.RawMessage("0"), Method: mcpwire.CallTool}
	var a Answer
	if err := json.Unmarshal(mcpwire.Refusal(call, d, t), &a); err != nil || a.Result == nil && a.Error == nil {
		return Answer{Error: &Failure{Code: mcpwire.CodeInternal, Message: fmt.Sprintf("the gate refused the call (%s) and could not write its answer", d.Code())}}
	}
	return a
}

// Arguments returns what is decided for arguments as an SDK hands them out: {} when
// they are absent or null.
func Arguments(raw json.RawMessage) []byte {
	if len(raw) == 0 || string(raw) == "null" {
		return []byte("{}")
	}
	return raw
}
