package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An exactSchema is an input schema whose Go type tells [Middleware] that the tool's
// handler gets numbers as they were sent. On the wire it is just the schema.
type exactSchema struct {
	json.RawMessage
	inexact func(arguments []byte) error // finds one that it doesn't get so; may be nil
}

// Exact returns a copy of a tool that tells [Middleware] that the tool's handler gets
// the numbers of its arguments as they were sent. That is the case with handlers that
// decode the bytes themselves into types which hold them:
//
//	server.AddTool(gosdk.Exact(tool), handler)
//
// It is not the case with mcp.AddTool, whatever the handler does; see [AddTool].
func Exact(t *mcp.Tool) *mcp.Tool {
	if t == nil || t.InputSchema == nil {
		return t // the server refuses to add it
	}
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		return t // likewise
	}
	exact := *t
	exact.InputSchema = exactSchema{RawMessage: raw}
	return &exact
}

// AddTool is mcp.AddTool, except that the handler gets the arguments as they were
// decided: an integer field holds 9007199254740993 when that is what was sent. A
// number that goes where float64 is all there is, a float64 or an any in In, is still
// rounded there; when that would change it, [Middleware] refuses the call.
//
// The schema is inferred from In as mcp.AddTool does, unless the tool has one, and
// the schema's defaults are filled in. What mcp.AddTool panics for is an error.
func AddTool[In, Out any](s *mcp.Server, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out]) (err error) {
	if s == nil || t == nil {
		return errors.New("gosdk.AddTool: the server or the tool is nil")
	}
	if h == nil {
		return fmt.Errorf("gosdk.AddTool: tool %q: the handler is nil", t.Name)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("gosdk.AddTool: %v", p)
		}
	}()
	raw, err := inputSchema[In](t)
	if err != nil {
		return fmt.Errorf("gosdk.AddTool: tool %q: input schema: %w", t.Name, err)
	}
	exact := *t
	exact.InputSchema = exactSchema{RawMessage: raw, inexact: inexactIn(reflect.TypeFor[In]())}
	mcp.AddTool(s, &exact, func(ctx context.Context, req *mcp.CallToolRequest, seen withDefaults) (*mcp.CallToolResult, Out, error) {
		in, err := decodeExactly[In](req.Params.Arguments, seen.JSON)
		if err != nil {
			var none Out
			return nil, none, err // a tool error, as for mcp.AddTool
		}
		return h(ctx, req, in)
	})
	return nil
}

// inputSchema returns the schema of a tool, inferred from In when it has none.
func inputSchema[In any](t *mcp.Tool) ([]byte, error) {
	in := reflect.TypeFor[In]()
	switch {
	case t.InputSchema != nil:
		return json.Marshal(t.InputSchema)
	case in == reflect.TypeFor[any]():
		return []byte(`{"type":"object"}`), nil
	case in.Kind() == reflect.Pointer:
		in = in.Elem()
	}
	schema, err := jsonschema.ForType(in, &jsonschema.ForOptions{})
	if err != nil {
		return nil, err
	}
	return json.Marshal(schema)
}

// withDefaults stands in for In in the SDK's own decoding. It keeps what the SDK has
// made of the arguments: the defaults are filled in, and the numbers rounded.
type withDefaults struct{ JSON jsontext.Value }

// UnmarshalJSON keeps a copy of data.
func (w *withDefaults) UnmarshalJSON(data []byte) error {
	w.JSON = jsontext.Value(data).Clone()
	return nil
}
