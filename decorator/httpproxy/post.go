package httpproxy

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// identify finds out who makes the request, if anybody can tell.
func (x *exchange) identify() (pr *problem) {
	if x.p.o.Caller == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			x.p.o.Logger.Error("the caller can't be told", "error", fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
			pr = badRequest(http.StatusInternalServerError, "the gate could not find out who makes the request; tell its operator")
		}
	}()
	c, err := x.p.o.Caller(x.r)
	if err == nil {
		x.caller = &c
		return nil
	}
	x.p.o.Logger.Warn("the caller can't be told", "error", err)
	pr = badRequest(http.StatusUnauthorized, "the request is not authorized")
	var status interface{ StatusCode() int }
	if errors.As(err, &status) && status.StatusCode() >= 400 && status.StatusCode() <= 599 {
		pr.status = status.StatusCode()
	}
	var challenge interface{ Challenge() string }
	switch {
	case errors.As(err, &challenge) && challenge.Challenge() != "":
		pr.header = http.Header{"Www-Authenticate": {challenge.Challenge()}}
	case pr.status == http.StatusUnauthorized:
		pr.header = http.Header{"Www-Authenticate": {"Bearer"}}
	}
	return pr
}

// post handles a message of the client.
func (x *exchange) post() {
	pr := contentType(x.r.Header)
	if pr == nil {
		pr = x.readBody()
	}
	if pr == nil {
		pr = x.readMessage()
	}
	if pr != nil {
		x.p.refuse(x.w, pr)
		return
	}
	switch x.m.Kind {
	case mcpwire.Response:
		x.forward()
	case mcpwire.Notification:
		x.notification()
	case mcpwire.Request:
		x.request()
	default:
		x.p.refuse(x.w, badRequest(http.StatusBadRequest, "the message is of no known kind"))
	}
}

// readMessage reads the body, and whether the headers agree with it.
func (x *exchange) readMessage() *problem {
	m, fault := mcpwire.Read(x.body, mcpwire.Limits{Bytes: x.p.o.MessageBytes, Multiline: true})
	switch {
	case fault != nil:
		return broken(fault)
	case x.p.ids.UsedBy(m):
		return broken(mcpwire.OwnIDFault(m))
	}
	x.m = m
	var pr *problem
	x.stateless, pr = mirrored(x.r.Header, m)
	return pr
}

func (x *exchange) notification() {
	m, p := x.m, x.p
	switch {
	case !p.methods.Pass(m):
		// A call without an id can't be answered, so it is never run.
		p.refuse(x.w, broken(&mcpwire.Fault{Code: mcpwire.CodeMethodNotFound, Message: "this notification is not available through the gate"}))
	case m.Method == mcpwire.Cancelled && x.cancelled():
		p.o.Logger.Debug("dropped a waiting call with its cancellation")
		x.w.WriteHeader(http.StatusAccepted)
	default:
		x.forward()
	}
}

// cancelled reports whether the notification was about a call that waits here.
func (x *exchange) cancelled() bool {
	list := x.p.lists.find(x.listKey())
	return list != nil && list.cancel(mcpwire.IDKey(x.m.Param("requestId")))
}

func (x *exchange) request() {
	switch {
	case x.m.IsCall():
		x.call()
	case !x.p.methods.Pass(x.m):
		pr := &problem{status: http.StatusOK, fault: *mcpwire.MethodFault(x.m)}
		if x.stateless {
			pr.status = http.StatusNotFound // as the specification has it there
		}
		x.p.refuse(x.w, pr)
	default:
		x.forward()
	}
}
