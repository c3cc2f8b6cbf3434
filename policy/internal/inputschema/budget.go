package inputschema

import (
	"errors"
	"fmt"
)

// Work is charged in units: a step, which is one evaluation of a subschema, is 16 of
// them. So cheap work that is done many times, such as looking at each name of a
// large object, counts without making ordinary checks expensive.
const (
	unitsPerStep = 16
	// bytesPerUnit is how much text is looked at for one unit.
	bytesPerUnit = 256
)

// A budget counts down what one check may still do. When nothing is left it panics:
// the engine has no other way out, and whoever starts a check recovers.
type budget struct {
	units int
	steps int // as configured, for the error
}

func (b *budget) refill() { b.units = b.steps * unitsPerStep }

func (b *budget) spend(units int) {
	b.units -= units
	if b.units < 0 {
		panic(exhausted{b.steps})
	}
}

// exhausted is what a budget panics with.
type exhausted struct{ steps int }

func (e exhausted) Error() string {
	return fmt.Sprintf("checking took more than %d steps: simplify the tool's schema, send less, or raise the limit", e.steps)
}

// badValue is what a value that can't be checked panics with.
type badValue struct{ err error }

func (e badValue) Error() string { return "the arguments can't be checked: " + e.err.Error() }
func (e badValue) Unwrap() error { return e.err }

func notJSON(v any) badValue {
	return badValue{fmt.Errorf("a value of Go type %T isn't JSON", v)}
}

// recovered turns what was recovered from a panic into an error.
func recovered(p any, stack []byte) error {
	if err, ok := p.(error); ok {
		if errors.As(err, new(exhausted)) || errors.As(err, new(badValue)) {
			return err
		}
	}
	return fmt.Errorf("panic while checking against the schema: %v\n%s", p, stack)
}
