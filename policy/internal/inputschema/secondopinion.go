package inputschema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	qri "github.com/qri-io/jsonschema"
)

// A secondOpinion asks qri, after the first engine accepted. It can only refuse more.
//
// qri fetches references, follows circular ones until the process dies, and keeps
// schemas by their identifiers in a global map without a lock. So it gets only schemas
// without references and identifiers, one call at a time, and is not waited for longer
// than callPatience.
type secondOpinion struct {
	schema *qri.Schema
	bytes  int // the largest arguments to ask about
	place  func(v any, tokens []string) string
	limit  func([]Violation) []Violation
}

// qriTurn is held by whoever runs qri, in the whole process since qri's registry is
// global. A run that was given up holds it until it ends, so there is never more than
// one of these.
var qriTurn = make(chan struct{}, 1)

// A patience says how long to wait for qri.
type patience struct {
	turn time.Duration // until it is free
	run  time.Duration // until it is done
}

var (
	// callPatience is for a call, which is refused thereafter.
	callPatience = patience{turn: 100 * time.Millisecond, run: 250 * time.Millisecond}
	// compilePatience is for reading a schema, for which no call waits.
	compilePatience = patience{turn: 5 * time.Second, run: 5 * time.Second}
)

var (
	errQriBusy = errors.New("the second schema engine (qri) is busy: send fewer calls at a time, or turn the second opinion off")
	errQriSlow = errors.New("the second schema engine (qri) takes too long: send less, or turn the second opinion off")
)

const textSecondOpinion = "is not accepted by the second schema engine, which is stricter or mistaken here: follow the schema's simplest form"

// newSecondOpinion returns nil for a schema that qri must not get.
func newSecondOpinion(s *Schema, d *document) (*secondOpinion, error) {
	if d.references {
		return nil, nil
	}
	value := d.value
	if s.options.Formats == Annotate {
		value = withoutFormats(value)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("#: the schema can't be written for the second schema engine: %w", err)
	}
	o := &secondOpinion{schema: &qri.Schema{}, bytes: s.options.SecondOpinionBytes, place: s.place, limit: s.limited}
	_, err = inTurn(compilePatience, func() ([]qri.KeyError, error) { return nil, o.schema.UnmarshalJSON(raw) })
	if err != nil {
		return nil, fmt.Errorf("#: the second schema engine (qri) can't read the schema; simplify it, or turn the second opinion off: %w", err)
	}
	return o, nil
}

// ask returns what qri holds against a value, nothing for values that are too large to
// ask about. An error means that it has no opinion, which refuses.
func (o *secondOpinion) ask(given map[string]any) ([]Violation, error) {
	if sizeOf(given, o.bytes) > o.bytes {
		return nil, nil
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("the arguments can't be written for the second schema engine: %w", err)
	}
	if len(raw) > o.bytes {
		return nil, nil
	}
	refusals, err := inTurn(callPatience, func() ([]qri.KeyError, error) {
		return o.schema.ValidateBytes(context.Background(), raw)
	})
	if err != nil {
		return nil, err
	}
	found := make([]Violation, 0, len(refusals))
	for _, r := range refusals {
		// The rest of r repeats values.
		found = append(found, Violation{Pointer: o.place(given, tokensOf(r.PropertyPath)), Message: textSecondOpinion})
	}
	return o.limit(found), nil
}

// inTurn runs qri, alone and for a limited time.
func inTurn(p patience, run func() ([]qri.KeyError, error)) ([]qri.KeyError, error) {
	wait := time.NewTimer(p.turn)
	defer wait.Stop()
	select {
	case qriTurn <- struct{}{}:
	case <-wait.C:
		return nil, errQriBusy
	}
	type answer struct {
		refusals []qri.KeyError
		err      error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("panic in the second schema engine (qri): %v\n%s", p, debug.Stack())}
			}
			<-qriTurn
			done <- a
		}()
		a.err = errors.New("the second schema engine (qri) ended its goroutine")
		a.refusals, a.err = run()
	}()
	limit := time.NewTimer(p.run)
	defer limit.Stop()
	select {
	case a := <-done:
		return a.refusals, a.err
	case <-limit.C:
		return nil, errQriSlow
	}
}

// tokensOf splits a JSON Pointer. qri writes / for the root.
func tokensOf(pointer string) []string {
	pointer = strings.TrimPrefix(pointer, "/")
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(pointer, "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}

// sizeOf returns less than the bytes of v as JSON, or something above limit as soon as
// it is known to be.
func sizeOf(v any, limit int) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v)
	case json.Number:
		n = len(v)
	case []any:
		for _, e := range v {
			if n += sizeOf(e, limit-n); n > limit {
				break
			}
		}
	case map[string]any:
		for name, e := range v {
			if n += len(name) + sizeOf(e, limit-n); n > limit {
				break
			}
		}
	}
	return n
}

// withoutFormats copies a schema without its formats, which qri always asserts.
func withoutFormats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for name, e := range v {
			switch name {
			case "format":
				if _, ok := e.(string); ok {
					continue // in a place for subschemas a property of this name has no string
				}
				c[name] = withoutFormats(e)
			case "const", "default":
				c[name] = e // data, or a property of this name, which then keeps its format
			case "enum", "examples":
				if c[name] = e; kindOf(e) == kindObject { // not the keyword but a property
					c[name] = withoutFormats(e)
				}
			default:
				c[name] = withoutFormats(e)
			}
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = withoutFormats(e)
		}
		return c
	default:
		return v
	}
}
