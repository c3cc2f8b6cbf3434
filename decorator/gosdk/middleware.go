package gosdk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// GateServer puts d in front of all tools of a server. A nil server or decider is an
// error.
func GateServer(s *mcp.Server, d decorator.Decider, o Options) error {
	if s == nil {
		return errors.New("gosdk.GateServer: the server is nil")
	}
	if err := adapter.CheckDecider(d); err != nil {
		return fmt.Errorf("gosdk.GateServer: %w", err)
	}
	s.AddReceivingMiddleware(Middleware(d, o))
	return nil
}

// Middleware returns receiving middleware for a server: it has d decide each
// tools/call and lets everything else pass. With a nil decider it refuses every call;
// [GateServer] makes an error of that.
func Middleware(d decorator.Decider, o Options) mcp.Middleware {
	d = adapter.OrRefusing(d)
	if adapter.IsNoop(d) {
		return func(next mcp.MethodHandler) mcp.MethodHandler { return next }
	}
	g := &serverGate{decider: d, o: o, tools: newServerTools(d, o)}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != mcpwire.CallTool {
				return next(ctx, method, req)
			}
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || call == nil || call.Params == nil {
				err := fmt.Errorf("a tools/call is a %T here: middleware outside of the gate must pass on a %T", req, call)
				o.report(err)
				return refusal(adapter.Refused(nil, policy.Undecided, "the call could not be read", err), nil)
			}
			if decision, tool := g.decide(ctx, next, call); !decision.Effective {
				return refusal(decision, tool)
			}
			return next(ctx, method, asDecided(call))
		}
	}
}

// A serverGate decides the calls that a server receives.
type serverGate struct {
	decider decorator.Decider
	o       Options
	tools   *serverTools
}

// decide asks about one tools/call; next is what would run it.
func (g *serverGate) decide(ctx context.Context, next mcp.MethodHandler, call *mcp.CallToolRequest) (d policy.Decision, t *policy.Tool) {
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			g.o.report(err)
			d, t = adapter.Refused(nil, policy.Undecided, "the policy could not be evaluated for this call", err), nil
		}
	}()
	found, err := g.tools.find(ctx, next, call)
	if err != nil {
		g.o.report(err)
		return adapter.NotReady(ctx, g.decider, g.o.Server, call.Params.Name, err), nil
	}
	ctx, c := g.o.call(ctx, call, found.tool, found.inexact)
	return adapter.Decide(ctx, g.decider, c), found.tool
}

// refusal is what a method handler returns for a refused call.
func refusal(d policy.Decision, t *policy.Tool) (mcp.Result, error) {
	result, err := refusedResult(d, t)
	if err != nil {
		return nil, err // not a typed nil
	}
	return result, nil
}

// refusedResult makes a result of the bytes of one, because only the SDK's decoder
// can set resultType, which clients of 2026-07-28 require.
func refusedResult(d policy.Decision, t *policy.Tool) (*mcp.CallToolResult, error) {
	answer := adapter.Refusal(d, t)
	if answer.Error != nil {
		return nil, &jsonrpc.Error{Code: answer.Error.Code, Message: answer.Error.Message, Data: answer.Error.Data}
	}
	result := new(mcp.CallToolResult)
	if err := result.UnmarshalJSON(answer.Result); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: d.Text()}
	}
	return result, nil
}
