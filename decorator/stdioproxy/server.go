package stdioproxy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

const (
	// inspectBytes is how long a line of the server may be to be looked at.
	inspectBytes = 16 << 20
	// smallLine is how long a line may be to be read without further reason.
	smallLine = 4 << 10
)

// readServer sends what the server says to the client until it ends.
func (p *proxy) readServer(stdout io.Reader) {
	lines := newLineReader(stdout, inspectBytes)
	for {
		piece, end, err := lines.next()
		switch {
		case !end:
			p.sent(p.client.stream(piece, lines.next))
		case len(piece) > 0:
			p.serverLine(piece)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
				p.o.Logger.Warn("the server's output can't be read", "error", err)
			}
			return
		}
	}
}

// sent notes whether the client can still be written to. What the server says is read
// on in any case, so that it can end.
func (p *proxy) sent(err error) {
	if err != nil && !errors.Is(err, errClosed) && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		p.clientGone.Do(func() {
			p.o.Logger.Warn("the client can't be written to: stopping the server", "error", err)
			close(p.stop)
		})
	}
}

func (p *proxy) serverLine(line []byte) {
	if p.interesting(line) {
		messages, batch := mcpwire.ReadServer(line)
		kept := slices.DeleteFunc(messages, p.heard)
		switch {
		case len(kept) == len(messages):
		case len(kept) == 0:
			return
		case batch:
			p.sent(p.client.message(mcpwire.Batch(kept)))
			return
		}
	}
	p.sent(p.client.forward(line))
}

// interesting reports whether a line may say something to the gate. Encoders escape
// neither the gate's ids nor letters and underscores.
func (p *proxy) interesting(line []byte) bool {
	return len(line) <= smallLine || bytes.Contains(line, []byte("list_changed")) ||
		bytes.Contains(line, []byte(p.ids.Prefix())) || p.handshake.awaits()
}

// heard takes note of a message, and reports whether it is for the gate alone.
func (p *proxy) heard(m mcpwire.ServerMessage) bool {
	switch {
	case m.Method == mcpwire.ToolsListChanged:
		p.box.Changed() // before the client learns of it and calls a new tool
	case m.IsResponse() && p.ids.Owns(m.ID):
		p.questions.take(m)
		return true
	case m.IsResponse():
		p.handshake.response(m)
	}
	return false
}
