package stdioproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// A learner asks the server for its tools whenever the toolbox wants to know.
type learner struct {
	o            *Options
	ids          *mcpwire.OwnIDs
	box          *toolbox
	server       *lineWriter
	declarations *adapter.Declarations

	mu      sync.Mutex
	awaited json.RawMessage // id of the question under way
	answers chan mcpwire.ServerMessage
}

// run asks until ctx ends.
func (l *learner) run(ctx context.Context) {
	const longest = time.Second
	pause := time.Duration(0)
	for {
		stateless, ok, pending := l.box.begin()
		if !ok {
			select {
			case <-pending:
				continue
			case <-ctx.Done():
				return
			}
		}
		tools, fresh, err := l.learn(ctx, stateless)
		if err != nil {
			l.o.Logger.Warn("the server's tools can't be learned: calls to it are refused as not_ready", "server", l.o.Server, "error", err)
		}
		again := l.box.finish(tools, fresh, err)
		if err == nil {
			l.o.Logger.Debug("learned the server's tools", "server", l.o.Server, "tools", len(tools))
			l.declarations.Only(tools)
			if l.o.OnTools != nil {
				l.o.OnTools(tools)
			}
		}
		// A server may say that its tools changed each time it is asked for them.
		if pause = min(2*pause+time.Millisecond, longest); !again {
			pause = 0
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// learn makes one run.
func (l *learner) learn(ctx context.Context, stateless json.RawMessage) (tools []*policy.Tool, fresh time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			tools, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, l.o.LearnTimeout)
	defer cancel()
	pages := mcpwire.NewToolPages(stateless, mcpwire.PageLimits{})
	for more := true; more; {
		answer, err := l.ask(ctx, pages)
		switch {
		case err != nil:
			return nil, 0, err
		case answer.ErrorCode() == mcpwire.CodeMethodNotFound:
			l.o.Logger.Info("the server has no tools", "server", l.o.Server)
			return nil, 0, nil
		case answer.Result == nil:
			return nil, 0, fmt.Errorf("the server answers tools/list with error %d", answer.ErrorCode())
		}
		if more, err = pages.Add(answer.Result); err != nil {
			return nil, 0, fmt.Errorf("tools/list: %w", err)
		}
	}
	specs, err := pages.Specs(l.o.Server)
	if specs == nil {
		return nil, 0, fmt.Errorf("tools/list: %w", err)
	}
	if err != nil {
		l.o.Logger.Warn("some of the server's tools can't be read: calls to them are refused", "server", l.o.Server, "error", err)
	}
	for _, spec := range specs {
		t := l.box.same(spec)
		if t == nil {
			t = l.o.Gate.Tool(spec)
		}
		tools = append(tools, t)
	}
	fresh, _ = pages.Fresh()
	return slices.Clip(tools), fresh, nil
}

// ask asks for one page and waits for the answer.
func (l *learner) ask(ctx context.Context, pages *mcpwire.ToolPages) (mcpwire.ServerMessage, error) {
	id := l.ids.Next()
	answers := make(chan mcpwire.ServerMessage, 1)
	l.mu.Lock()
	l.awaited, l.answers = id, answers
	l.mu.Unlock()
	if err := l.server.message(pages.Request(id)); err != nil {
		return mcpwire.ServerMessage{}, fmt.Errorf("tools/list could not be sent: %w", err)
	}
	select {
	case m := <-answers:
		return m, nil
	case <-ctx.Done():
		err := ctx.Err()
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the server hasn't answered tools/list within %v", l.o.LearnTimeout)
		}
		return mcpwire.ServerMessage{}, err
	}
}

// take takes the server's answer to a question of the gate. An answer that nobody
// waits for any more is dropped.
func (l *learner) take(m mcpwire.ServerMessage) {
	m.Raw, m.Result, m.Error = nil, slices.Clone(m.Result), slices.Clone(m.Error)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.awaited == nil || mcpwire.IDText(m.ID) != mcpwire.IDText(l.awaited) {
		l.o.Logger.Debug("dropped a late answer to tools/list", slog.String("server", l.o.Server))
		return
	}
	l.awaited = nil
	l.answers <- m
}
