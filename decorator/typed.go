package decorator

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/regogate/regogate/policy"
)

// A TypedHandler runs one tool on its arguments, decoded into an In.
type TypedHandler[In, Out any] func(ctx context.Context, in In) (Out, error)

// A DecodeError is what a typed handler returns for arguments that satisfy the tool's
// schema and the rules and still don't fit the handler's type: the schema is wider than
// the type. The handler didn't run.
type DecodeError struct {
	Tool string
	Type string // of the handler's arguments, or of the part of them that didn't fit
	At   string // JSON Pointer into the arguments, "" for all of them or when unknown
	Err  error  // the decoder's own words, for the operator: they may repeat a value
}

// Error says where, without repeating a value.
func (e *DecodeError) Error() string {
	where := "the arguments"
	if e.At != "" {
		where = e.At
	}
	return fmt.Sprintf("tool %q did not run: %s doesn't fit the Go type %s that its handler reads", e.Tool, where, e.Type)
}

// Unwrap returns the decoder's error.
func (e *DecodeError) Unwrap() error { return e.Err }

// SchemaFor returns the JSON Schema of the arguments that an In holds, as
// github.com/google/jsonschema-go makes it: fields are named by their json tags and
// described by their jsonschema tags, those without omitempty or omitzero are
// required, no others are allowed, and integers have the range of their types.
// In is a struct, a map with string keys or any.
func SchemaFor[In any]() (stdjson.RawMessage, error) {
	t := reflect.TypeFor[In]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[any]():
		return stdjson.RawMessage(`{"type":"object"}`), nil
	case t.Kind() != reflect.Struct && t.Kind() != reflect.Map:
		return nil, fmt.Errorf("%s can't be a tool's arguments: they are an object, so use a struct or a map", t)
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: numbers()})
	if err != nil {
		return nil, err
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("%s can't be a tool's arguments: its schema has the type %q, not object", t, schema.Type)
	}
	raw, err := stdjson.Marshal(schema)
	if err != nil {
		return nil, err
	}
	for name, bounds := range wideRanges {
		raw = bytes.ReplaceAll(raw, []byte(`"`+rangeKey+`":"`+name+`"`), []byte(bounds))
	}
	return raw, nil
}

// rangeKey is in a schema where bounds are to be that jsonschema-go can't write: it
// keeps them as float64. Its value is a string, which no schema of a property is, so
// that it can't be mistaken for one.
const rangeKey = "x-regogate-range"

var wideRanges = map[string]string{
	"int64":  `"minimum":-9223372036854775808,"maximum":9223372036854775807`,
	"int32":  `"minimum":-2147483648,"maximum":2147483647`,
	"uint64": `"minimum":0,"maximum":18446744073709551615`,
	"uint32": `"minimum":0,"maximum":4294967295`,
}

// numbers are the types that jsonschema-go says nothing, or something else, of.
func numbers() map[reflect.Type]*jsonschema.Schema {
	schemas := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[stdjson.Number](): {Type: "number"}}
	for _, t := range []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[int64](), reflect.TypeFor[uint](), reflect.TypeFor[uint64]()} {
		name := fmt.Sprintf("%s%d", strings.TrimRight(t.Name(), "0123456789"), t.Bits())
		schemas[t] = &jsonschema.Schema{Type: "integer", Extra: map[string]any{rangeKey: name}}
	}
	return schemas
}

// WrapTyped is [Wrap] for a handler that reads an In. The schema is [SchemaFor] In when
// the spec has none. Once a call has been let through, the bytes that were decided are
// decoded, exactly: a name is that name only, whatever its case; an integer field holds
// 9007199254740993 when that is what was sent; a number in an any is a json.Number; and
// a number that a float64 or float32 field would round is a *[DecodeError] and no call.
// The schema's defaults are not filled in: what was not sent has its zero value.
func WrapTyped[In, Out any](d Decider, spec policy.ToolSpec, h TypedHandler[In, Out]) (Handler[Out], error) {
	if h == nil {
		return nil, fmt.Errorf("decorator.WrapTyped: tool %q: the handler is nil", spec.Name)
	}
	if len(spec.InputSchema) == 0 && !spec.NoSchema {
		schema, err := SchemaFor[In]()
		if err != nil {
			return nil, fmt.Errorf("decorator.WrapTyped: tool %q: input schema: %w", spec.Name, err)
		}
		spec.InputSchema = schema
	}
	return Wrap(d, spec, func(ctx context.Context, arguments stdjson.RawMessage) (Out, error) {
		in, err := decodeExactly[In](orEmptyObject(arguments))
		if err != nil {
			var none Out
			return none, decodeError(spec.Name, reflect.TypeFor[In](), err)
		}
		return h(ctx, in)
	})
}

func decodeError(tool string, in reflect.Type, err error) *DecodeError {
	e := &DecodeError{Tool: tool, Type: in.String(), Err: err}
	var where *misfit
	if errors.As(err, &where) {
		e.At = where.at
		if where.into != nil {
			e.Type = where.into.String()
		}
	}
	return e
}
