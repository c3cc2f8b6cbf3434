package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/regogate/regogate/policy"
)

// writeJSON writes a decision as one line of JSON.
func writeJSON(w io.Writer, d policy.Decision) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(d)
}

// writeDecision writes a decision as a block for people.
func writeDecision(w io.Writer, d policy.Decision) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", verdict(d), oneLine(d.Tool))
	for _, r := range d.Refusals {
		fmt.Fprintf(&b, "  %-16s %s\n", r.Code, reason(r))
	}
	for _, r := range d.Warnings {
		fmt.Fprintf(&b, "  %-16s %s\n", "warning", reason(r))
	}
	fmt.Fprintf(&b, "  %-16s %s\n", "revision", oneLine(d.Revision))
	fmt.Fprintf(&b, "  %-16s %s\n", "decision", d.ID)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeDecisionLine writes a decision as one line for people.
func writeDecisionLine(w io.Writer, line int, d policy.Decision) error {
	s := fmt.Sprintf("%d: %s %s", line, verdict(d), oneLine(d.Tool))
	for _, r := range d.Refusals {
		s += fmt.Sprintf("; %s: %s", r.Code, reason(r))
	}
	_, err := io.WriteString(w, s+"\n")
	return err
}

func verdict(d policy.Decision) string {
	switch {
	case d.Allowed:
		return "ALLOWED"
	case d.Effective:
		return "REFUSED (forwarded in shadow mode)"
	default:
		return "REFUSED"
	}
}

func reason(r policy.Refusal) string {
	s := oneLine(r.Message)
	if r.Location != "" {
		s = oneLine(r.Location) + ": " + s
	}
	if r.Rule != "" {
		s += " [" + oneLine(r.Rule) + "]"
	}
	return s
}

// explain tells the operator what the agent isn't told.
func explain(w io.Writer, prefix string, d policy.Decision) {
	if d.Err != nil {
		fmt.Fprintf(w, "%s%s\n", prefix, oneLine(d.Err.Error()))
	}
	if d.WarnErr != nil {
		fmt.Fprintf(w, "%swarnings: %s\n", prefix, oneLine(d.WarnErr.Error()))
	}
}
