package mcpwire

import (
	"errors"
	"fmt"
	"slices"
)

// Methods that proxies have to know by name.
const (
	CallTool         = "tools/call"
	ListTools        = "tools/list"
	Initialize       = "initialize"
	Ping             = "ping"
	Discover         = "server/discover"
	Initialized      = "notifications/initialized"
	Cancelled        = "notifications/cancelled"
	ToolsListChanged = "notifications/tools/list_changed"
)

// A MethodRule says what happens to the messages of one method.
type MethodRule struct {
	Name   string // exact
	Action string // "pass" or "refuse"
}

// Methods says which of a client's messages pass undecided, by their method. nil and
// the zero Methods have the default: what the specification lets a client send
// passes, everything else doesn't.
type Methods struct {
	pass map[string]bool
}

// NewMethods returns the default changed by rules. Each name may be given once, and
// tools/call not at all: it is what the gate decides.
func NewMethods(rules []MethodRule) (*Methods, error) {
	m := &Methods{pass: make(map[string]bool, len(rules))}
	var errs []error
	for i, r := range rules {
		_, twice := m.pass[r.Name]
		switch {
		case r.Name == "":
			errs = append(errs, fmt.Errorf("methods[%d]: name is empty", i))
		case r.Name == CallTool:
			errs = append(errs, fmt.Errorf("methods[%d]: %s is decided call by call and can't be passed or refused as a whole", i, CallTool))
		case twice:
			errs = append(errs, fmt.Errorf("methods[%d]: %q is given twice", i, r.Name))
		case r.Action != "pass" && r.Action != "refuse":
			errs = append(errs, fmt.Errorf("methods[%d]: action of %q is %q: want pass or refuse", i, r.Name, r.Action))
		default:
			m.pass[r.Name] = r.Action == "pass"
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
}

// Pass reports whether a request or notification may go to the server undecided. It
// is false for tools/call, and for whatever has no method.
func (m *Methods) Pass(msg *Message) bool {
	if msg.Kind != Request && msg.Kind != Notification || msg.IsCall() {
		return false
	}
	if m != nil {
		if pass, ok := m.pass[msg.Method]; ok {
			return pass
		}
	}
	use, ok := specification[msg.Method]
	return ok && use.kind == msg.Kind
}

// Undecided returns the methods that pass without a decision although they do more
// than keep the connection going, sorted: what an operator should know of.
func (m *Methods) Undecided() []string {
	var names []string
	for name, use := range specification {
		if !use.plumbing {
			names = append(names, name)
		}
	}
	if m != nil {
		for name, pass := range m.pass {
			if _, ok := specification[name]; pass && !ok {
				names = append(names, name)
			}
		}
		names = slices.DeleteFunc(names, func(name string) bool {
			pass, ok := m.pass[name]
			return ok && !pass
		})
	}
	slices.Sort(names)
	return names
}

// A use is what the specification has a client do with a method.
type use struct {
	kind     Kind
	plumbing bool // sets up, keeps or describes the connection, and reaches nothing behind it
}

// specification has what a client may send in any version up to 2026-07-28, but for
// tools/call. What only servers send is not in it.
var specification = map[string]use{
	Initialize:                 {Request, true},
	Ping:                       {Request, true},
	Discover:                   {Request, true},
	ListTools:                  {Request, true},
	"resources/list":           {Request, false},
	"resources/templates/list": {Request, false},
	"resources/read":           {Request, false},
	"resources/subscribe":      {Request, false},
	"resources/unsubscribe":    {Request, false},
	"prompts/list":             {Request, false},
	"prompts/get":              {Request, false},
	"completion/complete":      {Request, false},
	"logging/setLevel":         {Request, false},
	"subscriptions/listen":     {Request, false},
	// Tasks: 2025-11-25 has get, result, list and cancel, the extension to 2026-07-28
	// get, update and cancel. What a task runs was decided when tools/call asked for it.
	"tasks/get":    {Request, false},
	"tasks/result": {Request, false},
	"tasks/list":   {Request, false},
	"tasks/cancel": {Request, false},
	"tasks/update": {Request, false},

	Initialized:                        {Notification, true},
	Cancelled:                          {Notification, true},
	"notifications/progress":           {Notification, true},
	"notifications/roots/list_changed": {Notification, true},
	"notifications/tasks/status":       {Notification, true},
}

// Known reports whether the specification has a client send method, so that the name
// is nothing that the client made up.
func Known(method string) bool {
	_, ok := specification[method]
	return ok || method == CallTool
}

// MethodFault is the answer to a request whose method doesn't pass.
func MethodFault(m *Message) *Fault {
	return &Fault{Code: CodeMethodNotFound, ID: m.ID, Message: "this method is not available through the gate"}
}
