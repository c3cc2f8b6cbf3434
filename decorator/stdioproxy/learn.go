package stdioproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// A questioner puts the gate's own questions to the server, one at a time.
type questioner struct {
	o      *Options
	server *lineWriter

	mu      sync.Mutex
	awaited json.RawMessage // id of the question under way
	answers chan mcpwire.ServerMessage
}

// ask sends a question and waits for its answer.
func (q *questioner) ask(ctx context.Context, id json.RawMessage, request []byte, _ bool) (mcpwire.ServerMessage, error) {
	answers := make(chan mcpwire.ServerMessage, 1)
	q.mu.Lock()
	q.awaited, q.answers = id, answers
	q.mu.Unlock()
	if err := q.server.message(request); err != nil {
		return mcpwire.ServerMessage{}, fmt.Errorf("tools/list could not be sent: %w", err)
	}
	select {
	case m := <-answers:
		return m, nil
	case <-ctx.Done():
		return mcpwire.ServerMessage{}, ctx.Err()
	}
}

// take takes the server's answer to a question. An answer that nobody waits for any
// more is dropped.
func (q *questioner) take(m mcpwire.ServerMessage) {
	m.Raw, m.Result, m.Error = nil, slices.Clone(m.Result), slices.Clone(m.Error)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.awaited == nil || mcpwire.IDText(m.ID) != mcpwire.IDText(q.awaited) {
		q.o.Logger.Debug("dropped a late answer to tools/list", slog.String("server", q.o.Server))
		return
	}
	q.awaited = nil
	q.answers <- m
}
