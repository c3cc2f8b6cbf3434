package command

import (
	"context"
	"sync"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/cmd/regogate/internal/report"
	"github.com/regogate/regogate/policy"
)

// A toolReport reports each tool once, again when its declaration changed, and again when
// another ruleset decides its calls in another way. It is safe for concurrent use.
type toolReport struct {
	report *report.Report

	mu    sync.Mutex
	gate  *policy.Gate
	known map[string]toldTool
}

// A toldTool is a tool with what was last told of it.
type toldTool struct {
	tool *policy.Tool
	told report.ToolStatus
}

// learned takes all the tools that the server declares.
func (r *toolReport) learned(gate *policy.Gate, tools []*policy.Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := make(map[string]toldTool, len(tools))
	for _, t := range tools {
		now[t.Name()] = r.known[t.Name()]
		if now[t.Name()].tool != t {
			now[t.Name()] = toldTool{t, r.report.Tool(gate, t)}
		}
	}
	r.gate, r.known = gate, now
}

// ruled looks at all of them again.
func (r *toolReport) ruled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, k := range r.known {
		k.told = r.report.Ruled(r.gate, k.tool, k.told)
		r.known[name] = k
	}
}

// A swapObserver notes that a ruleset was swapped. It never blocks.
type swapObserver chan struct{}

// BundleEvent implements bundles.Observer.
func (o swapObserver) BundleEvent(e bundles.Event, _ bundles.Status) {
	if e.Kind != bundles.Activated {
		return
	}
	select {
	case o <- struct{}{}:
	default: // it will be looked at soon
	}
}

// follow looks at the tools after each swap, until ctx ends.
func (r *toolReport) follow(ctx context.Context, swaps swapObserver) {
	for {
		select {
		case <-swaps:
			r.ruled()
		case <-ctx.Done():
			return
		}
	}
}
