package stdioproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/decorator/internal/toolbox"
)

// A handshake follows what a client says, to learn when the server may be asked for
// its tools: not before the client could ask itself.
type handshake struct {
	box *toolbox.Box

	mu         sync.Mutex
	session    bool   // notifications/initialized was sent: the era of sessions
	initialize string // IDKey of an initialize that is not answered yet, "" when there is none
	answered   bool   // the server answered an initialize
}

// initialized is called when notifications/initialized has gone to the server.
func (h *handshake) initialized() {
	h.mu.Lock()
	h.session = true
	h.mu.Unlock()
	h.box.Enable(nil)
}

// initializing is called before an initialize goes to the server.
func (h *handshake) initializing(m *mcpwire.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.initialize = mcpwire.IDKey(m.ID)
}

// awaits reports whether an answer to initialize is outstanding.
func (h *handshake) awaits() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.initialize != ""
}

// response is called with each response by the server while awaits.
func (h *handshake) response(m mcpwire.ServerMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.initialize != "" && mcpwire.IDKey(m.ID) == h.initialize {
		h.initialize = ""
		h.answered = m.Result != nil
	}
}

// request is called with each request that isn't part of the handshake.
func (h *handshake) request(m *mcpwire.Message) {
	h.mu.Lock()
	session, answered := h.session, h.answered
	h.mu.Unlock()
	if session || m.Method == mcpwire.Ping || m.Method == mcpwire.Discover {
		// A client tries server/discover on a server whose era it doesn't know yet.
		return
	}
	if meta := mcpwire.StatelessMeta(m); meta != nil {
		h.box.Enable(meta)
	} else if answered {
		// Not every client says that it is initialized. If it asks, the gate may, too.
		h.box.Enable(nil)
	}
}

// readClient handles what the client says until it ends.
func (p *proxy) readClient(ctx context.Context) {
	defer func() {
		p.box.End()
		p.queue.close()
	}()
	lines := newLineReader(p.o.Stdin, p.o.MessageBytes)
	for ctx.Err() == nil {
		piece, end, err := lines.next()
		if ctx.Err() != nil {
			return
		}
		if !end {
			err = p.skipLine(lines)
		} else if len(bytes.TrimSpace(piece)) > 0 {
			if len(piece) <= readBuffer {
				piece = bytes.Clone(piece) // a recorder may keep the arguments
			}
			p.clientLine(ctx, piece)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.o.Logger.Warn("the client's input can't be read", "error", err)
			}
			return
		}
	}
}

// skipLine refuses a line that is too long to be read.
func (p *proxy) skipLine(lines *lineReader) error {
	for {
		_, end, err := lines.next()
		if end || err != nil {
			p.refuseMessage(mcpwire.TooLong())
			return err
		}
	}
}

// clientLine handles one message of the client.
func (p *proxy) clientLine(ctx context.Context, line []byte) {
	m, fault := mcpwire.Read(line, mcpwire.Limits{Bytes: p.o.MessageBytes})
	switch {
	case fault != nil:
		p.refuseMessage(fault)
	case p.ids.UsedBy(m):
		p.refuseMessage(mcpwire.OwnIDFault(m))
	case m.Kind == mcpwire.Response:
		p.forward(line)
	case m.Kind == mcpwire.Notification:
		p.notification(ctx, line, m)
	case m.Kind == mcpwire.Request:
		p.request(ctx, line, m)
	default:
		p.o.Logger.Error("dropped a message of no known kind")
	}
}

func (p *proxy) notification(ctx context.Context, line []byte, m *mcpwire.Message) {
	switch {
	case !p.methods.Pass(m):
		// It has no id to answer to. A call without one can't be answered either, so it is never run.
		p.o.Logger.Warn("dropped a notification", "method", knownMethod(m))
	case m.Method == mcpwire.Initialized:
		p.forward(line)
		p.handshake.initialized()
	case m.Method == mcpwire.Cancelled:
		handled, later := p.queue.cancel(mcpwire.IDKey(m.Param("requestId")))
		switch {
		case handled:
			p.o.Logger.Debug("dropped a waiting request with its cancellation")
		case later:
			p.inTurn(ctx, line, m)
		default:
			p.forward(line)
		}
	default:
		p.inTurn(ctx, line, m)
	}
}

func (p *proxy) request(ctx context.Context, line []byte, m *mcpwire.Message) {
	switch {
	case m.IsCall():
		p.handshake.request(m)
		p.call(ctx, line, m)
	case !p.methods.Pass(m):
		p.o.Logger.Warn("refused a request", "method", knownMethod(m))
		p.answer(mcpwire.MethodFault(m).Answer())
	case m.Method == mcpwire.Initialize:
		p.handshake.initializing(m)
		p.forward(line)
	default:
		p.inTurn(ctx, line, m)
		p.handshake.request(m)
	}
}

// call decides a call at once if it can, and has it wait otherwise.
func (p *proxy) call(ctx context.Context, line []byte, m *mcpwire.Message) {
	t, ok := p.box.Lookup(m.Tool)
	switch {
	case !ok:
		p.enqueue(ctx, line, m, p.box.Ask(m.Tool))
	case p.queue.idle():
		p.decide(ctx, line, m, t)
	default:
		p.enqueue(ctx, line, m, nil)
	}
}

// inTurn sends what needs no decision on at once if nothing that came before it waits,
// and has it wait otherwise.
func (p *proxy) inTurn(ctx context.Context, line []byte, m *mcpwire.Message) {
	if p.queue.idle() {
		p.forward(line)
		return
	}
	p.enqueue(ctx, line, m, nil)
}

func (p *proxy) enqueue(ctx context.Context, line []byte, m *mcpwire.Message, q *toolbox.Question) {
	it := &item{line: line, message: m, question: q, deadline: time.Now().Add(p.o.Hold.Timeout), gone: make(chan struct{})}
	switch {
	case p.queue.add(it):
	case m.IsCall():
		p.notReady(ctx, m, errOverflow)
	case m.Kind == mcpwire.Request:
		p.o.Logger.Warn("refused a request", "method", knownMethod(m), "error", errOverflow)
		p.answer(mcpwire.ErrorResponse(m.ID, mcpwire.CodeInternal, "the gate holds too many messages back until it knows the server's tools; try again later", nil))
	default:
		p.forward(line)
	}
}

var errOverflow = errors.New("too much is waiting for the server's tools")

// knownMethod returns a method's name for a log, unless the client may have made it up.
func knownMethod(m *mcpwire.Message) string {
	if mcpwire.Known(m.Method) {
		return m.Method
	}
	return "not in the specification"
}
