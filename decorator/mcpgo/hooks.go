package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// AddHooks adds the part that decides the calls which ask to be run as a task, before
// there is one. The hooks must be those of a server that has the middleware too.
func (a *Adapter) AddHooks(h *server.Hooks) {
	if a.noop || h == nil {
		return
	}
	h.AddOnRequestInitialization(a.onRequest)
	h.AddBeforeCallTool(a.recordUnknown)
}

// A head is what has to be known of a message to see whether it is about a task. It
// is decoded as mcp-go decodes: letter case doesn't matter, and the last one counts.
type head struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params struct {
		Task json.RawMessage `json:"task"`
	} `json:"params"`
}

// onRequest sees the raw message of each request. An error refuses it.
func (a *Adapter) onRequest(ctx context.Context, _ any, message any) (refused error) {
	defer func() {
		if p := recover(); p != nil {
			refused = &decorator.RefusedError{Decision: a.panicked(p)}
		}
	}()
	raw, ok := message.(json.RawMessage)
	if !ok {
		err := errors.New("mcp-go hands the hook something else than a raw message: this version of it is not supported")
		a.o.report(err)
		return err
	}
	var h head
	err := json.Unmarshal(raw, &h)
	if h.Method != mcpwire.CallTool || err == nil && (len(h.Params.Task) == 0 || string(h.Params.Task) == "null") {
		return nil
	}
	// It may be a task. What mcp-go makes of the message decides.
	var req mcp.CallToolRequest
	if json.Unmarshal(raw, &req) != nil || req.Params.Task == nil {
		return nil // in the first case mcp-go can't read it either, and runs nothing
	}
	t, err := a.tools.find(ctx, req.Params.Name)
	if err != nil {
		a.o.report(err)
		return &decorator.RefusedError{Decision: adapter.NotReady(ctx, a.decider, a.o.Server, req.Params.Name, err)}
	}
	call := a.call(ctx, &req, t)
	call.ID = mcpwire.IDText(h.ID)
	if d := adapter.Decide(withTrace(ctx, &req), a.decider, call); !d.Effective {
		return &decorator.RefusedError{Decision: d}
	}
	if a.tools.hasHandler(ctx, req.Params.Name) {
		a.tickets.issue(call.Session, &req.Params)
	}
	return nil
}

// decidedAsTask reports whether the hook has let through this very call, so that
// the middleware needn't decide it again.
func (a *Adapter) decidedAsTask(ctx context.Context, p *mcp.CallToolParams) bool {
	return p.Task != nil && consistent(p) == nil && a.tickets.redeem(sessionID(ctx), p)
}

// recordUnknown has a call to an unknown tool decided, for the record. mcp-go refuses
// it itself, and doesn't ask the middleware.
func (a *Adapter) recordUnknown(ctx context.Context, id any, req *mcp.CallToolRequest) {
	defer func() {
		if p := recover(); p != nil {
			a.panicked(p)
		}
	}()
	if req.Params.Task != nil || a.tools.hasHandler(ctx, req.Params.Name) {
		return
	}
	t, err := a.tools.find(ctx, req.Params.Name)
	if err != nil || t.Known() {
		return
	}
	call := a.call(ctx, req, t)
	if raw, err := json.Marshal(id); err == nil {
		call.ID = mcpwire.IDText(raw)
	}
	adapter.Decide(withTrace(ctx, req), a.decider, call)
}

// filter hides the tools that can be run as a task while the hook that decides tasks
// is not among the server's: mcp-go asks filters before it runs anything.
func (a *Adapter) filter(installed *server.Hooks) server.ToolFilterFunc {
	return func(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
		if s := server.ServerFromContext(ctx); s != nil && s.GetHooks() == installed {
			return tools
		}
		kept := slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool {
			return t.Execution != nil && t.Execution.TaskSupport != mcp.TaskSupportForbidden && t.Execution.TaskSupport != ""
		})
		if len(kept) != len(tools) {
			a.lost.Do(func() {
				a.o.report(errors.New("the gate's hook is gone, so tools that can run as a task are hidden: give WithHooks to the server before WithGate"))
			})
		}
		return kept
	}
}
