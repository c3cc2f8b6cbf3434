package mcpgo_test

import (
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/internal/adaptertest"
	"github.com/regogate/regogate/decorator/mcpgo"
	"github.com/regogate/regogate/policy"
)

// A validator for a tool that the server doesn't have will never run, and the operator
// hears of it at the first call. Tools that can only run as a task count as well, and
// so do those that came later.
func TestValidatorOfAnUndeclaredToolIsReported(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			g := adaptertest.NewGate(t, policy.Options{}, adaptertest.DenyShadow)
			adaptertest.Mistype(t, g)
			_, err := g.Register(policy.Registration{Tool: "report", Name: "of a task", Validator: policy.ValidatorFunc(adaptertest.DenyShadow)})
			require.NoError(t, err)
			var reports adaptertest.Reports
			s := spy{ran: make(chan struct{}, 9)}
			srv := newServer(mcpgo.WithGate(g, mcpgo.Options{Report: reports.Add}))
			srv.AddTool(tool("other", openSchema), s.handle)
			srv.AddTool(tool("read", openSchema), s.handle)
			srv.AddTool(tool("broken", brokenSchema), s.handle)
			srv.AddTaskTool(tool("report", openSchema, mcp.WithTaskSupport(mcp.TaskSupportRequired)), s.task)
			c := l.connect(t, srv)
			for range 2 {
				r, err := call(c, "other", `{}`)
				require.NoError(t, err)
				require.False(t, r.IsError)
			}
			all := reports.All()
			require.Len(t, all, 2, "%q", all)
			require.Contains(t, all[0], `every call to the tool is refused: tool "broken"`)
			require.Equal(t, adaptertest.NeverRuns, all[1])

			srv.AddTool(tool("raed", openSchema), s.handle)
			_, err = call(c, "raed", `{}`)
			require.NoError(t, err)
			note, err := g.Register(policy.Registration{Tool: "raed", Name: "late", Validator: policy.ValidatorFunc(adaptertest.DenyShadow)})
			require.NoError(t, err)
			require.Empty(t, note, "it is there now")
		})
	}
}
