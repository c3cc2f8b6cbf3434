package stdioproxy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

// rules denies every call of the tools that it covers and whose path is "/secret".
type rules struct{}

func (rules) Revision() string { return "r1" }

func (rules) Cover(t *policy.Tool) policy.Coverage {
	if t.Name() == "uncovered" {
		return policy.Coverage{}
	}
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		if path, _ := in.Arguments().Lookup("/path"); path == "/secret" {
			return []policy.Refusal{{Message: "not that path, " + in.Caller().Subject}}, nil
		}
		return nil, nil
	})}
}

const typedTools = `{"tools":[
 {"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}},
 {"name":"uncovered","inputSchema":{"type":"object"}},
 {"name":"broken","inputSchema":{"type":"strnig"}}]}`

// The gate itself, in front of a server.
func TestWithAGate(t *testing.T) {
	gate, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	gate.Use(rules{})
	raw := ""
	for _, c := range typedTools {
		if c != '\n' {
			raw += string(c)
		}
	}
	x := newSession(t, script{ListRaw: raw}, func(o *stdioproxy.Options) { o.Gate = gate })
	x.handshake()
	call := func(tool, arguments string) {
		x.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + "}}\n")
	}
	call("read", `{"path":"/a"}`)
	x.requireRan("1", "read")
	for _, c := range []struct {
		tool, arguments string
		code            policy.Code
	}{
		{"read", `{"path":"/secret"}`, policy.Denied},
		{"read", `{"path":"/a","path":"/secret"}`, policy.Malformed},
		{"read", `{"path":"/a","Path":"/secret"}`, policy.Malformed},
		{"read", `{"path":"\ud800"}`, policy.Malformed},
		{"read", "{\"path\":\"\xff\"}", policy.Malformed},
		{"read", `{"path":1e400}`, policy.Malformed},
		{"read", `["/a"]`, policy.Malformed},
		{"read", `"/a"`, policy.Malformed},
		{"read", nestedArrays(70), policy.Malformed},
		{"read", nestedArrays(20_000), policy.Malformed},
		{"read", `{"path":5}`, policy.SchemaViolation},
		{"read", `{}`, policy.SchemaViolation},
		{"read", `null`, policy.SchemaViolation},
		{"uncovered", `{}`, policy.Unmapped},
		{"broken", `{}`, policy.SchemaUnusable},
	} {
		call(c.tool, c.arguments)
		x.requireRefused("1", c.code)
	}
	call("read", `{"path":"/secret"}`)
	require.Contains(t, x.next(), "not that path, ann", "the caller comes with the context")
	call("other", `{}`)
	x.requireError("1", -32602)
	require.Zero(t, x.end())
	client, _ := x.received()
	require.Equal(t, initialize+initialized+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"/a"}}}`+"\n", client)
}

func nestedArrays(n int) string {
	b := make([]byte, 2*n)
	for i := range n {
		b[i], b[2*n-1-i] = '[', ']'
	}
	return `{"path":` + string(b) + `}`
}

// A validator for a tool that the server doesn't declare will never run, and the log
// says so once the tools are known, and once only.
func TestValidatorOfAnUndeclaredToolIsLogged(t *testing.T) {
	gate := adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
	adaptertest.Mistype(t, gate)
	x := newSession(t, script{Pages: [][]string{{"other"}, {"read", "grow_silently"}}, Later: []string{"late"}}, func(o *stdioproxy.Options) { o.Gate = gate })
	x.handshake()
	x.send(callLine("1", "grow_silently"))
	x.requireRan("1", "grow_silently")
	x.send(callLine("2", "late"))
	x.requireRan("2", "late")
	require.Zero(t, x.end())
	log := x.log.String()
	require.Equal(t, 1, strings.Count(log, "will never run"), log)
	require.Contains(t, log, `level=WARN msg="validator \"quota\" for tool \"raed\" will never run: no server declares such a tool" server=fake`)
}

// A decision belongs to the trace that the call's _meta names.
func TestDecisionsContinueTheTrace(t *testing.T) {
	var log adaptertest.Log
	gate := adaptertest.NewGate(t, policy.Options{Recorder: &log}, adaptertest.DenyShadow)
	x := newSession(t, script{Pages: [][]string{{"read"}}}, func(o *stdioproxy.Options) { o.Gate = gate })
	x.handshake()
	for _, value := range []string{`"` + adaptertest.TraceA + `"`, `7`, `"x"`, `{"traceparent":"` + adaptertest.TraceA + `"}`} {
		x.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{},"_meta":{"traceparent":` + value + `}}}` + "\n")
		x.requireRan("1", "read")
	}
	require.Equal(t, []string{adaptertest.TraceA, "", "", ""}, log.Traces())
}
