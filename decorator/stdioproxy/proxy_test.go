package stdioproxy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

func TestAllowedAndRefused(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok", "deny_it", "shadow_it", "panic_it"}}}, nil)
	x.handshake()
	x.send(callLine("1", "ok"))
	x.requireRan("1", "ok")
	x.send(callLine(`"\u0061"`, "deny_it"))
	x.requireRefused(`"\u0061"`, policy.Denied)
	x.send(callLine("3", "shadow_it"))
	x.requireRan("3", "shadow_it")
	x.send(callLine("4", "panic_it"))
	x.requireRefused("4", policy.Undecided)
	x.send(callLine("5", "missing"))
	x.requireError("5", -32602)
	require.Zero(t, x.end())
	client, own := x.received()
	require.Equal(t, initialize+initialized+callLine("1", "ok")+callLine("3", "shadow_it"), client, "only what is effective reaches the server, unchanged")
	require.Equal(t, 2, own, "the tools are asked for once, and once more for a name that isn't among them")
	require.NotContains(t, x.log.String(), "missing", "a name that an agent made up has no place in a log")
	require.Contains(t, x.log.String(), "tool=deny_it")
	require.Len(t, x.gate.asked(), 5, "each call is decided once")
	for _, c := range x.gate.asked() {
		require.Equal(t, "stdio", c.Transport)
		require.Equal(t, "fake", c.Tool.Server())
	}
	require.Equal(t, "a", x.gate.asked()[1].ID)
}

func TestWhatTheGateIsAsked(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}}, nil)
	x.handshake()
	line := `{ "jsonrpc":"2.0", "id":1.50, "method":"tools\/call","params":{"name":"ok","arguments": {"n": 9007199254740993 ,"s":"\/"} , "inputResponses":{"q": {"action":"accept"}},"requestState":"s"}}` + "\r\n"
	x.send(line)
	x.requireRan("1.50", "ok")
	x.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ok","arguments":null}}` + "\n")
	x.requireRan("2", "ok")
	require.Zero(t, x.end())
	client, _ := x.received()
	require.Contains(t, client, line)
	calls := x.gate.asked()
	require.Len(t, calls, 2)
	require.Equal(t, `{"n": 9007199254740993 ,"s":"\/"}`, string(calls[0].Arguments))
	require.Equal(t, "1.50", calls[0].ID)
	require.Equal(t, `{"q": {"action":"accept"}}`, string(calls[0].Responses))
	require.Equal(t, "{}", string(calls[1].Arguments))
	require.Nil(t, calls[1].Responses)
}

// Both directions are the same bytes with and without a gate.
func TestVerbatim(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"ok","arguments":{"x":"` + strings.Repeat("é", 1<<20) + `"}}}` + "\n"
	sent := []string{
		initialize, initialized,
		` {"jsonrpc" : "2.0","id":7,"method":"ping"}` + "\t \r\n",
		`{"jsonrpc":"2.0","id":"<\u2028>","method":"resources/read","params":{"uri":"a\/b","x":1.10}}` + "\n",
		`{"jsonrpc":"2.0","id":3,"result":{"roots":[]}}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.50}}` + "\n",
		long,
	}
	last := `{"jsonrpc":"2.0","id":10,"method":"ping"}` // without a line ending
	banner := "Listening \xff\r\n\n  \n{\"jsonrpc\":\"2.0\",\"method\":\"notifications\\/message\",\"params\":{\"a\":1,\"a\":2}}\r\n{not json}\n"
	x := newSession(t, script{Pages: [][]string{{"ok"}}, Banner: []byte(banner), OnEOF: "exit 0"}, nil)
	for _, want := range strings.SplitAfter(strings.TrimSuffix(banner, "\n"), "\n") {
		require.Equal(t, strings.TrimSuffix(want, "\n")+"\n", x.next())
	}
	x.send(sent...)
	x.send("\n", " \t\r\n") // dropped
	x.send(last)
	require.Zero(t, x.end())
	var got []string
	for l := range x.lines {
		got = append(got, l)
	}
	require.Len(t, got, 5)
	require.Contains(t, strings.Join(got, ""), `"jsonrpc":"2.0","id":7}`)
	require.Contains(t, strings.Join(got, ""), `"id":"<\u2028>"}`)
	require.NotContains(t, strings.Join(got, ""), "regogate-", "the gate's own questions are its own business")
	require.Equal(t, "last words", x.rest)
	client, own := x.received()
	require.Equal(t, strings.Join(sent, "")+last, client)
	require.Equal(t, 1, own)
}

func TestNothingElseReachesTheServer(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok", "secret"}}}, func(o *stdioproxy.Options) { o.MessageBytes = 4096 })
	x.handshake()
	x.send(callLine("0", "ok"))
	x.requireRan("0", "ok")
	for _, c := range []struct {
		line string
		id   string
		code int // 0: no answer
	}{
		{`[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret"}}]`, "null", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"secret"}}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","Name":"secret"}}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"}} {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"secret"}}`, "null", -32700},
		{"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret"}}`, "null", -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"\r}", "null", -32600},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"secret"}}`, "", 0},
		{`{"jsonrpc":"2.0","method":"vendor/secret"}`, "", 0},
		{`{"jsonrpc":"2.0","method":"tools/list"}`, "", 0},
		{`{"jsonrpc":"2.0","id":1,"method":"vendor/secret"}`, "1", -32601},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, "1", -32602},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("y", 5000) + `"}}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("y", 500_000) + `"}}`, "null", -32600},
		{`hello`, "null", -32700},
	} {
		x.send(c.line + "\n")
		if c.code != 0 {
			x.requireError(c.id, c.code)
		}
	}
	// multi-line JSON is one broken message per line
	x.send("{\n", `"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"secret"}`+"\n", "}\n")
	for range 3 {
		x.requireError("null", -32700)
	}
	x.send(callLine("99", "ok"))
	x.requireRan("99", "ok")
	require.Zero(t, x.end())
	client, _ := x.received()
	require.Equal(t, initialize+initialized+callLine("0", "ok")+callLine("99", "ok"), client)
	require.Len(t, x.gate.asked(), 2)
	require.NotContains(t, x.log.String(), "secret")
}

// The ids of the gate's own requests are in the server's record.
func TestOwnIDsAreRefused(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok"}}}, nil)
	x.handshake()
	x.send(callLine("0", "ok"))
	x.requireRan("0", "ok")
	_, rest, found := strings.Cut(x.recordText(), `"id":"regogate-`)
	require.True(t, found)
	own := `"regogate-` + rest[:strings.Index(rest, `"`)+1]
	x.send(`{"jsonrpc":"2.0","id":` + own + `,"method":"ping"}` + "\n")
	x.requireError(own, -32600)
	x.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + own + `}}` + "\n")
	x.requireError("null", -32600)
	x.send(`{"jsonrpc":"2.0","id":` + own + `,"result":{"tools":[]}}` + "\n")
	x.requireError("null", -32600)
	require.Zero(t, x.end())
	client, _ := x.received()
	require.Equal(t, initialize+initialized+callLine("0", "ok"), client)
}

func TestTaskIsRefusedAsAnError(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"ok", "deny_it"}}}, nil)
	x.handshake()
	x.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deny_it","task":{}}}` + "\n")
	x.requireError("1", -32602)
	x.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ok","task":{}}}` + "\n")
	x.requireRan("2", "ok")
}

func TestMethods(t *testing.T) {
	x := newSession(t, script{}, func(o *stdioproxy.Options) {
		o.Methods = []stdioproxy.MethodRule{{Name: "vendor/run", Action: "pass"}, {Name: "resources/read", Action: "refuse"}}
	})
	x.handshake()
	x.send(`{"jsonrpc":"2.0","id":1,"method":"vendor/run"}` + "\n")
	require.NotNil(t, x.answer("1").Result)
	x.send(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"x"}}` + "\n")
	x.requireError("2", -32601)
	x.send(`{"jsonrpc":"2.0","id":3,"method":"resources/list"}` + "\n")
	require.NotNil(t, x.answer("3").Result)

	undecided, err := stdioproxy.PassUndecided([]stdioproxy.MethodRule{{Name: "vendor/run", Action: "pass"}})
	require.NoError(t, err)
	require.Contains(t, undecided, "vendor/run")
	_, err = stdioproxy.PassUndecided([]stdioproxy.MethodRule{{Name: "tools/call", Action: "pass"}})
	require.Error(t, err)
}

// Lines of any length pass, also those too long to be looked at.
func TestBigLines(t *testing.T) {
	x := newSession(t, script{Pages: [][]string{{"big", "ok"}}}, nil)
	x.handshake()
	x.send(callLine("1", "big"))
	line := x.next()
	require.Len(t, line, bigResult+len(`{"result":{"content":[{"type":"text","text":""}]},"jsonrpc":"2.0","id":1}`)+1)
	require.True(t, strings.HasSuffix(line, `"}]},"jsonrpc":"2.0","id":1}`+"\n"))
	arguments := strings.Repeat("z", 5<<20)
	x.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ok","arguments":{"x":"` + arguments + `"}}}` + "\n")
	x.requireRan("2", "ok")
	x.send(`{"jsonrpc":"2.0","id":3,"result":{"content":{"type":"image","data":"` + arguments + `"}}}` + "\n")
	require.Zero(t, x.end())
	client, _ := x.received()
	require.Len(t, client, len(initialize)+len(initialized)+len(callLine("1", "big"))+
		2*len(arguments)+len(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ok","arguments":{"x":""}}}`)+1+
		len(`{"jsonrpc":"2.0","id":3,"result":{"content":{"type":"image","data":""}}}`)+1)
}
