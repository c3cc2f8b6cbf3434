package httpproxy

import (
	"net/http"
	"strconv"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// codeHeaderMismatch is the specification's code for headers that don't say what the
// body says (2026-07-28).
const codeHeaderMismatch = -32020

// A problem is an answer to a request that goes no further. The fault's message may be
// shown to the client.
type problem struct {
	status int
	fault  mcpwire.Fault
	header http.Header // further headers, nil for none
}

// badRequest says what is wrong with a request as HTTP.
func badRequest(status int, message string) *problem {
	return &problem{status: status, fault: mcpwire.Fault{Code: mcpwire.CodeInvalidRequest, Message: message}}
}

// broken says what is wrong with a message.
func broken(f *mcpwire.Fault) *problem {
	return &problem{status: http.StatusBadRequest, fault: *f}
}

// answer writes a JSON-RPC message of the gate's own.
func answer(w http.ResponseWriter, status int, message []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(message)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(message) // whether the client reads it changes nothing
}

// refuse answers with a problem.
func (p *Proxy) refuse(w http.ResponseWriter, pr *problem) {
	p.o.Logger.Warn("refused a request", "status", pr.status, "code", pr.fault.Code, "error", pr.fault.Message)
	for name, values := range pr.header {
		w.Header()[name] = values
	}
	answer(w, pr.status, pr.fault.Answer())
}
