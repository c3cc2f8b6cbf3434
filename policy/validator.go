package policy

import (
	"context"
	"errors"
)

var errNilValidator = errors.New("the validator is a nil function")

// ValidatorFunc is a function as a [Validator].
type ValidatorFunc func(ctx context.Context, in Input) ([]Refusal, error)

// Validate calls f. A nil f is an error, so that it refuses.
func (f ValidatorFunc) Validate(ctx context.Context, in Input) ([]Refusal, error) {
	if f == nil {
		return nil, errNilValidator
	}
	return f(ctx, in)
}
