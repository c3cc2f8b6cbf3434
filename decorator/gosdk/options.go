package gosdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy"
)

// Options configure the gate of a server. The zero value is ready to use.
type Options struct {
	// Server is the configured name of the server, input.tool.server for rules.
	Server string
	// Caller says who calls, by what the transport knows of the request: nil, or
	// without a header, where it knows nothing. An error makes the call undecided.
	//
	// A nil Caller means: the bearer token's UserID, scopes and extra claims when the
	// SDK verified one, and otherwise the caller that the application put into the
	// context with policy.WithCaller. The token comes first because it belongs to this
	// request for certain, and the context may be that of the session's first request.
	Caller func(ctx context.Context, extra *mcp.RequestExtra) (policy.Caller, error)
	// Exact reports whether a tool's handler gets the numbers of its arguments as they
	// were sent, because it was added with Server.AddTool and decodes the bytes itself.
	// A nil Exact means that only [AddTool] and [Exact] say so.
	Exact func(tool string) bool
	// Report, if not nil, is told of what an operator should look at: a tool that can't
	// be used, tools that can't be listed. It must be safe for concurrent use.
	Report func(error)
}

func (o Options) report(err error) { adapter.Report(o.Report, err) }

// withCaller returns ctx with the caller of a request.
func (o Options) withCaller(ctx context.Context, extra *mcp.RequestExtra) (called context.Context, err error) {
	defer func() {
		if p := recover(); p != nil {
			called, err = ctx, fmt.Errorf("caller: panic: %v\n%s", p, debug.Stack())
		}
	}()
	if o.Caller != nil {
		c, err := o.Caller(ctx, extra)
		if err != nil {
			return ctx, fmt.Errorf("caller: %w", err)
		}
		return policy.WithCaller(ctx, c), nil
	}
	if extra == nil || extra.TokenInfo == nil {
		return ctx, nil
	}
	t := extra.TokenInfo
	return policy.WithCaller(ctx, policy.Caller{Subject: t.UserID, Scopes: t.Scopes, Claims: t.Extra}), nil
}

// call makes a policy.Call of a request, and the context in which it is decided.
func (o Options) call(ctx context.Context, req *mcp.CallToolRequest, t *policy.Tool, inexact func([]byte) error) (context.Context, policy.Call) {
	call := policy.Call{Tool: t, Arguments: adapter.Arguments(req.Params.Arguments)}
	if req.Session != nil {
		call.Session = req.Session.ID()
	}
	var header http.Header
	if req.Extra != nil {
		header = req.Extra.Header
	}
	if header != nil {
		call.Transport = "http"
	}
	ctx, err := o.withCaller(adapter.WithTrace(ctx, req.Params.Meta["traceparent"], header), req.Extra)
	if err == nil {
		call.Responses, err = responses(req.Params.InputResponses)
	}
	if err == nil && inexact != nil {
		err = inexact(call.Arguments)
	}
	call.Unfaithful = err
	return ctx, call
}

// responses encodes answers that the SDK has decoded: as the handler gets them.
func responses(m mcp.InputResponseMap) (json.RawMessage, error) {
	if m == nil {
		return nil, nil
	}
	raw, err := json.Marshal(map[string]mcp.InputResponse(m))
	if err != nil {
		return nil, fmt.Errorf("the call's responses: %w", err)
	}
	return raw, nil
}

// asDecided returns a request whose handler gets what was decided. Only null is not
// passed on as it came, but as the {} that it was decided as: mcp.AddTool panics for
// it, outside of the handler, when the schema has a default.
func asDecided(req *mcp.CallToolRequest) *mcp.CallToolRequest {
	if string(req.Params.Arguments) != "null" {
		return req
	}
	params, decided := *req.Params, *req
	params.Arguments = adapter.Arguments(req.Params.Arguments)
	decided.Params = &params
	return &decided
}
