package gosdk_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/gosdk"
	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/policy"
)

// A validator for a tool that nobody declares will never run, and the operator hears of
// it once the tools are known; a tool that comes later ends that.
func TestValidatorOfAnUndeclaredToolIsReported(t *testing.T) {
	for _, l := range links {
		for side, install := range map[string]func(*mcp.Server, *mcp.Client, *policy.Gate, func(error)) error{
			"server": func(s *mcp.Server, _ *mcp.Client, g *policy.Gate, report func(error)) error {
				return gosdk.GateServer(s, g, gosdk.Options{Report: report})
			},
			"client": func(_ *mcp.Server, c *mcp.Client, g *policy.Gate, report func(error)) error {
				return gosdk.GateClient(c, g, gosdk.ClientOptions{Report: report})
			},
		} {
			t.Run(side+", "+l.name, func(t *testing.T) {
				server, client := newServer(&mcp.ServerOptions{PageSize: 1}), newClient(nil)
				server.AddTool(tool("other", openSchema), (&spy{}).handle)
				server.AddTool(tool("read", openSchema), (&spy{}).handle)
				g := adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
				adaptertest.Mistype(t, g)
				var reports adaptertest.Reports
				require.NoError(t, install(server, client, g, reports.Add))
				cs := l.connect(t, server, client)
				for range 2 {
					_, err := call(t, cs, "other", `{}`)
					require.NoError(t, err)
				}
				require.Equal(t, []string{adaptertest.NeverRuns}, reports.All())
				note, err := g.Register(policy.Registration{Tool: "other", Name: "late", Validator: policy.ValidatorFunc(adaptertest.DenyShadow)})
				require.NoError(t, err)
				require.Empty(t, note, "the gate knows the tools")
			})
		}
	}
}

// Two sessions of one client, with different servers of one name: what either declares counts.
func TestSessionsOfOneNameDeclareTogether(t *testing.T) {
	g := adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
	client := newClient(nil)
	var reports adaptertest.Reports
	require.NoError(t, gosdk.GateClient(client, g, gosdk.ClientOptions{Report: reports.Add}))
	for _, name := range []string{"a", "b"} {
		note, err := g.Register(policy.Registration{Tool: name, Name: "v", Validator: policy.ValidatorFunc(adaptertest.DenyShadow)})
		require.NoError(t, err)
		require.Empty(t, note)
	}
	for i, name := range []string{"a", "b"} {
		server := newServer(nil)
		server.AddTool(tool(name, openSchema), (&spy{}).handle)
		cs := inMemory(legacy)(t, server, client)
		_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name})
		require.NoError(t, err)
		require.Len(t, reports.All(), 1, "of b until its server was asked, and nothing more (%d)", i)
	}
	note, err := g.Register(policy.Registration{Tool: "a", Name: "w", Validator: policy.ValidatorFunc(adaptertest.DenyShadow)})
	require.NoError(t, err)
	require.Empty(t, note, "the second list doesn't take the first one's tools away")
}

// A tool that can't be used is reported by the first call, whatever that is to.
func TestEveryBrokenToolIsReportedAtOnce(t *testing.T) {
	server := newServer(nil)
	server.AddTool(tool("read", openSchema), (&spy{}).handle)
	server.AddTool(tool("broken", brokenSchema), (&spy{}).handle)
	var reports adaptertest.Reports
	require.NoError(t, gosdk.GateServer(server, adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow), gosdk.Options{Report: reports.Add}))
	cs := inMemory(legacy)(t, server, newClient(nil))
	for range 3 {
		_, err := call(t, cs, "read", `{}`)
		require.NoError(t, err)
	}
	require.Len(t, reports.All(), 1)
	require.Contains(t, reports.All()[0], `every call to the tool is refused: tool "broken": inputSchema`)
}
