package mcpgo

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy"
)

// Middleware returns the part that decides the calls which are run at once, and again
// each time that mcp-go runs the handler anew with a client's answers. Tools of
// AddTaskTool don't go through it.
func (a *Adapter) Middleware() server.ToolHandlerMiddleware {
	return func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		if a.noop {
			return next
		}
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if a.decidedAsTask(ctx, &req.Params) {
				return next(ctx, req)
			}
			if d, t := a.decide(ctx, &req); !d.Effective {
				return result(d, t)
			}
			return next(ctx, req)
		}
	}
}

// decide asks about one call.
func (a *Adapter) decide(ctx context.Context, req *mcp.CallToolRequest) (d policy.Decision, t *policy.Tool) {
	defer func() {
		if p := recover(); p != nil {
			d, t = a.panicked(p), nil
		}
	}()
	t, err := a.tools.find(ctx, req.Params.Name)
	if err != nil {
		a.o.report(err)
		return adapter.NotReady(ctx, a.decider, a.o.Server, req.Params.Name, err), nil
	}
	return adapter.Decide(withTrace(ctx, req), a.decider, a.call(ctx, req, t)), t
}

func (a *Adapter) panicked(p any) policy.Decision {
	err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	a.o.report(err)
	return adapter.Refused(nil, policy.Undecided, "the policy could not be evaluated for this call", err)
}

// result makes a tool result of the bytes of one.
func result(d policy.Decision, t *policy.Tool) (*mcp.CallToolResult, error) {
	answer := adapter.Refusal(d, t)
	if answer.Error != nil {
		// The tool was removed between mcp-go's own look-up and ours. mcp-go makes -32603
		// of an error, so that the text is all that can be said.
		return nil, errors.New(answer.Error.Message)
	}
	r := new(mcp.CallToolResult)
	if err := r.UnmarshalJSON(answer.Result); err != nil {
		return nil, errors.New(d.Text())
	}
	return r, nil
}
