package gosdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// ClientOptions configure the gate of a client. The zero value is ready to use.
type ClientOptions struct {
	// Server is the configured name of the server that the client is connected to.
	Server string
	// ServerOf says it by session instead, for a client with several. It must always
	// say the same of the same session.
	ServerOf func(*mcp.ClientSession) string
	// ManualRoundTrips says that the application answers a server's input requests
	// itself: set it when the client was made with MultiRoundTripOptions.Disabled.
	ManualRoundTrips bool
	// Report is as in [Options].
	Report func(error)
}

// GateClient has d decide the calls that a client makes, before anything is sent. The
// tools are learned from each server, with the client's own session, and again when
// it says that they changed, when it declares how long a list is good for, and when a
// call names an unknown one.
//
// A refused call looks to the application as if the server had refused it: a result
// with IsError, or a *jsonrpc.Error with code -32602 for an unknown tool. The caller
// is the one that the application put into the call's context with policy.WithCaller.
//
// In the stateless era a server may ask for input before it completes a call. The
// client's handlers are then asked, as they are without a gate, and the retry with
// their answers is decided anew, so a call that is retried has several decisions.
//
// Call it once, before the client connects and before other middleware is added. A
// nil client or decider is an error.
func GateClient(c *mcp.Client, d decorator.Decider, o ClientOptions) error {
	if c == nil {
		return errors.New("gosdk.GateClient: the client is nil")
	}
	if err := adapter.CheckDecider(d); err != nil {
		return fmt.Errorf("gosdk.GateClient: %w", err)
	}
	if adapter.IsNoop(d) {
		return nil
	}
	newClientGate(d, o).on(c)
	return nil
}

// A clientGate decides the calls that a client makes.
type clientGate struct {
	decider  decorator.Decider
	o        ClientOptions
	sessions *sessions
	handlers atomic.Pointer[mcp.MethodHandler] // what the client does with a server's requests
}

func newClientGate(d decorator.Decider, o ClientOptions) *clientGate {
	return &clientGate{decider: d, o: o, sessions: newSessions(d, o)}
}

func (g *clientGate) on(c *mcp.Client) {
	c.AddReceivingMiddleware(g.receiving)
	c.AddSendingMiddleware(g.sending)
}

// receiving hears of changes, and keeps hold of the client's handlers.
func (g *clientGate) receiving(next mcp.MethodHandler) mcp.MethodHandler {
	g.handlers.Store(&next)
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == mcpwire.ToolsListChanged {
			if cs, ok := req.GetSession().(*mcp.ClientSession); ok {
				g.sessions.changed(cs)
			}
		}
		return next(ctx, method, req)
	}
}

func (g *clientGate) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != mcpwire.CallTool {
			return next(ctx, method, req)
		}
		cs, isClient := req.GetSession().(*mcp.ClientSession)
		params, isCall := req.GetParams().(*mcp.CallToolParams)
		if !isClient || cs == nil || !isCall || params == nil {
			return nil, fmt.Errorf("gosdk: a tools/call is a %T with a %T here: middleware outside of the gate must pass on what it gets", req, req.GetParams())
		}
		return g.attempts(ctx, next, outgoing{cs, params})
	}
}

// An outgoing call is a tools/call that is about to be sent.
type outgoing struct {
	session *mcp.ClientSession
	params  *mcp.CallToolParams
}

// request returns the call as the SDK makes it.
func (c outgoing) request() *mcp.ClientRequest[mcp.Params] {
	return &mcp.ClientRequest[mcp.Params]{Session: c.session, Params: c.params}
}

// attempt decides one request and sends it.
func (g *clientGate) attempt(ctx context.Context, next mcp.MethodHandler, call outgoing) (mcp.Result, error) {
	arguments, err := encode(call.params.Arguments)
	if err != nil {
		return nil, fmt.Errorf("the arguments of tool %q can't be encoded: %w", call.params.Name, err)
	}
	if d, t := g.decide(ctx, next, call, arguments); !d.Effective {
		return refusal(d, t)
	}
	params := *call.params
	params.Arguments = arguments // what was decided, whatever the value encodes to next time
	sent := outgoing{call.session, &params}.request()
	if g.o.ManualRoundTrips {
		return next(ctx, mcpwire.CallTool, sent)
	}
	return next(ctx, mcpwire.CallTool, onceRequest{sent})
}

// decide asks about one request; next is what would send it.
func (g *clientGate) decide(ctx context.Context, next mcp.MethodHandler, call outgoing, arguments json.RawMessage) (d policy.Decision, t *policy.Tool) {
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			g.report(err)
			d, t = adapter.Refused(nil, policy.Undecided, "the policy could not be evaluated for this call", err), nil
		}
	}()
	session := g.sessions.of(call.session)
	t, err := session.find(ctx, next, call)
	if err != nil {
		g.report(err)
		return adapter.NotReady(ctx, g.decider, session.server, call.params.Name, err), nil
	}
	c := policy.Call{Tool: t, Arguments: adapter.Arguments(arguments), Session: call.session.ID()}
	c.Responses, c.Unfaithful = responses(call.params.InputResponses)
	return adapter.Decide(adapter.WithTrace(ctx, call.params.Meta["traceparent"], nil), g.decider, c), t
}

func (g *clientGate) report(err error) { adapter.Report(g.o.Report, err) }

// encode returns the bytes that the SDK will send for v.
func encode(v any) (raw json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil { // a MarshalJSON method of the application
			raw, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if v == nil {
		return json.RawMessage("{}"), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
