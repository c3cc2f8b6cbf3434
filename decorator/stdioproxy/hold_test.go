package stdioproxy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

func TestServerThatNeverLists(t *testing.T) {
	x := newSession(t, script{ListNever: true}, func(o *stdioproxy.Options) {
		o.Hold = stdioproxy.Hold{Calls: 3, Timeout: 300 * time.Millisecond}
	})
	x.handshake()
	x.send(callLine("1", "ok"), callLine("2", "ok"), callLine("3", "ok"), callLine("4", "ok"))
	x.requireRefused("4", policy.NotReady) // one too many
	ping := `{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n"
	x.send(ping) // waits for those before it
	x.requireRefused("1", policy.NotReady)
	x.requireRefused("2", policy.NotReady)
	x.requireRefused("3", policy.NotReady)
	x.answer(`"p"`)
	require.Zero(t, x.end())
	client, own := x.received()
	require.Equal(t, initialize+initialized+ping, client)
	require.Equal(t, 1, own)
}

func TestHeldBytesAreBounded(t *testing.T) {
	x := newSession(t, script{ListNever: true}, func(o *stdioproxy.Options) {
		o.Hold = stdioproxy.Hold{Bytes: 4096, Timeout: 500 * time.Millisecond}
	})
	x.handshake()
	large := func(id, method string) string {
		return `{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":{"name":"ok","x":"` + strings.Repeat("y", 2500) + `"}}` + "\n"
	}
	x.send(callLine("1", "ok"))
	x.send(large(`"id":2,`, "tools/call"))
	x.send(large(`"id":3,`, "tools/call"))
	x.requireRefused("3", policy.NotReady)
	x.send(large(`"id":4,`, "prompts/get"))
	x.requireError("4", -32603)
	x.send(large("", "notifications/progress")) // passes at once: it can't be answered
	x.requireRefused("1", policy.NotReady)
	x.requireRefused("2", policy.NotReady)
	require.Zero(t, x.end())
	client, _ := x.received()
	require.Equal(t, initialize+initialized+large("", "notifications/progress"), client)
}

func TestCancelledWhileWaiting(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}, ListDelay: 300}, nil)
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}` + "\n"
	}
	x.handshake()
	read := `{"jsonrpc":"2.0","id":"r","method":"resources/read","params":{"uri":"x"}}` + "\n"
	x.send(callLine("1", "ok"), callLine(`"two"`, "ok"), read, callLine("4", "ok"))
	x.send(cancel(`"r"`), cancel("1.0"), cancel(`"\u0074wo"`), cancel(`"other"`))
	x.requireRan("4", "ok")
	x.nothing()
	require.Zero(t, x.end())
	client, _ := x.received()
	require.Equal(t, initialize+initialized+cancel(`"other"`)+callLine("4", "ok"), client)
	require.Len(t, x.gate.asked(), 1)
}

// The server wants an answer of the client before it lists its tools.
func TestServerThatAsksFirst(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}, RootsFirst: true}, nil)
	x.handshake()
	x.send(callLine("1", "ok"))
	require.Contains(t, x.next(), `"method":"roots/list"`)
	x.send(`{"jsonrpc":"2.0","id":"roots-1","result":{"roots":[]}}` + "\n")
	x.requireRan("1", "ok")
}

// At the end of the client's input what waits is still decided and sent.
func TestEndWhileWaiting(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok", "deny_it"}}, ListDelay: 200}, nil)
	x.send(initialize, initialized, callLine("1", "ok"), callLine("2", "deny_it"), strings.TrimSuffix(callLine("3", "ok"), "\n"))
	require.NoError(t, x.in.Close())
	require.Contains(t, x.next(), "serverInfo")
	ids := map[string]bool{}
	for range 3 {
		l := x.next()
		for _, id := range []string{"1", "2", "3"} {
			if strings.Contains(l, `"id":`+id) {
				ids[id] = true
			}
		}
	}
	require.Len(t, ids, 3)
	require.Zero(t, x.wait())
}
