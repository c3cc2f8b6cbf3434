package report

import (
	"context"
	"log/slog"
	"sync"
)

// remembered is how many decisions are remembered to have been told. An adapter tells
// of one right after the gate does, so that few are needed.
const remembered = 256

// told remembers the ids of the decisions that were told last.
type told struct {
	mu   sync.Mutex
	ids  [remembered]string
	next int
}

func (t *told) add(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids[t.next] = id
	t.next = (t.next + 1) % remembered
}

func (t *told) has(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.ids {
		if id != "" && known == id {
			return true
		}
	}
	return false
}

// once drops records about decisions that were told already.
type once struct {
	slog.Handler
	told *told
}

// Handle implements slog.Handler.
func (o once) Handle(ctx context.Context, r slog.Record) error {
	again := false
	r.Attrs(func(a slog.Attr) bool {
		again = a.Key == "decision_id" && o.told.has(a.Value.String())
		return !again
	})
	if again {
		return nil
	}
	return o.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (o once) WithAttrs(attrs []slog.Attr) slog.Handler {
	return once{o.Handler.WithAttrs(attrs), o.told}
}

// WithGroup implements slog.Handler.
func (o once) WithGroup(name string) slog.Handler { return once{o.Handler.WithGroup(name), o.told} }
