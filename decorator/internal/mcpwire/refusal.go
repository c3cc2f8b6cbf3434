package mcpwire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/regogate/regogate/policy"
)

// decisionKey is the member of a refusal's _meta that holds what programs may read.
const decisionKey = "io.regogate/decision"

// A verdict is the part of a decision that a client may have.
type verdict struct {
	DecisionID string           `json:"decision_id"`
	Code       policy.Code      `json:"code,omitempty"`
	Refusals   []policy.Refusal `json:"refusals"`
}

func verdictOf(d policy.Decision) verdict {
	v := verdict{DecisionID: d.ID, Refusals: d.Refusals}
	if v.Refusals == nil {
		v.Refusals = []policy.Refusal{}
	}
	return v
}

// Refusal returns the answer to a call that d refuses, without a line feed: a tool
// result that says so, or a JSON-RPC error where the client couldn't take one
// (an unknown tool, a call as a task). t is the tool that was decided about.
func Refusal(m *Message, d policy.Decision, t *policy.Tool) []byte {
	if d.Code() == policy.UnknownTool || m.IsTask() {
		v := verdictOf(d)
		v.Code = d.Code()
		return ErrorResponse(m.ID, CodeInvalidParams, d.Text(), v)
	}
	return ToolResult(m.ID, d, t.Known() && !t.Spec().OutputSchema)
}

type toolResult struct {
	ResultType string             `json:"resultType"`
	IsError    bool               `json:"isError"`
	Content    []textContent      `json:"content"`
	Structured *verdict           `json:"structuredContent,omitempty"`
	Meta       map[string]verdict `json:"_meta"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// ToolResult returns the response to the call with that id: a tool execution error in
// the form of both eras. Structured puts the refusals into structuredContent too,
// which a client checks against the tool's outputSchema if there is one.
func ToolResult(id json.RawMessage, d policy.Decision, structured bool) []byte {
	v := verdictOf(d)
	r := toolResult{
		ResultType: "complete",
		IsError:    true,
		Content:    []textContent{{Type: "text", Text: d.Text()}},
		Meta:       map[string]verdict{decisionKey: v},
	}
	if structured {
		r.Structured = &v
	}
	return response(id, "result", r)
}

type errorObject struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// ErrorResponse returns a JSON-RPC error, without a line feed. A nil id is written as
// null, and nil data left out.
func ErrorResponse(id json.RawMessage, code int, message string, data any) []byte {
	return response(id, "error", errorObject{Code: code, Message: message, Data: data})
}

// response writes the id as it is: an encoder would escape it in its own way.
func response(id json.RawMessage, name string, value any) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(id)
	b.WriteString(`,"` + name + `":`)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		// Only what a caller passed as data can fail. The answer must not.
		return []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the gate could not write its answer"}}`, id, CodeInternal))
	}
	b.Truncate(b.Len() - 1) // the encoder's line feed
	b.WriteByte('}')
	return b.Bytes()
}

// quote returns s as JSON.
func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(strconv.Quote(""))
	}
	return b
}
