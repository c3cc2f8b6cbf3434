package mcpgo

import (
	"encoding/json"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"
)

func params(name, arguments string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: name, RawArguments: json.RawMessage(arguments)}
}

func TestATicketIsForOneCallAndNoOther(t *testing.T) {
	var ts tickets
	p := params("a", `{"x":1}`)
	require.False(t, ts.redeem("s", p))
	ts.issue("s", p)
	ts.issue("s", p)
	retry := *p
	retry.InputResponses = mcp.InputResponses{"q": mcp.NewRootsInputResponse(mcp.ListRootsResult{})}
	for name, other := range map[string]*mcp.CallToolParams{"tool": params("b", `{"x":1}`), "bytes": params("a", `{"x":2}`), "white space": params("a", `{"x": 1}`), "answers": &retry} {
		require.False(t, ts.redeem("s", other), name)
	}
	require.False(t, ts.redeem("another session", p))
	require.True(t, ts.redeem("s", p))
	require.True(t, ts.redeem("s", p))
	require.False(t, ts.redeem("s", p))
	require.Empty(t, ts.sold)
}

func TestTicketsExpireAndAreBounded(t *testing.T) {
	var ts tickets
	old := params("old", `{}`)
	ts.issue("", old)
	ts.sold[ticketFor("", old)].issued = time.Now().Add(-2 * ticketLifetime)
	require.False(t, ts.redeem("", old))
	for i := range maxTickets {
		ts.issue("", params(strconv.Itoa(i), `{}`))
	}
	require.Len(t, ts.sold, maxTickets, "the expired one made room")
	ts.issue("", params("one more", `{}`))
	require.Len(t, ts.sold, maxTickets)
	require.False(t, ts.redeem("", params("one more", `{}`)), "the middleware decides it itself")
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if !ts.redeem("", params(strconv.Itoa(i), `{}`)) {
				t.Errorf("%d", i)
			}
		})
	}
	wg.Wait()
	require.Len(t, ts.sold, maxTickets-100)
}
