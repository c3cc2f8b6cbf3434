package decorator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/regogate/regogate/policy"
)

// A Decider decides calls. *policy.Gate is one.
type Decider interface {
	// Decide answers one call; it always answers.
	Decide(ctx context.Context, call policy.Call) policy.Decision
	// Tool makes a declared tool ready to be called.
	Tool(spec policy.ToolSpec) *policy.Tool
}

// A Handler runs one tool on its arguments, a JSON object.
type Handler[R any] func(ctx context.Context, arguments json.RawMessage) (R, error)

// A RefusedError is what a wrapped handler returns for a refused call.
type RefusedError struct{ Decision policy.Decision }

// Error says why, in words that an agent can act on.
func (e *RefusedError) Error() string { return e.Decision.Text() }

// Wrap returns a handler that runs h for the calls to the tool that d lets through,
// and returns a *[RefusedError] for the others. Absent arguments (none, or null) are
// decided as {}; h gets the bytes as they came.
//
// A nil decider or handler is an error, and so is a tool whose schema can't be used:
// every call to it would be refused.
func Wrap[R any](d Decider, spec policy.ToolSpec, h Handler[R]) (Handler[R], error) {
	if h == nil {
		return nil, fmt.Errorf("decorator.Wrap: tool %q: the handler is nil", spec.Name)
	}
	tool, err := prepare(d, spec)
	if err != nil {
		return nil, fmt.Errorf("decorator.Wrap: %w", err)
	}
	return func(ctx context.Context, arguments json.RawMessage) (R, error) {
		decision := d.Decide(ctx, policy.Call{Tool: tool, Arguments: orEmptyObject(arguments), Transport: "go"})
		if !decision.Effective {
			var zero R
			return zero, &RefusedError{decision}
		}
		return h(ctx, arguments)
	}, nil
}

// prepare makes the tool ready that a handler is wrapped for, and says what would keep
// every call from running.
func prepare(d Decider, spec policy.ToolSpec) (*policy.Tool, error) {
	if g, isGate := d.(*policy.Gate); d == nil || isGate && g == nil {
		return nil, errors.New("the decider is nil: make one with policy.NewGate, or policy.NewNoopGate while there are no rules")
	}
	if spec.Name == "" {
		return nil, errors.New("the tool has no name")
	}
	tool := d.Tool(spec)
	return tool, tool.SchemaErr()
}

// orEmptyObject turns absent arguments into {}: a tool without parameters is called
// without any.
func orEmptyObject(arguments json.RawMessage) json.RawMessage {
	if t := bytes.TrimSpace(arguments); len(arguments) == 0 || bytes.Equal(t, []byte("null")) {
		return json.RawMessage("{}")
	}
	return arguments
}
