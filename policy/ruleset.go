package policy

import "context"

// A Validator decides one call whose arguments satisfy the tool's schema. A deny set
// is one; Go code can be another. Refusals refuse the call, an error makes it
// undecided, and a panic is an error. A refusal without a message is an error too.
// A Validator must be safe for concurrent use and should stop when ctx does.
type Validator interface {
	Validate(ctx context.Context, in Input) ([]Refusal, error)
}

// A Ruleset is the rules of one revision of policy and data, ready to be asked. It
// never changes; regoeval makes one of a bundle.
type Ruleset interface {
	// Revision names policy and data together.
	Revision() string
	// Cover returns the rules for one tool. It is called on every decision.
	Cover(t *Tool) Coverage
}

// Coverage is what a ruleset has for one tool. The zero Coverage covers nothing.
type Coverage struct {
	// Deny refuses. nil when no package covers the tool.
	Deny Validator
	// Warn is recorded and never refuses. nil when there is nothing to ask.
	Warn Validator
	// Own reports that a package is meant for this tool, and not only for every tool.
	Own bool
	// Packages are the packages that are asked, for reports.
	Packages []Package
	// Pin is what the ruleset expects the tool's declaration to be.
	Pin Pin
	// Err says that the rules don't fit this tool: every call to it is undecided.
	Err error
}

// A Package is one package of a bundle, as a report names it.
type Package struct {
	Path string // as a policy author writes it: tools["send_email"]
	Deny int    // number of rules of the deny set
	Warn int    // number of rules of the warn set
	// Engine is what evaluates it, as the ruleset calls its engines; "" when it has one.
	Engine string
	// Note says why it isn't the engine that was asked for; "" when it is.
	Note string
}

// A Registration puts a Validator written in Go in front of a tool.
type Registration struct {
	Server    string // "" matches every server
	Tool      string // exact name; "" matches every tool
	Name      string // for the operator
	Validator Validator
}

func (r Registration) covers(t *Tool) bool {
	return (r.Server == "" || r.Server == t.Server()) && (r.Tool == "" || r.Tool == t.Name())
}
