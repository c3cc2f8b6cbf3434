package test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/policy"
)

// These are the facts that a reader looks for by name. Each is shown with the library
// as an application uses it; what they mean in detail is tested where the code is.

const factSchema = `{"type":"object","properties":{"path":{"type":"string"},"tenant":{"type":"string"},"n":{"type":"integer"}},"required":["path"],"additionalProperties":false}`

// factRules have a validator for every tool.
type factRules struct{ validate policy.ValidatorFunc }

func (factRules) Revision() string { return "facts" }

func (r factRules) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: r.validate}
}

func factGate(t *testing.T, o policy.Options, v policy.ValidatorFunc) *policy.Gate {
	t.Helper()
	g, err := policy.NewGate(o)
	require.NoError(t, err)
	g.Use(factRules{v})
	return g
}

// A factTool is a wrapped handler that counts.
type factTool struct {
	call func(ctx context.Context, arguments string) (string, error)
	ran  atomic.Int64
}

func newFactTool(t *testing.T, g decorator.Decider) *factTool {
	t.Helper()
	tool := &factTool{}
	h, err := decorator.Wrap(g, policy.ToolSpec{Name: "read", InputSchema: []byte(factSchema)}, func(_ context.Context, a json.RawMessage) (string, error) {
		tool.ran.Add(1)
		return string(a), nil
	})
	require.NoError(t, err)
	tool.call = func(ctx context.Context, arguments string) (string, error) { return h(ctx, json.RawMessage(arguments)) }
	return tool
}

func requireCode(t *testing.T, code policy.Code, err error) {
	t.Helper()
	var refused *decorator.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Decision.Code(), "%v", err)
}

func noSecrets(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	if path, _ := in.Arguments().Lookup("/path"); path == "/etc/shadow" {
		return []policy.Refusal{{Message: "not that file"}}, nil
	}
	return nil, nil
}

// Bytes, then schema, then rules, then handler: none sees what an earlier one refused.
func TestFactOrder(t *testing.T) {
	var asked atomic.Int64
	tool := newFactTool(t, factGate(t, policy.Options{}, func(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
		asked.Add(1)
		return noSecrets(ctx, in)
	}))
	for _, step := range []struct {
		arguments  string
		code       policy.Code
		asked, ran int64
	}{
		{`{"path":"/etc/shadow","path":7}`, policy.Malformed, 0, 0},
		{`{"path":"/etc/shadow","n":"7"}`, policy.SchemaViolation, 0, 0},
		{`{"path":"/etc/shadow"}`, policy.Denied, 1, 0},
	} {
		_, err := tool.call(context.Background(), step.arguments)
		requireCode(t, step.code, err)
		require.Equal(t, [2]int64{step.asked, step.ran}, [2]int64{asked.Load(), tool.ran.Load()})
	}
	_, err := tool.call(context.Background(), `{"path":"/a"}`)
	require.NoError(t, err)
	require.Equal(t, [2]int64{2, 1}, [2]int64{asked.Load(), tool.ran.Load()})
}

// Turning off the schema check turns off nothing else.
func TestFactSchemaOptOut(t *testing.T) {
	tool := newFactTool(t, factGate(t, policy.Options{Schema: policy.SchemaOptions{SkipEnforce: true}}, noSecrets))
	_, err := tool.call(context.Background(), `{"path":"/a","n":"a violation"}`)
	require.NoError(t, err)
	_, err = tool.call(context.Background(), `{"path":"/etc/shadow","n":"a violation"}`)
	requireCode(t, policy.Denied, err)
	_, err = tool.call(context.Background(), `{"path":"/a","path":"/etc/shadow"}`)
	requireCode(t, policy.Malformed, err)
	require.EqualValues(t, 1, tool.ran.Load())
}

// A validator can refuse, and it can't change what the handler gets.
func TestFactRefuseOnly(t *testing.T) {
	tool := newFactTool(t, factGate(t, policy.Options{}, func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		in.Arguments().Object()["path"] = "/etc/shadow"
		copy(in.Arguments().Raw(), `{"path":"/x"}`)
		return nil, nil
	}))
	const sent = "{ \"path\" : \"/a\", \"n\":9007199254740993 }"
	got, err := tool.call(context.Background(), sent)
	require.NoError(t, err)
	require.Equal(t, sent, got)
}

// The same call is refused again, each time, with the same words.
func TestFactIdempotentRefusal(t *testing.T) {
	tool := newFactTool(t, factGate(t, policy.Options{}, noSecrets))
	_, first := tool.call(context.Background(), `{"path":"/etc/shadow"}`)
	requireCode(t, policy.Denied, first)
	for range 20 {
		_, err := tool.call(context.Background(), `{"path":"/etc/shadow"}`)
		require.EqualError(t, err, first.Error())
	}
	require.Zero(t, tool.ran.Load())
}

// A refused call causes no request to what is behind the handler, not even one.
func TestFactZeroUpstreamRequests(t *testing.T) {
	var requests atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer upstream.Close()
	h, err := decorator.Wrap(factGate(t, policy.Options{}, noSecrets), policy.ToolSpec{Name: "read", InputSchema: []byte(factSchema)},
		func(_ context.Context, a json.RawMessage) (int, error) {
			r, err := http.Post(upstream.URL, "application/json", strings.NewReader(string(a)))
			if err != nil {
				return 0, err
			}
			return r.StatusCode, r.Body.Close()
		})
	require.NoError(t, err)
	for _, refused := range []string{`{"path":"/etc/shadow"}`, `{"path":7}`, `{`, ``} {
		_, err := h(context.Background(), json.RawMessage(refused))
		require.Error(t, err)
	}
	require.Zero(t, requests.Load())
	_, err = h(context.Background(), json.RawMessage(`{"path":"/a"}`))
	require.NoError(t, err)
	require.EqualValues(t, 1, requests.Load(), "the upstream can be reached")
}

// A rule that throws has not allowed anything, and what it threw is not for the agent.
func TestFactThrowIsReject(t *testing.T) {
	for name, v := range map[string]policy.ValidatorFunc{
		"error":         func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, context.DeadlineExceeded },
		"panic":         func(context.Context, policy.Input) ([]policy.Refusal, error) { panic("secret") },
		"empty refusal": func(context.Context, policy.Input) ([]policy.Refusal, error) { return make([]policy.Refusal, 1), nil },
	} {
		t.Run(name, func(t *testing.T) {
			for _, g := range []*policy.Gate{
				factGate(t, policy.Options{}, v),
				factGate(t, policy.Options{Validators: []policy.Registration{{Name: "mine", Validator: v}}}, noSecrets),
			} {
				tool := newFactTool(t, g)
				_, err := tool.call(context.Background(), `{"path":"/a"}`)
				requireCode(t, policy.Undecided, err)
				require.NotContains(t, err.Error(), "secret")
				require.Zero(t, tool.ran.Load())
			}
		})
	}
}

// A call whose context has ended before it came is not run.
func TestFactPreCancelledContext(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	tool := newFactTool(t, factGate(t, policy.Options{}, noSecrets))
	_, err := tool.call(ended, `{"path":"/a"}`)
	requireCode(t, policy.Undecided, err)
	require.Zero(t, tool.ran.Load())
}

// Who calls comes from the context, whatever the arguments say.
func TestFactTenantIsAmbient(t *testing.T) {
	tool := newFactTool(t, factGate(t, policy.Options{CallerRequire: []string{"tenant"}}, func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		if in.Caller().Tenant != "acme" {
			return []policy.Refusal{{Message: "acme only"}}, nil
		}
		return nil, nil
	}))
	of := func(tenant string) context.Context {
		return policy.WithCaller(context.Background(), policy.Caller{Tenant: tenant})
	}
	_, err := tool.call(of("acme"), `{"path":"/a","tenant":"other"}`)
	require.NoError(t, err)
	_, err = tool.call(of("other"), `{"path":"/a","tenant":"acme"}`)
	requireCode(t, policy.Denied, err)
	_, err = tool.call(context.Background(), `{"path":"/a","tenant":"acme"}`)
	requireCode(t, policy.Undecided, err)
}

// A handler written by hand and a tool of an MCP server get the same answer. (The whole
// table, over all sources, is in test/uniform.)
func TestFactUniformOverHandWrittenAndMCPTools(t *testing.T) {
	gate := factGate(t, policy.Options{}, noSecrets)
	tool := newFactTool(t, gate)
	server := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "read", InputSchema: json.RawMessage(factSchema)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
	})
	require.NoError(t, gosdk.GateServer(server, gate, gosdk.Options{}))
	near, far := mcp.NewInMemoryTransports()
	_, err := server.Connect(context.Background(), far, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(context.Background(), near, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	for _, arguments := range []string{`{"path":"/a"}`, `{"path":"/etc/shadow"}`, `{"path":7}`, `{"path":"/a","PATH":"/b"}`, `[]`} {
		out, byHand := tool.call(context.Background(), arguments)
		result, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "read", Arguments: json.RawMessage(arguments)})
		require.NoError(t, err)
		want := out
		if byHand != nil {
			want = byHand.Error()
		}
		require.Equal(t, byHand != nil, result.IsError)
		require.Equal(t, want, result.Content[0].(*mcp.TextContent).Text)
	}
}

// Without rules, and said so, everything is as it was.
func TestFactNoopDefaultChangesNothing(t *testing.T) {
	tool := newFactTool(t, policy.NewNoopGate())
	for i, arguments := range []string{`{"path":"/etc/shadow"}`, `{"path":7}`, `{"path":1,"path":2}`, `not JSON`, ``} {
		got, err := tool.call(context.Background(), arguments)
		require.NoError(t, err)
		require.Equal(t, arguments, got)
		require.EqualValues(t, i+1, tool.ran.Load())
	}
	// Forgetting the rules is something else.
	gate, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	_, err = newFactTool(t, gate).call(context.Background(), `{"path":"/a"}`)
	requireCode(t, policy.NotReady, err)
}
