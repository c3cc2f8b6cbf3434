package wire_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/test/wire"
)

// rules deny the tool "secret", and the path "/secret" everywhere.
type rules struct{}

func (rules) Revision() string { return "r1" }

func (rules) Cover(t *policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		if path, _ := in.Arguments().Lookup("/path"); t.Name() == "secret" || path == "/secret" {
			return []policy.Refusal{{Message: "not that"}}, nil
		}
		return nil, nil
	})}
}

func gate(t *testing.T) *policy.Gate {
	t.Helper()
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(rules{})
	return g
}

// safeSchema is that of the tool "safe"; mirroredSchema has its path in a header too.
const (
	safeSchema     = `{"type":"object","properties":{"path":{"type":"string"}}}`
	mirroredSchema = `{"type":"object","properties":{"path":{"type":"string","x-mcp-header":"Path"}}}`
)

const bodyTimeout = 500 * time.Millisecond

// front puts a proxy in front of a server.
func front(t *testing.T, upstream string, serve func(*httptest.Server)) string {
	t.Helper()
	u, err := url.Parse(upstream)
	require.NoError(t, err)
	p, err := httpproxy.New(httpproxy.Options{Gate: gate(t), Upstream: u, BodyTimeout: bodyTimeout})
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(p)
	serve(s)
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		s.Close()
	})
	return strings.TrimPrefix(strings.TrimPrefix(s.URL, "http://"), "https://")
}

func target(addr string, e wire.Era) wire.Target {
	return wire.Target{Addr: addr, Path: "/mcp", Era: e, Names: wire.DefaultNames(), GateID: func() string { return "" }}
}

var eras = []wire.Era{wire.Sessions, wire.Stateless}
