package policy

import (
	"errors"
	"fmt"
)

// A Pin is what a ruleset knows of a tool's declaration from when its rules were written.
type Pin struct {
	// Digest is [Tool.Digest] of that declaration; "" when the tool isn't pinned.
	Digest string
	// Expected says that the ruleset pins tools of this tool's server, so that a tool
	// of it without a pin is one that nobody looked at.
	Expected bool
}

// The values of [Options].Pins.
const (
	PinsEnforce = "enforce" // the default: a tool that isn't as pinned is refused
	PinsWarn    = "warn"    // such a tool is reported, and its decisions carry a warning
	PinsOff     = "off"     // pins are not looked at
)

// Differs says in what way t isn't as it was pinned, for the agent and for the operator;
// "" and nil when it is, or when the pins say nothing about it.
func (p Pin) Differs(t *Tool) (message string, detail error) {
	switch {
	case t == nil || t.spec.NoSchema:
		return "", nil // there is no live schema to compare
	case p.Digest == "" && !p.Expected:
		return "", nil
	case p.Digest == "":
		return "the tool has no pin, although other tools of its server are pinned", errors.New(
			"look at the tool, then pin it with regogate init; and see whether server.name is what it was pinned for")
	case p.Digest == t.digest:
		return "", nil
	case t.digest == "":
		return "the tool's declaration is not the one that it was pinned with", fmt.Errorf(
			"pinned is %s, and what the server declares now has no canonical form", p.Digest)
	default:
		return "the tool's declaration is not the one that it was pinned with", fmt.Errorf(
			"pinned is %s, the server declares %s: see with regogate init what has changed, and accept it with --update-pins", p.Digest, t.digest)
	}
}

// checkPin compares the tool with its pin. It is the first question about a tool that
// the server declares: whatever else may be wrong with another declaration doesn't matter.
func (g *Gate) checkPin(rules Ruleset, t *Tool, d *Decision) bool {
	if g.options.Pins == PinsOff {
		return true
	}
	message, detail := rules.Cover(t).Pin.Differs(t)
	if message == "" {
		return true
	}
	if g.options.Pins == PinsWarn {
		d.Warnings = append(d.Warnings, Refusal{Code: ToolChanged, Message: message})
		return true
	}
	d.refuse(ToolChanged, message)
	d.Err = fmt.Errorf("tool %q: %s: %w", t.Name(), message, detail)
	return false
}
