package validatortest

import (
	"testing"
	"time"

	"github.com/regogate/regogate/policy"
)

// Options say what to prove. Tool and Validator are required.
type Options struct {
	// Tool is what the validator stands in front of.
	Tool policy.ToolSpec
	// Validator is what is proven.
	Validator policy.Validator
	// Allowed are arguments, JSON objects, that the schema accepts and the validator
	// has no objection to; Refused are those that the schema accepts and it refuses.
	// Without Refused, no fact can show that a refusal stays one.
	Allowed, Refused []string
	// Caller is who calls.
	Caller policy.Caller
	// Standalone says that the validator is relied on where the schema isn't enforced:
	// it then has to refuse what the schema would have.
	Standalone bool
	// Patience is how long an answer may take. 0 means 2 s.
	Patience time.Duration
}

const defaultPatience = 2 * time.Second

// The names of the facts, in the order in which they are checked.
const (
	returns    = "never-returns"
	panics     = "panic"
	empty      = "empty refusal"
	samples    = "samples"
	missing    = "missing required"
	wrongType  = "wrong type"
	outOfRange = "out of range"
	pattern    = "pattern violation"
	undeclared = "undeclared property"
	cancelled  = "pre-cancelled context"
	idempotent = "idempotence"
	unchanged  = "no mutation"
	concurrent = "concurrent use"
)

// An Outcome is what became of one fact: it holds, unless Failure or Skipped says why not.
type Outcome struct {
	Fact    string
	Failure string // what the validator did
	Skipped string // why the fact could not be shown
}

// Run proves each fact in a subtest of its name.
func Run(t *testing.T, o Options) {
	t.Helper()
	outcomes, err := Check(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, outcome := range outcomes {
		t.Run(outcome.Fact, func(t *testing.T) {
			switch {
			case outcome.Failure != "":
				t.Error(outcome.Failure)
			case outcome.Skipped != "":
				t.Skip(outcome.Skipped)
			}
		})
	}
}

// Check is [Run] without a test: it returns the outcome of every fact. The error says
// that nothing could be checked, because the options have no validator or no usable tool.
func Check(o Options) ([]Outcome, error) {
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	c := b.calls()
	facts := []struct {
		name  string
		check func(*calls) Outcome
	}{
		{returns, b.returns}, {panics, b.panics}, {empty, b.emptyRefusal}, {samples, b.samples},
		{missing, b.violation(missing)}, {wrongType, b.violation(wrongType)}, {outOfRange, b.violation(outOfRange)},
		{pattern, b.violation(pattern)}, {undeclared, b.violation(undeclared)},
		{cancelled, b.preCancelled}, {idempotent, b.idempotence}, {unchanged, b.noMutation}, {concurrent, b.concurrentUse},
	}
	var out []Outcome
	stop := "" // why nothing more can be asked
	for _, f := range facts {
		outcome := Outcome{Skipped: stop}
		if stop == "" {
			outcome = f.check(c)
		}
		outcome.Fact = f.name
		switch {
		case outcome.Failure == "":
		case f.name == returns:
			stop = "the validator does not return, so nothing else can be asked"
		case f.name == unchanged:
			stop = "the validator changes what it shares, so asking it at the same time would prove nothing"
		}
		out = append(out, outcome)
	}
	return out, nil
}
