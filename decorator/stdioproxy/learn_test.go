package stdioproxy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

// What comes before the tools are known waits, in its order.
func TestPipelinedCallsWait(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok", "deny_it"}}, ListDelay: 100}, nil)
	sent := []string{
		initialize, initialized, callLine("1", "ok"),
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"x"}}` + "\n",
		callLine("3", "deny_it"), callLine("4", "ok"),
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n",
		callLine("5", "ok"),
	}
	x.send(sent...)
	require.Contains(t, x.next(), "serverInfo")
	refused := map[string]bool{}
	for range 5 {
		var a answer
		require.NoError(t, json.Unmarshal([]byte(x.next()), &a))
		require.NotNil(t, a.Result)
		refused[string(a.ID)] = a.Result.IsError
	}
	require.Equal(t, map[string]bool{"1": false, "2": false, "3": true, "4": false, "5": false}, refused)
	require.Zero(t, x.end())
	client, own := x.received()
	require.Equal(t, strings.Join(sent[:4], "")+strings.Join(sent[5:], ""), client)
	require.Equal(t, 1, own)
}

func TestOwnListComesAfterTheHandshake(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}}, nil)
	x.send(initialize)
	x.next()
	x.nothing()
	_, own := x.received()
	require.Zero(t, own, "not before notifications/initialized")
	x.send(initialized, callLine("1", "ok"))
	x.requireRan("1", "ok")
	_, own = x.received()
	require.Equal(t, 1, own)
}

// A client that leaves notifications/initialized out may call when the server has
// answered its initialize, and so may the gate.
func TestClientThatIsNeverInitialized(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}, Verbose: true}, nil)
	x.send(initialize)
	x.next()
	x.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n")
	x.answer(`"p"`)
	x.nothing()
	_, own := x.received()
	require.Zero(t, own)
	x.send(callLine("1", "ok"))
	x.requireRan("1", "ok")
}

func TestCallWithoutHandshake(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}}, func(o *stdioproxy.Options) { o.Hold.Timeout = 100 * time.Millisecond })
	x.send(callLine("1", "ok"))
	x.requireRefused("1", policy.NotReady)
	x.send(callLine("2", "ok"))
	_ = x.in.Close() // nothing more can come: no need to wait
	x.requireRefused("2", policy.NotReady)
	require.Zero(t, x.wait())
	client, own := x.received()
	require.Empty(t, client)
	require.Zero(t, own)
}

func TestInitializedBehindAWaitingCall(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}}, nil)
	x.send(callLine("1", "ok"), initialize)
	require.Contains(t, x.next(), "serverInfo")
	x.send(initialized)
	x.requireRan("1", "ok")
}

const stateless = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"progressToken":"p"}`

func TestStatelessEra(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}, {"more"}}}, nil)
	x.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + stateless + `}}` + "\n")
	x.answer("1")
	x.nothing()
	_, own := x.received()
	require.Zero(t, own, "server/discover may be a question to a server of the other era")
	x.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"more",` + stateless + `}}` + "\n")
	x.requireRan("2", "more")
	require.Zero(t, x.end())
	_, own = x.received()
	require.Equal(t, 2, own)
	require.Equal(t, 2, strings.Count(x.recordText(), `"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`))
}

func TestProbeThenSession(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}}, nil)
	x.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + stateless + `}}` + "\n")
	x.answer("1")
	x.handshake()
	x.send(callLine("2", "ok"))
	x.requireRan("2", "ok")
	require.NotContains(t, strings.Join(strings.Split(x.recordText(), "\n")[1:], "\n"), "2026-07-28", "the gate speaks the era that was agreed on")
}

func TestAllPagesAreLearned(t *testing.T) {
	var told [][]string
	x := newSession(t, script{Pages: [][]string{{"a", "b"}, {}, {"c"}}}, func(o *stdioproxy.Options) {
		o.OnTools = func(tools []*policy.Tool) {
			var names []string
			for _, tool := range tools {
				names = append(names, tool.Name())
			}
			told = append(told, names)
		}
	})
	x.handshake()
	x.send(callLine("1", "c"))
	x.requireRan("1", "c")
	require.Zero(t, x.end())
	_, own := x.received()
	require.Equal(t, 3, own)
	require.Equal(t, [][]string{{"a", "b", "c"}}, told)
}

// A call that comes after list_changed is decided on the new list.
func TestListChanged(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"grow", "ok"}}, Later: []string{"new"}, ListDelay: 50}, nil)
	x.handshake()
	x.send(callLine("1", "grow"))
	require.Contains(t, x.next(), "list_changed")
	x.send(callLine("2", "ok"), callLine("3", "new"))
	x.requireRan("1", "grow")
	x.requireRan("2", "ok")
	x.requireRan("3", "new")
	_, own := x.received()
	require.Equal(t, 2, own, "the server is asked once more, not once for each call")
}

func TestToolThatCameWithoutAWord(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"grow_silently"}}, Later: []string{"new"}}, nil)
	x.handshake()
	x.send(callLine("1", "grow_silently"))
	x.requireRan("1", "grow_silently")
	x.send(callLine("2", "new"))
	x.requireRan("2", "new")
	x.send(callLine("3", "none"))
	x.requireError("3", -32602)
	_, own := x.received()
	require.Equal(t, 3, own)
}

// A server that says that its tools changed each time it lists them has no list that
// could be relied on, and gets the gate neither to spin nor to let anything through.
func TestListThatChangesAllTheTime(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}, ListLine: `{"jsonrpc":"2.0","method":"notifications\/tools\/list_changed"}`},
		func(o *stdioproxy.Options) { o.Hold.Timeout = 500 * time.Millisecond })
	x.handshake()
	x.send(callLine("1", "ok"))
	for {
		line := x.next()
		if strings.Contains(line, `"id":1`) {
			require.Contains(t, line, "not_ready")
			break
		}
		require.Contains(t, line, "list_changed")
	}
	_, own := x.received()
	require.Less(t, own, 15)
}

func TestToolsThatCannotBeLearned(t *testing.T) {
	endless := make([][]string, 200)
	for name, s := range map[string]script{
		"error":          {ListError: -32603},
		"not a list":     {ListRaw: `{"tools":7}`},
		"no list":        {ListRaw: `{}`},
		"not an object":  {ListRaw: `"tools"`},
		"two lists":      {ListRaw: `{"tools":[],"tools":[{"name":"ok"}]}`},
		"the same page":  {ListRaw: `{"tools":[{"name":"ok"}],"nextCursor":"0"}`},
		"too many pages": {Pages: endless},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSession(t, s, nil)
			x.handshake()
			x.send(callLine("1", "ok"), callLine("2", "ok"))
			x.requireRefused("1", policy.NotReady)
			x.requireRefused("2", policy.NotReady)
			require.Zero(t, x.end())
			client, _ := x.received()
			require.Equal(t, initialize+initialized, client)
			require.Contains(t, x.log.String(), "can't be learned")
			require.Empty(t, x.gate.asked())
		})
	}
}

func TestServerWithoutTools(t *testing.T) {
	x := newSession(t, script{ListError: -32601}, nil)
	x.handshake()
	x.send(callLine("1", "ok"))
	x.requireError("1", -32602)
	require.Len(t, x.gate.asked(), 1)
	require.False(t, x.gate.asked()[0].Tool.Known())
}

// A tool whose declaration can't be read doesn't take the others with it.
func TestOneBadTool(t *testing.T) {
	x := newSession(t, script{ListRaw: `{"tools":[{"name":5},{"name":"ok","inputSchema":{}}]}`}, nil)
	x.handshake()
	x.send(callLine("1", "ok"))
	x.requireRan("1", "ok")
	require.Contains(t, x.log.String(), "can't be read")
}

// An answer in a batch is the gate's, and what is beside it the client's.
func TestListInABatch(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}, Batch: true}, nil)
	x.handshake()
	x.send(callLine("1", "ok"))
	require.Equal(t, `[{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1.0}}]`+"\n", x.next())
	x.requireRan("1", "ok")
}

// An answer that comes too late is nobody's, but the next question is answered.
func TestServerThatListsLate(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}, ListDelay: 400}, func(o *stdioproxy.Options) { o.LearnTimeout = 100 * time.Millisecond })
	x.handshake()
	x.send(callLine("1", "ok"))
	x.requireRefused("1", policy.NotReady)
	require.Contains(t, x.log.String(), "hasn't answered tools/list")
	x.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}` + "\n")
	x.answer(`"p"`) // and not the late list
	require.Zero(t, x.end())
}
