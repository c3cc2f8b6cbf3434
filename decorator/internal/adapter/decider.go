package adapter

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/google/uuid"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/policy"
)

// ErrNoDecider says that there is nobody to ask.
var ErrNoDecider = errors.New("the decider is nil: make one with policy.NewGate, or policy.NewNoopGate while there are no rules")

// CheckDecider refuses a decider that can't decide anything.
func CheckDecider(d decorator.Decider) error {
	if g, isGate := d.(*policy.Gate); d == nil || isGate && g == nil {
		return ErrNoDecider
	}
	return nil
}

// OrRefusing returns d, or a decider that refuses every call when d is nil, for
// constructors that have no error to return.
func OrRefusing(d decorator.Decider) decorator.Decider {
	if CheckDecider(d) != nil {
		return (*policy.Gate)(nil)
	}
	return d
}

// IsNoop reports whether d is the explicit "no rules yet" of [policy.NewNoopGate],
// with which a program behaves as it did without a gate. Only a gate can be that: any
// other decider has to be asked.
func IsNoop(d decorator.Decider) bool {
	g, isGate := d.(*policy.Gate)
	return isGate && g.Noop()
}

// Decide asks d. One that panics has not allowed anything.
func Decide(ctx context.Context, d decorator.Decider, call policy.Call) (decision policy.Decision) {
	defer func() {
		if p := recover(); p != nil {
			decision = Refused(call.Tool, policy.Undecided, "the policy could not be evaluated for this call",
				fmt.Errorf("panic while deciding: %v\n%s", p, debug.Stack()))
		}
	}()
	return d.Decide(ctx, call)
}

// Report tells to, if there is anybody, of something that an operator should look at.
// Whatever happens there, the call goes its way.
func Report(to func(error), err error) {
	if to == nil {
		return
	}
	defer func() { _ = recover() }()
	to(err)
}

// Refused makes a decision where no decider could be asked. err is for the operator.
func Refused(t *policy.Tool, code policy.Code, message string, err error) policy.Decision {
	return policy.Decision{
		ID:       uuid.NewString(),
		Tool:     t.Name(),
		Server:   t.Server(),
		Refusals: []policy.Refusal{{Code: code, Message: message}},
		Warnings: []policy.Refusal{},
		Err:      err,
	}
}

// NotReady refuses a call to a tool whose server could not be asked what it declares.
// d is asked all the same, so that the refusal is recorded; whatever it says, the call
// goes no further.
func NotReady(ctx context.Context, d decorator.Decider, server, tool string, err error) policy.Decision {
	t := policy.UnlearnedTool(server, tool, err)
	decision := Decide(ctx, d, policy.Call{Tool: t, Arguments: []byte("{}")})
	if decision.Effective {
		return Refused(t, policy.NotReady, "the server's tools are not known yet, so no call can be checked", err)
	}
	return decision
}
