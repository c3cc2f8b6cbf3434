package mcpwire

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Kind says what a message is. The zero Kind is no message.
type Kind int

// The kinds of messages.
const (
	Request      Kind = iota + 1 // has a method and an id
	Notification                 // has a method and no id
	Response                     // has an id and either a result or an error
)

// A Message is one JSON-RPC message. Its raw parts are slices of the line that it
// was read from, byte for byte, and must not be modified.
type Message struct {
	Kind   Kind
	ID     json.RawMessage // a string or a number as it was written; nil in a notification
	Method string          // "" in a response
	Params json.RawMessage // an object; nil when there is none
	// Tool is the name of the tool of a tools/call request.
	Tool string

	params []member // of Params
	meta   []member // of _meta in Params
}

// A member is one name and value of an object.
type member struct {
	name string
	raw  json.RawMessage
}

func find(ms []member, name string) json.RawMessage {
	for _, m := range ms {
		if m.name == name {
			return m.raw
		}
	}
	return nil
}

// Param returns the member of params with that exact name, nil when there is none.
func (m *Message) Param(name string) json.RawMessage { return find(m.params, name) }

// Meta returns the member of params._meta with that exact name, nil when there is none.
func (m *Message) Meta(name string) json.RawMessage { return find(m.meta, name) }

// IsCall reports whether m asks to run a tool, properly or (without an id, to which
// nobody can answer) not.
func (m *Message) IsCall() bool { return m.Method == CallTool }

// Arguments returns a call's arguments as they were written, and {} when they are
// absent or null. They have not been checked.
func (m *Message) Arguments() []byte {
	if raw := present(m.Param("arguments")); raw != nil {
		return raw
	}
	return []byte("{}")
}

// InputResponses returns the answers that a multi-round-trip retry carries, nil when
// they are absent or null. They have not been checked.
func (m *Message) InputResponses() json.RawMessage { return present(m.Param("inputResponses")) }

// Traceparent returns the W3C trace context that the message says it belongs to, "" when
// there is none. It has not been checked.
func (m *Message) Traceparent() string { return unquote(m.Meta("traceparent")) }

// IsTask reports whether a call asks to be run as a task (2025-11-25): its client
// expects a task and can't read a tool result in its place.
func (m *Message) IsTask() bool { return m.IsCall() && present(m.Param("task")) != nil }

func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// IDText returns what an id says: a string's content, or a number's literal. "" when
// raw is no id.
func IDText(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return unquote(raw)
	}
	return string(raw)
}

// IDKey returns a form of an id that is the same for each way to write it, so that 1
// and 1.0, and "a" and "\u0061", are one id, and 1 and "1" are two.
func IDKey(raw json.RawMessage) string {
	text := IDText(raw)
	switch {
	case len(raw) == 0:
		return ""
	case raw[0] == '"':
		return "s" + text
	case strings.Trim(text, "0123456789") == "":
		return "n" + text
	}
	// checkID has bounded the literal, so the number is small enough to be written out.
	if n, ok := new(big.Rat).SetString(text); ok && checkID(raw) == "" {
		return "n" + n.RatString()
	}
	return "n" + text
}

// SameID reports whether the id of an answer is that of a request, to readers that may
// have taken numbers for floating point ones on the way.
func SameID(a, b json.RawMessage) bool {
	if IDKey(a) == IDKey(b) {
		return true
	}
	x, xErr := strconv.ParseFloat(string(a), 64)
	y, yErr := strconv.ParseFloat(string(b), 64)
	return xErr == nil && yErr == nil && x == y
}

// unquote returns what a JSON string says, "" when raw is no string.
func unquote(raw json.RawMessage) string {
	s, ok := Text(raw)
	if !ok {
		return ""
	}
	return s
}

// Text returns what a JSON string says; ok is false when raw is none.
func Text(raw json.RawMessage) (text string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	return string(s), err == nil
}
