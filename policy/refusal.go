package policy

import (
	"strconv"
	"unicode/utf8"
)

// A Code says which question refused a call. Codes are stable: programs match on them.
type Code string

// The codes, in the order in which the questions are asked.
const (
	// NotReady: no ruleset is in force yet, or the server's tools could not be learned.
	NotReady Code = "not_ready"
	// Malformed: the arguments are not one unambiguous JSON object within the limits.
	Malformed Code = "malformed"
	// UnknownTool: the server declares no such tool.
	UnknownTool Code = "unknown_tool"
	// ToolChanged: the tool's live schema is not the one that it was pinned with, or it
	// has no pin although other tools of its server have one.
	ToolChanged Code = "tool_changed"
	// SchemaUnusable: the tool's input schema does not compile, so nothing can be checked against it.
	SchemaUnusable Code = "schema_unusable"
	// SchemaViolation: the arguments do not satisfy the tool's input schema.
	SchemaViolation Code = "schema_violation"
	// Unmapped: no package of the bundle and no Go validator covers the tool.
	Unmapped Code = "unmapped"
	// Denied: the deny set, or a Go validator, holds something against the call.
	Denied Code = "denied"
	// Undecided: the rules could not be evaluated to an answer.
	Undecided Code = "undecided"
)

// shadowable reports whether shadow mode may forward a call refused with c. Codes
// not named here never are: what is not one JSON object, or was never looked at by
// any rule, has not been decided at all.
func (c Code) shadowable() bool {
	switch c {
	case SchemaViolation, Unmapped, Denied, Undecided:
		return true
	default:
		return false
	}
}

// A Refusal is one reason why a call is refused. Everything in it may be shown to
// the agent: a Message made by regogate repeats no argument's value and no
// undeclared argument's name; the message of a deny rule is its author's, unchanged.
type Refusal struct {
	Code     Code   `json:"code,omitempty"` // empty in a warning that a rule gives
	Message  string `json:"message"`
	Location string `json:"location,omitempty"` // JSON Pointer into the arguments
	Rule     string `json:"rule,omitempty"`     // the author's id of the rule
}

// capRefusals keeps at most max refusals of at most maxBytes of message each and
// says how many it left out.
func capRefusals(rs []Refusal, max, maxBytes int) []Refusal {
	if len(rs) > max {
		left := len(rs) - max + 1
		last := Refusal{Code: rs[max-1].Code, Message: strconv.Itoa(left) + " more refusals are not shown"}
		rs = append(append([]Refusal{}, rs[:max-1]...), last)
	}
	for i := range rs {
		rs[i].Message = cut(rs[i].Message, maxBytes)
		rs[i].Location = cut(rs[i].Location, maxBytes)
		rs[i].Rule = cut(rs[i].Rule, maxBytes)
	}
	return rs
}

// cut shortens s to at most max bytes without splitting a rune.
func cut(s string, max int) string {
	const mark = "…"
	if len(s) <= max {
		return s
	}
	n := max - len(mark)
	if n <= 0 {
		return ""
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
