package toolbox

import (
	"context"
	"encoding/json"
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

// A Learner asks the server for its tools whenever its box wants to know. All fields
// but OnTools are required.
type Learner struct {
	Box *Box
	IDs *mcpwire.OwnIDs
	// Ask sends a request with that id to the server and returns its answer.
	// Stateless reports the era that the request is of.
	Ask func(ctx context.Context, id json.RawMessage, request []byte, stateless bool) (mcpwire.ServerMessage, error)
	// Tools makes the tools ready to be called.
	Tools   *adapter.Tools
	Server  string        // the configured name
	Timeout time.Duration // of one run
	Logger  *slog.Logger
	// OnTools is told the tools each time they were learned. It must not block.
	OnTools func([]*policy.Tool)

	mu      sync.Mutex
	running bool // a goroutine of Start is at work
}

// Run asks whenever that is wanted, until ctx ends.
func (l *Learner) Run(ctx context.Context) {
	for {
		more, pending := l.work(ctx)
		if !more {
			return
		}
		select {
		case <-pending:
		case <-ctx.Done():
			return
		}
	}
}

// Start asks, on a goroutine of its own, as long as that is wanted and until ctx ends.
// It does nothing when there is nothing to ask, or when that goroutine is at work.
func (l *Learner) Start(ctx context.Context, group *sync.WaitGroup) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running || !l.Box.wants() || ctx.Err() != nil {
		return
	}
	l.running = true
	group.Go(func() {
		for more := true; more; {
			more, _ = l.work(ctx)
			l.mu.Lock()
			more = more && l.Box.wants()
			l.running = more
			l.mu.Unlock()
		}
	})
}

// work makes the runs that are wanted. more is false when ctx has ended; otherwise
// pending is closed at the next news.
func (l *Learner) work(ctx context.Context) (more bool, pending <-chan struct{}) {
	const longest = time.Second
	pause := time.Duration(0)
	for {
		stateless, ok, pending := l.Box.begin()
		if !ok {
			return ctx.Err() == nil, pending
		}
		learned, err := l.learn(ctx, stateless)
		if err != nil {
			l.Logger.Warn("the server's tools can't be learned: calls to it are refused as not_ready", "server", l.Server, "error", err)
		}
		again := l.Box.finish(learned, err)
		if err == nil {
			l.Logger.Debug("learned the server's tools", "server", l.Server, "tools", len(learned.tools))
			if l.OnTools != nil {
				l.OnTools(learned.tools)
			}
		}
		// A server may say that its tools changed each time it is asked for them.
		if pause = min(2*pause+time.Millisecond, longest); !again {
			pause = 0
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, nil
		}
	}
}

// learn makes one run.
func (l *Learner) learn(ctx context.Context, stateless json.RawMessage) (learned list, err error) {
	defer func() {
		if p := recover(); p != nil {
			learned, err = list{}, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	pages := mcpwire.NewToolPages(stateless, mcpwire.PageLimits{})
	for more := true; more; {
		id := l.IDs.Next()
		answer, err := l.Ask(ctx, id, pages.Request(id), stateless != nil)
		switch {
		case err != nil && ctx.Err() == context.DeadlineExceeded:
			return list{}, fmt.Errorf("the server hasn't answered tools/list within %v", l.Timeout)
		case err != nil:
			return list{}, err
		case answer.ErrorCode() == mcpwire.CodeMethodNotFound:
			l.Logger.Info("the server has no tools", "server", l.Server)
			return list{}, nil
		case answer.Result == nil:
			return list{}, fmt.Errorf("the server answers tools/list with error %d", answer.ErrorCode())
		}
		if more, err = pages.Add(answer.Result); err != nil {
			return list{}, fmt.Errorf("tools/list: %w", err)
		}
	}
	specs, err := pages.Specs(l.Server)
	if specs == nil {
		return list{}, fmt.Errorf("tools/list: %w", err)
	}
	if err != nil {
		l.Logger.Warn("some of the server's tools can't be read: calls to them are refused", "server", l.Server, "error", err)
	}
	for _, spec := range specs {
		learned.tools = append(learned.tools, l.Tools.Of(spec))
	}
	learned.tools = slices.Clip(learned.tools)
	learned.fresh, _ = pages.Fresh()
	learned.public = pages.Public()
	return learned, nil
}
