package httpproxy

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// call decides a call, once, and sends it on or answers it.
func (x *exchange) call() {
	p := x.p
	list := x.toolList()
	t, ok := p.lookup(list, x.m.Tool)
	if !ok {
		var err error
		t, err = x.await(list)
		switch {
		case errors.Is(err, errGone) || x.r.Context().Err() != nil:
			answer(x.w, http.StatusOK, mcpwire.ErrorResponse(x.m.ID, mcpwire.CodeInternal, "the call was cancelled before it was decided", nil))
			return
		case err != nil:
			x.notReady(list, err)
			return
		}
	}
	if pr := p.bindings.parameters(x.r.Header, x.m, t, x.stateless); pr != nil {
		p.refuse(x.w, pr)
		return
	}
	d := x.decide(t)
	if !d.Effective {
		p.logRefusal("refused a call", d, t)
		answer(x.w, http.StatusOK, mcpwire.Refusal(x.m, d, t))
		return
	}
	if !d.Allowed {
		p.logRefusal("forwarded a call that would be refused", d, t)
	}
	x.forward()
}

// lookup returns a tool of a list that may be relied on: its own, or one that the server
// says is everybody's.
func (p *Proxy) lookup(list *toolList, name string) (*policy.Tool, bool) {
	if t, ok := list.box.Lookup(name); ok {
		return t, true
	}
	if list.key.scope != ofStateless {
		return nil, false
	}
	if everybodys := p.lists.shared(list.key.name); everybodys != nil && everybodys != list && everybodys.box.Public() {
		return everybodys.box.Lookup(name)
	}
	return nil, false
}

// decide asks the gate.
func (x *exchange) decide(t *policy.Tool) policy.Decision {
	c := adapter.WithTrace(x.r.Context(), x.m.Traceparent(), x.r.Header)
	return adapter.Decide(c, x.p.o.Gate, policy.Call{
		Tool:      t,
		Arguments: x.m.Arguments(),
		ID:        mcpwire.IDText(x.m.ID),
		Session:   x.session(),
		Transport: "http",
		Responses: x.m.InputResponses(),
	})
}

// notReady refuses a call to a tool of which nothing is known yet. The gate is asked all
// the same, so that the refusal is recorded; whatever it says, the call stays here.
func (x *exchange) notReady(list *toolList, why error) {
	t := policy.UnlearnedTool(x.p.o.Server, x.m.Tool, why)
	d := x.decide(t)
	if d.Effective {
		d = adapter.Refused(t, policy.NotReady, "the server's tools are not known yet, so no call can be checked", why)
	}
	x.p.logRefusal("refused a call", d, t)
	var status *statusError
	if errors.As(why, &status) && x.passOn(list, status) {
		return
	}
	answer(x.w, http.StatusOK, mcpwire.Refusal(x.m, d, t))
}

// passOn answers as the server answered the gate's own question, where that tells the
// client to do something: to begin a new session, or to authorize.
func (x *exchange) passOn(list *toolList, e *statusError) bool {
	message := ""
	switch {
	case e.status == http.StatusNotFound && list.key.scope == ofSession:
		message = "the server doesn't know this session"
		x.p.lists.drop(list.key)
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		message = "the server wants another authorization"
	default:
		return false
	}
	res := &http.Response{StatusCode: e.status, Header: http.Header{}, Body: http.NoBody, Request: x.r}
	if e.challenge != nil {
		res.Header["Www-Authenticate"] = slices.Clone(e.challenge)
	}
	if x.p.o.ModifyResponse != nil {
		if err := x.p.o.ModifyResponse(res); err != nil {
			x.p.o.Logger.Warn("an answer of the server can't be changed", "error", err)
			return false
		}
	}
	x.p.refuse(x.w, &problem{
		status: res.StatusCode,
		header: http.Header{"Www-Authenticate": res.Header["Www-Authenticate"]},
		fault:  mcpwire.Fault{Code: mcpwire.CodeInvalidRequest, ID: x.m.ID, Message: message},
	})
	return true
}

// logRefusal tells the operator. The tool's name is the server's if it is known, and
// else something that an agent made up, which has no place in a log.
func (p *Proxy) logRefusal(what string, d policy.Decision, t *policy.Tool) {
	name := ""
	if t.Known() {
		name = t.Name()
	}
	p.o.Logger.Warn(what, "decision_id", d.ID, "server", p.o.Server, "tool", name, "code", string(d.Code()), "error", d.Err)
}

// A held is a call that waits for the server's tools.
type held struct {
	key  string // IDKey of its id
	size int
	gone chan struct{} // closed when the call was cancelled
}

// heldOverhead is what a short call takes in memory beside its body.
const heldOverhead = 512

var (
	errOverflow = errors.New("too much is waiting for the server's tools")
	errGone     = errors.New("cancelled")
)

// await returns the tool that a call names, as soon as it is known.
func (x *exchange) await(list *toolList) (*policy.Tool, error) {
	h := &held{key: mcpwire.IDKey(x.m.ID), size: len(x.body) + heldOverhead, gone: make(chan struct{})}
	if !list.hold(h, x.p.o.Hold) {
		return nil, errOverflow
	}
	t, err := x.awaitHeld(list, h)
	list.release(h)
	select {
	case <-h.gone: // nobody can cancel it here any more, and somebody has
		return nil, errGone
	default:
		return t, err
	}
}

func (x *exchange) awaitHeld(list *toolList, h *held) (*policy.Tool, error) {
	timer := time.NewTimer(x.p.o.Hold.Timeout)
	defer timer.Stop()
	q := list.box.Ask(x.m.Tool)
	for {
		t, pending, err := list.box.Answer(q)
		switch {
		case err != nil:
			return nil, err
		case t != nil:
			return t, nil
		case pending == nil:
			return policy.UndeclaredTool(x.p.o.Server, x.m.Tool), nil
		}
		x.p.learn(list)
		select {
		case <-pending:
		case <-timer.C:
			return nil, fmt.Errorf("the server's tools weren't known after %v", x.p.o.Hold.Timeout)
		case <-h.gone:
			return nil, errGone
		case <-x.r.Context().Done():
			return nil, x.r.Context().Err()
		}
	}
}

// hold says that a call waits, unless too much does already.
func (t *toolList) hold(h *held, most Hold) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.held) >= most.Calls || t.bytes+h.size > most.Bytes {
		return false
	}
	t.held = append(t.held, h)
	t.bytes += h.size
	return true
}

func (t *toolList) release(h *held) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = slices.DeleteFunc(t.held, func(other *held) bool { return other == h })
	t.bytes -= h.size
}

// cancel takes the waiting calls with that id out, and reports whether there were any.
func (t *toolList) cancel(key string) (found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.held {
		if h.key == key && key != "" {
			found = true
			select {
			case <-h.gone:
			default:
				close(h.gone)
			}
		}
	}
	return found
}
