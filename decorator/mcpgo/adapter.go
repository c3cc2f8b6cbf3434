package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"runtime/debug"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy"
)

// An Adapter is the gate of one server in its parts. Most servers take [WithGate] or
// [Install] instead.
type Adapter struct {
	decider decorator.Decider
	o       Options
	noop    bool
	tools   *tools
	tickets tickets
	lost    sync.Once // guards the report of a lost hook
}

// New returns the parts. A nil decider is an error.
func New(d decorator.Decider, o Options) (*Adapter, error) {
	if err := adapter.CheckDecider(d); err != nil {
		return nil, fmt.Errorf("mcpgo.New: %w", err)
	}
	return newAdapter(d, o), nil
}

func newAdapter(d decorator.Decider, o Options) *Adapter {
	d = adapter.OrRefusing(d)
	return &Adapter{decider: d, o: o, noop: adapter.IsNoop(d), tools: newTools(d, o)}
}

// WithGate puts d in front of all tools of a server. With a nil decider every call is
// refused; [Install] makes an error of that.
func WithGate(d decorator.Decider, o Options) server.ServerOption {
	return newAdapter(d, o).Option()
}

// Install puts d in front of all tools of a server that exists and serves nobody yet.
// A nil server or decider is an error.
func Install(s *server.MCPServer, d decorator.Decider, o Options) error {
	if s == nil {
		return errors.New("mcpgo.Install: the server is nil")
	}
	a, err := New(d, o)
	if err != nil {
		return fmt.Errorf("mcpgo.Install: %w", errors.Unwrap(err))
	}
	a.Option()(s)
	return nil
}

// Option puts all parts into a server.
func (a *Adapter) Option() server.ServerOption {
	return func(s *server.MCPServer) {
		if a.noop {
			return
		}
		hooks := s.GetHooks()
		if hooks == nil {
			hooks = &server.Hooks{}
			server.WithHooks(hooks)(s)
		}
		a.AddHooks(hooks)
		server.WithToolHandlerMiddleware(a.Middleware())(s)
		server.WithToolFilter(a.filter(hooks))(s)
	}
}

// call makes a policy.Call of a request.
func (a *Adapter) call(ctx context.Context, req *mcp.CallToolRequest, t *policy.Tool) policy.Call {
	p := &req.Params
	call := policy.Call{Tool: t, Arguments: adapter.Arguments(p.RawArguments), Session: sessionID(ctx)}
	switch {
	case len(req.Header) > 0 || ctx.Value(httpKey{}) != nil:
		call.Transport = "http"
	case call.Session == "stdio": // what mcp-go calls its only session there
		call.Transport = "stdio"
	}
	err, _ := ctx.Value(callerErrorKey{}).(error)
	if err == nil {
		err = consistent(p)
	}
	if err == nil && p.InputResponses != nil {
		call.Responses, err = responses(p.InputResponses)
	}
	if err == nil && (a.o.Exact == nil || !a.o.Exact(p.Name)) {
		err = roundedByMCPGo(call.Arguments)
	}
	call.Unfaithful = err
	return call
}

// withTrace returns ctx with the trace that a request continues.
func withTrace(ctx context.Context, req *mcp.CallToolRequest) context.Context {
	var meta any
	if req.Params.Meta != nil {
		meta = req.Params.Meta.AdditionalFields["traceparent"]
	}
	return adapter.WithTrace(ctx, meta, req.Header)
}

func sessionID(ctx context.Context) string {
	if session := server.ClientSessionFromContext(ctx); session != nil {
		return session.SessionID()
	}
	return ""
}

// consistent refuses arguments that mcp-go's two forms of them don't agree about: the
// bytes are decided, and the handler may read the other.
func consistent(p *mcp.CallToolParams) error {
	if len(p.RawArguments) == 0 {
		if p.Arguments == nil {
			return nil
		}
		return errors.New("the call has Arguments and no RawArguments, so its bytes are lost: middleware and hooks outside of the gate must not replace Arguments")
	}
	var decoded any
	if err := json.Unmarshal(p.RawArguments, &decoded); err != nil || !reflect.DeepEqual(decoded, p.Arguments) {
		return errors.New("the call's Arguments are not what its RawArguments say: middleware and hooks outside of the gate must not change one of them")
	}
	return nil
}

func responses(m mcp.InputResponses) (json.RawMessage, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("the call's responses: %w", err)
	}
	return raw, nil
}

// roundedByMCPGo finds a number that mcp-go's own decoding has rounded.
func roundedByMCPGo(arguments []byte) error {
	if err := adapter.Inexact(arguments); err != nil {
		return fmt.Errorf("%w, and a handler that uses GetInt, GetFloat or GetArguments would get another one: have the handler use BindArguments, and say so with Options.Exact", err)
	}
	return nil
}

func callerOf(who func(*http.Request) (policy.Caller, error), r *http.Request) (c policy.Caller, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("caller: panic: %v\n%s", p, debug.Stack())
		}
	}()
	if c, err = who(r); err != nil {
		err = fmt.Errorf("caller: %w", err)
	}
	return c, err
}
