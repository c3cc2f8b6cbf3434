package stdioproxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// decide has the gate decide a call, once, and sends it on or answers it.
func (p *proxy) decide(ctx context.Context, line []byte, m *mcpwire.Message, t *policy.Tool) {
	d := p.ask(ctx, m, t)
	if d.Effective {
		p.forward(line)
		if !d.Allowed {
			p.logRefusal("forwarded a call that would be refused", d, t)
		}
		return
	}
	p.logRefusal("refused a call", d, t)
	p.answer(mcpwire.Refusal(m, d, t))
}

// ask asks the gate.
func (p *proxy) ask(ctx context.Context, m *mcpwire.Message, t *policy.Tool) policy.Decision {
	return adapter.Decide(policy.WithTraceparent(ctx, m.Traceparent()), p.o.Gate, policy.Call{
		Tool:      t,
		Arguments: m.Arguments(),
		ID:        mcpwire.IDText(m.ID),
		Transport: "stdio",
		Responses: m.InputResponses(),
	})
}

// notReady refuses a call to a tool of which nothing is known yet. The gate is asked
// all the same, so that the refusal is recorded; whatever it says, the call stays here.
func (p *proxy) notReady(ctx context.Context, m *mcpwire.Message, why error) {
	t := policy.UnlearnedTool(p.o.Server, m.Tool, why)
	d := p.ask(ctx, m, t)
	if d.Effective {
		d = adapter.Refused(t, policy.NotReady, "the server's tools are not known yet, so no call can be checked", why)
	}
	p.logRefusal("refused a call", d, t)
	p.answer(mcpwire.Refusal(m, d, t))
}

// logRefusal tells the operator. The tool's name is the server's if it is known, and
// else something that an agent made up, which has no place in a log.
func (p *proxy) logRefusal(what string, d policy.Decision, t *policy.Tool) {
	name := ""
	if t.Known() {
		name = t.Name()
	}
	p.o.Logger.Warn(what, "decision_id", d.ID, "server", p.o.Server, "tool", name, "code", string(d.Code()), "error", d.Err)
}

// refuseMessage answers something that is no proper message.
func (p *proxy) refuseMessage(f *mcpwire.Fault) {
	p.o.Logger.Warn("refused a message", "code", f.Code, "error", f.Message)
	p.answer(f.Answer())
}

// work sends on, or answers, what waits in the queue, until there will be no more.
func (p *proxy) work(ctx context.Context) {
	for it := p.queue.head(); it != nil; it = p.queue.head() {
		var t *policy.Tool
		var err error
		if it.message.IsCall() {
			t, err = p.await(ctx, it)
		}
		if !p.queue.take(it) {
			continue // cancelled
		}
		switch {
		case err != nil:
			p.notReady(ctx, it.message, err)
		case it.message.IsCall():
			p.decide(ctx, it.line, it.message, t)
		default:
			p.forward(it.line)
		}
		p.queue.processed()
	}
}

var errGone = errors.New("cancelled")

// await returns the tool that a waiting call names, as soon as it is known.
func (p *proxy) await(ctx context.Context, it *item) (*policy.Tool, error) {
	name := it.message.Tool
	if t, ok := p.box.Lookup(name); ok {
		return t, nil
	}
	if it.question == nil { // it was known when the call came
		it.question = p.box.Ask(name)
	}
	timer := time.NewTimer(time.Until(it.deadline))
	defer timer.Stop()
	for {
		t, pending, err := p.box.Answer(it.question)
		switch {
		case err != nil:
			return nil, err
		case t != nil:
			return t, nil
		case pending == nil:
			return policy.UndeclaredTool(p.o.Server, name), nil
		}
		p.queue.wait(true)
		select {
		case <-pending:
		case <-timer.C:
			err = fmt.Errorf("the server's tools weren't known after %v", p.o.Hold.Timeout)
		case <-it.gone:
			err = errGone
		case <-ctx.Done():
			err = ctx.Err()
		}
		p.queue.wait(false)
		if err != nil {
			return nil, err
		}
	}
}
