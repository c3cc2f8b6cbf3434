package mcpwire

import "encoding/json"

// The error codes of JSON-RPC 2.0 that a gate answers with.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// A Fault says why bytes are not a message that may go on. Everything in it may be
// shown to the agent: it repeats nothing of what it was read from but the id.
type Fault struct {
	Code int
	// ID is the id to answer to, nil (null on the wire) when the message has none or
	// when readers could differ about which it is.
	ID      json.RawMessage
	Message string
}

// Answer returns the JSON-RPC error to send back, without a line feed.
func (f *Fault) Answer() []byte { return ErrorResponse(f.ID, f.Code, f.Message, nil) }

func parseFault(message string) *Fault { return &Fault{Code: CodeParse, Message: message} }

func invalid(message string) *Fault { return &Fault{Code: CodeInvalidRequest, Message: message} }
