package gosdk

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
)

// GateAndCount is GateClient, and says of how many sessions the tools are known.
func GateAndCount(c *mcp.Client, d decorator.Decider) (count func() int, err error) {
	if err := adapter.CheckDecider(d); err != nil {
		return nil, err
	}
	g := newClientGate(d, ClientOptions{})
	g.on(c)
	return func() int {
		g.sessions.mu.Lock()
		defer g.sessions.mu.Unlock()
		return len(g.sessions.byID)
	}, nil
}

// ExpireAll lets every list that can grow old be old.
func (g *clientGate) ExpireAll(testing.TB) {
	g.sessions.mu.Lock()
	defer g.sessions.mu.Unlock()
	for _, t := range g.sessions.byID {
		t.mu.Lock()
		if !t.expires.IsZero() {
			t.expires = time.Now()
		}
		t.mu.Unlock()
	}
}

// GateAndExpire is GateClient, and lets every list that can grow old be old.
func GateAndExpire(c *mcp.Client, d decorator.Decider) (expire func(testing.TB)) {
	g := newClientGate(d, ClientOptions{})
	g.on(c)
	return g.ExpireAll
}

// DecodeExactly decodes arguments as AddTool does for a tool without defaults.
func DecodeExactly[In any](sent []byte) (In, error) { return decodeExactly[In](sent, sent) }
