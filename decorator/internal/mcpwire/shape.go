package mcpwire

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// message makes a Message of what was read, if it has the shape of one.
func (r *reader) message() (*Message, *Fault) {
	m := &Message{
		ID:     find(r.top, "id"),
		Params: find(r.top, "params"),
		Method: unquote(find(r.top, "method")),
		params: r.params,
		meta:   r.meta,
	}
	if err := r.strictUnlessCall(m); err != nil {
		return nil, parseFault(err.Error())
	}
	r.shape(m)
	if r.problem != "" {
		return nil, &Fault{Code: CodeInvalidRequest, ID: r.answerTo(), Message: r.problem}
	}
	if problem := paramsProblem(m); problem != "" {
		return nil, &Fault{Code: CodeInvalidParams, ID: r.answerTo(), Message: problem}
	}
	if m.IsCall() && m.Kind == Request {
		m.Tool = unquote(m.Param("name"))
	}
	return m, nil
}

// strictUnlessCall checks the members of params that were left to the gate, when the
// gate will never see them.
func (r *reader) strictUnlessCall(m *Message) error {
	if m.IsCall() {
		return nil
	}
	for _, p := range r.params {
		if !isDeferred(p.name) {
			continue
		}
		if err := r.strict(paramsLevel, jsontext.Value(p.raw).Kind(), jsontext.Value(p.raw)); err != nil {
			return err
		}
	}
	return nil
}

// shape finds out the kind of m, or what keeps it from being one.
func (r *reader) shape(m *Message) {
	method, result, failure := find(r.top, "method"), find(r.top, "result"), find(r.top, "error")
	count := 0
	for _, raw := range []json.RawMessage{method, result, failure} {
		if raw != nil {
			count++
		}
	}
	if count != 1 {
		r.complain("a message has exactly one of method, result and error")
	}
	if unquote(find(r.top, "jsonrpc")) != "2.0" {
		r.complain(`jsonrpc is not "2.0"`)
	}
	if m.ID != nil {
		if wrong := checkID(m.ID); wrong != "" {
			r.complain(wrong)
		}
	}
	switch {
	case method == nil:
		m.Kind = Response
		r.responseShape(m, failure)
	case m.ID != nil:
		m.Kind = Request
	default:
		m.Kind = Notification
	}
	if method != nil && m.Method == "" {
		r.complain("method is not a string, or is empty")
	}
	if m.Params != nil && r.params == nil {
		r.complain("params is not an object")
	}
}

func (r *reader) responseShape(m *Message, failure json.RawMessage) {
	if m.ID == nil {
		r.complain("a response has an id")
	}
	if failure != nil && jsontext.Value(failure).Kind() != '{' {
		r.complain("error is not an object")
	}
	if m.Params != nil {
		r.complain("a response has no params")
	}
}

// paramsProblem says what is wrong with params that are an object.
func paramsProblem(m *Message) string {
	if meta := m.Param("_meta"); meta != nil && jsontext.Value(meta).Kind() != '{' {
		return "params._meta is not an object"
	}
	if !m.IsCall() || m.Kind != Request {
		return ""
	}
	if name := m.Param("name"); name == nil || jsontext.Value(name).Kind() != '"' {
		return "params.name is not a string: a tools/call names the tool"
	}
	if task := present(m.Param("task")); task != nil && jsontext.Value(task).Kind() != '{' {
		return "params.task is not an object"
	}
	return ""
}

// answerTo returns the id of a message that is refused, nil when it isn't certain: it
// must be the only one, of a proper type, and belong to a request, since the ids of
// responses are the other side's.
func (r *reader) answerTo() json.RawMessage {
	var id json.RawMessage
	request := false
	for _, m := range r.top {
		exact, ok := known(topLevel, m.name)
		switch {
		case !ok:
		case exact == "id":
			if id != nil || m.name != "id" || checkID(m.raw) != "" {
				return nil
			}
			id = m.raw
		case exact == "method":
			request = true
		}
	}
	if !request || len(r.top) == maxMembers {
		return nil
	}
	return id
}
