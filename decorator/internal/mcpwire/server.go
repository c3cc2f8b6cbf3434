package mcpwire

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// A ServerMessage is what a gate wants to know of a message by a server.
type ServerMessage struct {
	Raw    json.RawMessage // the message itself
	ID     json.RawMessage // nil when there is none
	Method string          // "" in a response
	Result json.RawMessage // nil when there is none
	Error  json.RawMessage // nil when there is none
}

// IsResponse reports whether the message answers a request.
func (m *ServerMessage) IsResponse() bool {
	return m.Method == "" && m.ID != nil && (m.Result != nil || m.Error != nil)
}

// ErrorCode returns the code of the error in a response, 0 when there is none.
func (m *ServerMessage) ErrorCode() int {
	var e struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(m.Error, &e) != nil {
		return 0
	}
	return e.Code
}

// ReadServer reads a line of a server, which may be a batch (2025-03-26). What is not
// JSON-RPC is no message; of names given twice the last counts, as for most readers.
func ReadServer(line []byte) (messages []ServerMessage, batch bool) {
	defer func() {
		if p := recover(); p != nil {
			messages, batch = nil, false
		}
	}()
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '[' {
		if m, ok := readServerMessage(line); ok {
			return []ServerMessage{m}, false
		}
		return nil, false
	}
	dec := lenient(line)
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	for dec.PeekKind() != ']' {
		raw, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		m, ok := readServerMessage(raw)
		if !ok {
			m = ServerMessage{Raw: json.RawMessage(raw)}
		}
		messages = append(messages, m)
	}
	return messages, true
}

// Batch returns the messages as one array again.
func Batch(messages []ServerMessage) []byte {
	b := []byte{'['}
	for i := range messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, messages[i].Raw...)
	}
	return append(b, ']')
}

func lenient(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func readServerMessage(text []byte) (ServerMessage, bool) {
	m := ServerMessage{Raw: json.RawMessage(text)}
	dec := lenient(text)
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return m, false
	}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return m, false
		}
		name := tok.String()
		raw, err := dec.ReadValue()
		if err != nil {
			return m, false
		}
		end := dec.InputOffset()
		value := json.RawMessage(text[end-int64(len(raw)) : end])
		switch name {
		case "id":
			m.ID = present(value)
		case "method":
			m.Method = unquote(value)
		case "result":
			m.Result = value
		case "error":
			m.Error = present(value)
		}
	}
	_, err := dec.ReadToken()
	return m, err == nil
}
