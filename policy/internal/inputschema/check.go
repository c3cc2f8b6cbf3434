package inputschema

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An Outcome is what a check found. The zero Outcome, like any whose OK is false,
// refuses.
type Outcome struct {
	// OK reports whether the arguments were checked and nothing is held against them.
	OK bool
	// View is the arguments as the policy shall see them, nil if that couldn't be found
	// out: nulls that count as absent are left out and defaults filled in, as Options
	// say. It is the arguments themselves if nothing changes; else it shares the
	// unchanged parts with them. Not to be modified.
	View map[string]any
	// Violations say what doesn't satisfy the schema, by location. They can be shown to
	// the agent: they repeat no argument's value and no undeclared name.
	Violations []Violation
	// Malformed are the violations of FoldConflicts. If there are any, nothing else was
	// looked at.
	Malformed []Violation
	// Err says why it could not be decided whether the arguments satisfy the schema. It
	// is for the operator.
	Err error
}

// A Violation is one thing that is wrong with the arguments.
type Violation struct {
	// Pointer is a JSON Pointer into the arguments: to the value that is wrong, or to
	// the object that lacks or has too much. In place of a name that the schema doesn't
	// declare it has *.
	Pointer string
	// Message says what is wrong so that the call can be corrected.
	Message string
}

// Check checks arguments, which are decoded JSON with numbers as json.Number. They
// are not modified.
func (s *Schema) Check(args map[string]any) Outcome {
	if !s.usable() {
		return Outcome{Err: errUnusable}
	}
	if args == nil {
		return Outcome{Err: errors.New("the arguments are nil: pass an empty map for a call without arguments")}
	}
	if conflicts := s.FoldConflicts(args); len(conflicts) > 0 {
		return Outcome{Malformed: conflicts}
	}
	return s.checkObject(args)
}

func (s *Schema) checkObject(args map[string]any) (out Outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = Outcome{Err: recovered(p, debug.Stack())}
		}
	}()
	given := s.withoutNulls(args)
	var err error
	if out.Violations, err = s.check(given); err != nil {
		return Outcome{Err: err}
	}
	if s.second != nil && len(out.Violations) == 0 {
		if out.Violations, err = s.second.ask(given); err != nil {
			return Outcome{Err: err}
		}
	}
	out.View = s.withDefaults(given)
	out.OK = len(out.Violations) == 0
	return out
}

// check checks a value of any kind, as it is.
func (s *Schema) check(v any) (violations []Violation, err error) {
	if s.options.Steps > stackSteps && nestedDeeper(v, stackSteps/(s.graph.longest+1)) {
		return nil, badValue{errors.New("they are nested too deep for this schema and that many steps")}
	}
	e, err := s.pool.take()
	if err != nil {
		return nil, fmt.Errorf("no further copy of the schema could be compiled: %w", err)
	}
	// The engine is kept while its error is explained, so that there are never more of
	// these errors, which can be large, than engines.
	defer s.pool.give(e)
	defer func() {
		if p := recover(); p != nil {
			violations, err = nil, recovered(p, debug.Stack())
		}
	}()
	e.budget.refill()
	err = e.root.Validate(v)
	if err == nil {
		return s.explain(nil, v)
	}
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return nil, fmt.Errorf("the schema engine failed: %w", err)
	}
	return s.explain(failed, v)
}

// explain returns the violations that the engine's error stands for, and those of an
// open top level that is closed. If there is an error there is at least one violation.
func (s *Schema) explain(failed *jsonschema.ValidationError, given any) ([]Violation, error) {
	var found []Violation
	if failed != nil {
		x := explainer{schema: s, given: given}
		for _, f := range x.failures(failed) {
			found = append(found, Violation{Pointer: s.place(given, f.at), Message: f.message})
		}
		if x.err != nil {
			return nil, x.err
		}
		if len(found) == 0 {
			found = append(found, Violation{Message: textGeneric})
		}
	}
	if args, ok := given.(map[string]any); ok && s.closed != nil {
		if n := s.closed.undeclared(s.newWalk(), args); n > 0 {
			found = append(found, Violation{Message: undeclaredText(n, s.closed.text)})
		}
	}
	return s.limited(found), nil
}

// stackSteps is how many evaluations within one another surely fit on a goroutine's
// stack: each takes about 1.5 KB, and the stack can't grow beyond 512 MB. With no more
// steps than these it can't overflow.
const stackSteps = 150_000

// nestedDeeper reports whether v has containers that are more than limit deep.
func nestedDeeper(v any, limit int) bool {
	if !isContainer(v) {
		return false
	}
	if limit == 0 {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if nestedDeeper(e, limit-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if nestedDeeper(e, limit-1) {
				return true
			}
		}
	}
	return false
}
