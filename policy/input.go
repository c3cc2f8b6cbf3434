package policy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Input is what a validator sees of one call: read-only. What its methods return
// belongs to the validator, which may change it without anybody else noticing.
type Input struct {
	call   *Call
	given  map[string]any // the arguments as they came
	view   map[string]any // the arguments as validators see them
	caller *callerDocument
	answer map[string]any // parsed Call.Responses
	at     time.Time
	rules  Ruleset // that decide; nil when none was in force
	plain  bool    // what was read of the call holds no extreme number
	// shared hands out the decoded tree itself instead of copies. Only a ruleset's
	// evaluators get such an Input: they promise to read.
	shared bool
}

// Tool returns what the server declares of the tool.
func (in Input) Tool() ToolInfo {
	s := in.call.Tool.Spec()
	t := ToolInfo{Name: s.Name, Server: s.Server, Title: s.Title, Digest: in.call.Tool.Digest()}
	t.Annotations, _ = in.own(in.call.Tool.hints()).(map[string]any)
	return t
}

// Arguments returns the call's arguments.
func (in Input) Arguments() Arguments {
	return Arguments{raw: in.call.Arguments, given: in.given, view: in.view}
}

// Caller returns who calls.
func (in Input) Caller() Caller { return in.caller.copy() }

// Call returns what is known of the request.
func (in Input) Call() CallInfo {
	c := CallInfo{ID: in.call.ID, Session: in.call.Session, Transport: in.call.Transport, Time: in.at}
	c.Responses, _ = in.own(in.answer).(map[string]any)
	return c
}

// Document returns the input document that Rego sees, made of map[string]any,
// []any, string, json.Number, bool and nil:
//
//	{"tool": {name, server, title, annotations}, "arguments": {…},
//	 "caller": {subject, tenant, scopes, claims}, "call": {id, session, transport, time, responses}}
//
// Every member is always there: null, [] or {} when unknown. time is RFC 3339 in UTC.
func (in Input) Document() map[string]any {
	doc := make(map[string]any, len(documentMembers))
	for _, name := range documentMembers {
		doc[name], _ = in.Member(name)
	}
	return doc
}

var documentMembers = [...]string{"tool", "arguments", "caller", "call"}

func (in Input) own(v map[string]any) any {
	if in.shared {
		return v
	}
	return clone(v)
}

// Arguments are a call's arguments: the exact bytes, and the value that was decided
// (the schema's defaults filled in when the gate is told so). They can't be changed.
type Arguments struct {
	raw   []byte
	given map[string]any
	view  map[string]any
}

// Raw returns a copy of the bytes as they came.
func (a Arguments) Raw() []byte { return bytes.Clone(a.raw) }

// Len is how many bytes came.
func (a Arguments) Len() int { return len(a.raw) }

// Object returns a copy of the decoded value: map[string]any, []any, string,
// json.Number, bool and nil.
func (a Arguments) Object() map[string]any {
	m, _ := clone(a.view).(map[string]any)
	return m
}

// Decode unmarshals the decided value into v, a pointer, as encoding/json does.
func (a Arguments) Decode(v any) error {
	b, err := json.Marshal(a.view)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// Lookup returns a copy of the value at a JSON Pointer (RFC 6901), and whether there is one.
func (a Arguments) Lookup(pointer string) (any, bool) {
	var v any = a.view
	if pointer == "" {
		return clone(v), a.view != nil
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for _, tok := range strings.Split(pointer[1:], "/") {
		tok = strings.ReplaceAll(strings.ReplaceAll(tok, "~1", "/"), "~0", "~")
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[tok]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(tok)
			if err != nil || i < 0 || i >= len(c) || strconv.Itoa(i) != tok {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return clone(v), true
}

// Defaults returns the JSON Pointers of what the schema's defaults filled in, sorted:
// without these, the decided value is what came.
func (a Arguments) Defaults() []string {
	var out []string
	addFilled(&out, "", a.given, a.view)
	slices.Sort(out)
	return out
}

// addFilled lists what view has and given hasn't. Parts that both share hold nothing new.
func addFilled(out *[]string, at string, given, view any) {
	switch v := view.(type) {
	case map[string]any:
		g, ok := given.(map[string]any)
		if !ok || reflect.ValueOf(g).Pointer() == reflect.ValueOf(v).Pointer() {
			return
		}
		for name, e := range v {
			here := at + "/" + pointerEscaper.Replace(name)
			if old, came := g[name]; came {
				addFilled(out, here, old, e)
			} else {
				*out = append(*out, here)
			}
		}
	case []any:
		g, ok := given.([]any)
		if !ok {
			return
		}
		for i := range min(len(g), len(v)) {
			addFilled(out, at+"/"+strconv.Itoa(i), g[i], v[i])
		}
	}
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// clone copies a decoded JSON value.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = clone(e)
		}
		return m
	case []any:
		a := make([]any, len(v))
		for i, e := range v {
			a[i] = clone(e)
		}
		return a
	default:
		return v
	}
}
