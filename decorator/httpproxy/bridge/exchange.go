package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// plainWait is how long an answer may take to go out as plain JSON. One that takes
// longer goes out as a stream that is open meanwhile, so that nobody between gives up.
const plainWait = time.Second

// An exchange is one request of a client and what is to be answered to it.
type exchange struct {
	message *mcpwire.Message
	events  *stream
	// json and sse say which kinds of answer the client takes.
	json, sse bool
	// forgotten is called once, when nobody waits for the answer any more.
	forgotten func()
	// start bounds the wait for the first message of the answer; 0 means not at all.
	start time.Duration
	// header of the answer, which void makes lack a session.
	header http.Header
	void   atomic.Bool
}

// newExchange returns an exchange, or false when the client takes no kind of answer.
func newExchange(m *mcpwire.Message, r *http.Request, most int) (*exchange, bool) {
	e := &exchange{message: m, events: newStream(most), header: http.Header{}, forgotten: func() {}}
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	e.sse = strings.Contains(accept, "text/event-stream")
	e.json = accept == "" || strings.Contains(accept, "application/json") || strings.Contains(accept, "*/*") || strings.Contains(accept, "application/*")
	return e, e.json || e.sse
}

// carries reports whether messages other than the answer itself may go with it. What the
// gate asks on its own account is answered to the gate, which has no use for them.
func (e *exchange) carries() bool {
	return e.sse && e.start == 0 && !bytes.HasPrefix(e.message.ID, []byte(`"regogate-`))
}

// answer ends the exchange with a message.
func (e *exchange) answer(message []byte) {
	e.events.put(message)
	e.events.end()
}

// fail ends the exchange with an error.
func (e *exchange) fail(code int, why string) {
	e.answer(mcpwire.ErrorResponse(e.message.ID, code, why, nil))
}

// await waits until it is known what the answer looks like, and returns it.
func (e *exchange) await(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	var plain, late <-chan time.Time
	if e.sse && e.start == 0 {
		timer := time.NewTimer(plainWait)
		defer timer.Stop()
		plain = timer.C
	}
	if e.start > 0 {
		timer := time.NewTimer(e.start)
		defer timer.Stop()
		late = timer.C
	}
	for waiting := !e.done(); waiting; {
		select {
		case <-e.events.changed:
			waiting = !e.done()
		case <-plain:
			waiting = false
		case <-late:
			e.void.Store(true)
			e.fail(mcpwire.CodeInternal, "the server didn't answer in time")
			e.forgotten()
			waiting = false
		case <-ctx.Done():
			e.events.end()
			e.forgotten()
			return nil, ctx.Err()
		}
	}
	return e.response(ctx, r), nil
}

// done reports whether the form of the answer is known: by its end, or because something
// comes before it, which a client that takes no stream doesn't get.
func (e *exchange) done() bool {
	if _, plain := e.events.only(); plain {
		return true
	}
	return e.events.something() && (e.sse || e.ended())
}

func (e *exchange) ended() bool {
	e.events.mu.Lock()
	defer e.events.mu.Unlock()
	return e.events.ended
}

func (e *exchange) response(ctx context.Context, r *http.Request) *http.Response {
	if e.void.Load() {
		e.header.Del(sessionHeader)
	}
	if message, ok := e.events.only(); ok && e.json {
		e.events.take()
		e.forgotten()
		return plain(r, http.StatusOK, e.header, message)
	}
	if !e.sse {
		e.forgotten()
		return problem(r, http.StatusBadGateway, e.message.ID, mcpwire.CodeInternal, "the server gave no answer")
	}
	return streamed(r, e.header, newEvents(ctx, e.events, e.forgotten))
}

// streamed is an answer of server-sent events.
func streamed(r *http.Request, header http.Header, body io.ReadCloser) *http.Response {
	h := header.Clone()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	return respond(r, http.StatusOK, h, body, -1)
}

// plain is an answer of one JSON message.
func plain(r *http.Request, status int, header http.Header, message []byte) *http.Response {
	h := header.Clone()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(message)))
	return respond(r, status, h, io.NopCloser(bytes.NewReader(message)), int64(len(message)))
}

// empty is an answer without a body.
func empty(r *http.Request, status int) *http.Response {
	return respond(r, status, http.Header{}, http.NoBody, 0)
}

// problem is a JSON-RPC error. A nil id is null.
func problem(r *http.Request, status int, id json.RawMessage, code int, why string) *http.Response {
	return plain(r, status, http.Header{}, mcpwire.ErrorResponse(id, code, why, nil))
}

func respond(r *http.Request, status int, h http.Header, body io.ReadCloser, length int64) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: body, ContentLength: length, Request: r,
	}
}
