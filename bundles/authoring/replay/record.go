package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regogate/regogate/policy"
)

// A Reason says why a record can't be decided again.
type Reason string

// The reasons.
const (
	Masked       Reason = "masked"       // something that rules may look at was masked
	NotRecorded  Reason = "not_recorded" // the arguments were left out
	WasMalformed Reason = "malformed"    // the arguments were no JSON object, and are not recorded
	WasNotReady  Reason = "not_ready"    // there were no rules, or no tools, when it came
	NoVerdict    Reason = "no_verdict"   // the record doesn't say what was decided
)

// A record is one line of a log, as far as it matters.
type record struct {
	ID        string
	Tool      string
	Server    string
	Arguments []byte
	Caller    policy.Caller
	Call      policy.Call // but for the tool and the arguments
	Allowed   bool
	Refusals  []policy.Refusal
	Reason    Reason // "" when it can be decided again
}

// event is what is read of a line: regogate's members and OPA's.
type event struct {
	ID       string          `json:"decision_id"`
	Time     time.Time       `json:"timestamp"`
	Path     string          `json:"path"`
	Input    input           `json:"input"`
	Result   json.RawMessage `json:"result"`
	Erased   []string        `json:"erased"`
	Masked   []string        `json:"masked"`
	Tool     string          `json:"tool"`
	Server   string          `json:"server"`
	Code     policy.Code     `json:"code"`
	Raw      []byte          `json:"raw_arguments"`
	Defaults []string        `json:"defaults"`
}

type input struct {
	Tool struct {
		Name   string `json:"name"`
		Server string `json:"server"`
	} `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Caller    policy.Caller   `json:"caller"`
	Call      struct {
		ID        string          `json:"id"`
		Session   string          `json:"session"`
		Transport string          `json:"transport"`
		Time      time.Time       `json:"time"`
		Responses json.RawMessage `json:"responses"`
	} `json:"call"`
}

var errNoDecision = errors.New("not a decision: no decision_id")

// parse reads one line. Its error doesn't repeat what the line says.
func parse(line []byte) (record, error) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		var syntax *json.SyntaxError
		var typ *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			return record{}, fmt.Errorf("not JSON, at byte %d", syntax.Offset)
		case errors.As(err, &typ):
			return record{}, fmt.Errorf("not a decision record: %s is a %s", typ.Field, strings.Fields(typ.Value)[0])
		default:
			return record{}, errors.New("not a decision record")
		}
	}
	if e.ID == "" {
		return record{}, errNoDecision
	}
	r := record{ID: e.ID, Tool: first(e.Tool, e.Input.Tool.Name, toolOf(e.Path)), Server: first(e.Server, e.Input.Tool.Server), Caller: e.Input.Caller}
	if r.Tool == "" {
		return record{}, errors.New("not a decision about a tool: neither tool nor input.tool.name")
	}
	r.Call = policy.Call{ID: e.Input.Call.ID, Session: e.Input.Call.Session, Transport: e.Input.Call.Transport, Time: e.Input.Call.Time}
	if r.Call.Time.IsZero() {
		r.Call.Time = e.Time
	}
	if s := string(e.Input.Call.Responses); s != "" && s != "null" && s != "{}" {
		r.Call.Responses = e.Input.Call.Responses
	}
	known := false
	if r.Allowed, r.Refusals, known = verdict(e.Result); !known {
		r.Reason = NoVerdict
	}
	return r, r.arguments(&e)
}

// arguments finds out what the call's arguments were, if that is still known.
func (r *record) arguments(e *event) error {
	hidden := func(paths []string) bool {
		return slices.ContainsFunc(paths, func(p string) bool {
			return strings.HasPrefix(p, "/input") && !strings.HasPrefix(p, "/input/call/session") && !strings.HasPrefix(p, "/input/tool")
		})
	}
	raw := e.Input.Arguments
	switch {
	case e.Code == policy.NotReady:
		r.Reason = WasNotReady
	case e.Raw != nil:
		raw = e.Raw
	case e.Code == policy.Malformed && (len(raw) == 0 || string(raw) == "null"):
		r.Reason = WasMalformed
	case hidden(e.Erased) && len(raw) == 0:
		r.Reason = NotRecorded
	case hidden(e.Erased) || hidden(e.Masked):
		r.Reason = Masked
	case len(raw) == 0 || string(raw) == "null":
		r.Reason = NotRecorded
	}
	r.Arguments = raw
	if r.Reason != "" || len(e.Defaults) == 0 {
		return nil
	}
	without, err := removeAll(raw, e.Defaults)
	if err != nil {
		return errors.New("defaults: they are not in the arguments")
	}
	r.Arguments = without
	return nil
}

func first(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}

// toolOf is the tool of a path like tools/NAME/deny, "" of others.
func toolOf(path string) string {
	rest, ok := strings.CutPrefix(strings.Trim(path, "/"), "tools/")
	if !ok {
		return ""
	}
	rest, _ = strings.CutSuffix(rest, "/deny")
	return rest
}

// verdict reads a result: regogate's own, a deny set, a document that has one, or a
// single answer to whether it is allowed.
func verdict(raw json.RawMessage) (allowed bool, refusals []policy.Refusal, known bool) {
	if len(raw) == 0 {
		return false, nil, false
	}
	switch raw[0] {
	case 't', 'f':
		return raw[0] == 't', nil, true
	case '[':
		refusals, known = denySet(raw)
		return known && len(refusals) == 0, refusals, known
	case '{':
		var doc struct {
			Allowed  *bool            `json:"allowed"`
			Allow    *bool            `json:"allow"`
			Refusals []policy.Refusal `json:"refusals"`
			Deny     json.RawMessage  `json:"deny"`
		}
		if json.Unmarshal(raw, &doc) != nil {
			return false, nil, false
		}
		switch {
		case doc.Allowed != nil:
			return *doc.Allowed, doc.Refusals, true
		case len(doc.Deny) > 0 && doc.Deny[0] == '[':
			refusals, known = denySet(doc.Deny)
			return known && len(refusals) == 0, refusals, known
		case doc.Allow != nil:
			return *doc.Allow, nil, true
		}
	}
	return false, nil, false
}

func denySet(raw json.RawMessage) (out []policy.Refusal, known bool) {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		return nil, false
	}
	for _, e := range elements {
		r := policy.Refusal{Code: policy.Denied}
		var o struct{ Msg, Rule, Location string }
		if json.Unmarshal(e, &r.Message) != nil && json.Unmarshal(e, &o) == nil {
			r.Message, r.Rule, r.Location = o.Msg, o.Rule, o.Location
		}
		out = append(out, r)
	}
	return out, true
}

// removeAll removes what JSON Pointers point to.
func removeAll(raw []byte, pointers []string) ([]byte, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	for _, p := range pointers {
		if err := remove(v, strings.Split(p, "/")[1:]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(v)
}

var errNotThere = errors.New("not there")

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func remove(v any, path []string) error {
	for i, part := range path {
		name := unescape.Replace(part)
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[name]
			if !ok {
				return errNotThere
			}
			if i == len(path)-1 {
				delete(c, name)
				return nil
			}
			v = next
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(c) {
				return errNotThere
			}
			v = c[n]
		default:
			return errNotThere
		}
	}
	return errNotThere
}
