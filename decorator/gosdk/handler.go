package gosdk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy"
)

// Handler returns a handler that runs h for the calls that d lets through. It is for
// one low-level tool of a server without [Middleware], and decides anew each time
// that the SDK runs the handler of a call:
//
//	gated, err := gosdk.Handler(gate, tool, handler, gosdk.Options{})
//	server.AddTool(tool, gated)
//
// h decodes the bytes of the arguments itself, so Options.Exact is not asked. A nil
// decider, tool or handler is an error, and so is a tool whose schema can't be used.
func Handler(d decorator.Decider, tool *mcp.Tool, h mcp.ToolHandler, o Options) (mcp.ToolHandler, error) {
	if err := adapter.CheckDecider(d); err != nil {
		return nil, fmt.Errorf("gosdk.Handler: %w", err)
	}
	if tool == nil || tool.Name == "" {
		return nil, errors.New("gosdk.Handler: the tool is nil or has no name")
	}
	if h == nil {
		return nil, fmt.Errorf("gosdk.Handler: tool %q: the handler is nil", tool.Name)
	}
	if adapter.IsNoop(d) {
		return h, nil
	}
	known := adapter.NewTools(d, o.Server, nil).Declared(tool.Name, tool)
	if err := known.SchemaErr(); err != nil {
		return nil, fmt.Errorf("gosdk.Handler: %w", err)
	}
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if decision := decideOne(ctx, d, known, req, o); !decision.Effective {
			return refusedResult(decision, known)
		}
		return h(ctx, asDecided(req))
	}, nil
}

func decideOne(ctx context.Context, d decorator.Decider, t *policy.Tool, req *mcp.CallToolRequest, o Options) (decision policy.Decision) {
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			o.report(err)
			decision = adapter.Refused(t, policy.Undecided, "the policy could not be evaluated for this call", err)
		}
	}()
	if req == nil || req.Params == nil {
		return adapter.Refused(t, policy.Undecided, "the call could not be read", errors.New("the request has no params"))
	}
	if req.Params.Name != t.Name() {
		err := fmt.Errorf("the handler gated for tool %q was called for %q: add it under its own name", t.Name(), req.Params.Name)
		o.report(err)
		return adapter.Refused(t, policy.Undecided, "the policy could not be evaluated for this call", err)
	}
	ctx, call := o.call(ctx, req, t, nil)
	return adapter.Decide(ctx, d, call)
}
