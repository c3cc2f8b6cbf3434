package policy

import (
	"strings"
)

// A Decision is the whole answer to one [Call]. The zero Decision refuses.
type Decision struct {
	ID string `json:"decision_id"`
	// Allowed is what the rules say.
	Allowed bool `json:"allowed"`
	// Effective is what happens to the call in the mode in force: true sends it to
	// the handler. It differs from Allowed only in shadow mode.
	Effective bool   `json:"effective"`
	Tool      string `json:"tool"`
	Server    string `json:"server,omitempty"`
	Revision  string `json:"revision"` // of the ruleset that decided; "" when none was in force
	// Refusals are the reasons, for the agent to read. Empty only when Allowed.
	Refusals []Refusal `json:"refusals"`
	// Warnings are what the warn sets hold; they never refuse.
	Warnings []Refusal `json:"warnings"`
	// Err says what went wrong, for the operator only.
	Err error `json:"-"`
	// WarnErr says what went wrong with the warn sets, for the operator only.
	WarnErr error `json:"-"`
}

// Code returns the code of the first refusal, "" when there is none.
func (d Decision) Code() Code {
	if len(d.Refusals) == 0 {
		return ""
	}
	return d.Refusals[0].Code
}

// Text says why the call was refused, and what to do, in words that an agent can
// act on. It is the same for every adapter.
func (d Decision) Text() string {
	if len(d.Refusals) == 0 {
		if d.Allowed {
			return "The call was allowed."
		}
		return "The call was refused before it ran."
	}
	code := d.Code()
	var b strings.Builder
	b.WriteString("The call was refused before it ran (" + string(code) + ").")
	for _, r := range d.Refusals {
		b.WriteString("\n- ")
		if r.Location != "" {
			b.WriteString(r.Location + ": ")
		}
		b.WriteString(r.Message)
	}
	if advice := code.advice(); advice != "" {
		b.WriteString("\n" + advice)
	}
	return b.String()
}

// advice is what an agent should do about a refusal with code c.
func (c Code) advice() string {
	switch c {
	case Malformed, SchemaViolation:
		return "Correct the arguments and call the tool again."
	case Denied:
		return "Repeating the same call will be refused again."
	case UnknownTool:
		return "List the server's tools and use one of them."
	case NotReady:
		return "Try again later."
	default:
		return "The operator of this server has to look at it; repeating the call won't help."
	}
}
