package mcpwire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func names(specs []policy.ToolSpec) []string {
	var out []string
	for _, s := range specs {
		out = append(out, s.Name)
	}
	return out
}

func TestToolPages(t *testing.T) {
	p := NewToolPages(nil, PageLimits{})
	require.Equal(t, `{"jsonrpc":"2.0","id":"g-1","method":"tools/list","params":{}}`, string(p.Request(json.RawMessage(`"g-1"`))))
	more, err := p.Add(json.RawMessage(`{"tools":[{"name":"a","inputSchema":{"n":1.50}}],"nextCursor":"<p2>","ttlMs":9000}`))
	require.NoError(t, err)
	require.True(t, more)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"g-2","method":"tools/list","params":{"cursor":"<p2>"}}`, string(p.Request(json.RawMessage(`"g-2"`))))
	more, err = p.Add(json.RawMessage(` { "tools" : [ ] , "nextCursor":"p3","x":1,"ttlMs":4000.5 } `))
	require.NoError(t, err)
	require.True(t, more)
	more, err = p.Add(json.RawMessage(`{"resultType":"complete","nextCursor":null,"tools":[{"name":"b"},{"name":"c","outputSchema":{}}]}`))
	require.NoError(t, err)
	require.False(t, more)
	specs, err := p.Specs("srv")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, names(specs))
	require.Equal(t, `{"n":1.50}`, string(specs[0].InputSchema))
	require.Equal(t, "srv", specs[0].Server)
	require.True(t, specs[2].OutputSchema)
	fresh, ok := p.Fresh()
	require.True(t, ok)
	require.Equal(t, 4*time.Second, fresh.Truncate(time.Second), "the shortest counts")
}

func TestToolDeclaredOnTwoPagesIsBroken(t *testing.T) {
	p := NewToolPages(nil, PageLimits{})
	_, err := p.Add(json.RawMessage(`{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"2"}`))
	require.NoError(t, err)
	_, err = p.Add(json.RawMessage(`{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b"}]}`))
	require.NoError(t, err)
	specs, err := p.Specs("")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, names(specs))
	require.Error(t, specs[0].Broken)
	require.NoError(t, specs[1].Broken)
}

func TestNoTools(t *testing.T) {
	specs, err := NewToolPages(nil, PageLimits{}).Specs("")
	require.NoError(t, err)
	require.Empty(t, specs)
}

func TestBadPages(t *testing.T) {
	for name, result := range map[string]string{
		"an array":          `[]`,
		"nothing":           ``,
		"no tools":          `{}`,
		"tools in capitals": `{"Tools":[]}`,
		"tools null":        `{"tools":null}`,
		"tools an object":   `{"tools":{}}`,
		"tools twice":       `{"tools":[],"tools":[{"name":"a"}]}`,
		"cursor twice":      `{"tools":[],"nextCursor":"a","nextCursor":"b"}`,
		"cursor a number":   `{"tools":[],"nextCursor":1}`,
		"input required":    `{"tools":[],"resultType":"input_required"}`,
		"cut":               `{"tools":[{"name":"a"}`,
	} {
		_, err := NewToolPages(nil, PageLimits{}).Add(json.RawMessage(result))
		require.Error(t, err, name)
		require.Contains(t, err.Error(), "page 1")
	}
}

func TestPageLimits(t *testing.T) {
	endless := func(p *ToolPages) (pages int, err error) {
		for more := true; more && err == nil; pages++ {
			more, err = p.Add(json.RawMessage(fmt.Sprintf(`{"tools":[{"name":"t%d"},{"name":"u%d"}],"nextCursor":"c%d"}`, pages, pages, pages)))
		}
		return pages, err
	}
	pages, err := endless(NewToolPages(nil, PageLimits{Pages: 3}))
	require.ErrorContains(t, err, "more than 3 pages")
	require.Equal(t, 3, pages)
	_, err = endless(NewToolPages(nil, PageLimits{Bytes: 100}))
	require.ErrorContains(t, err, "more than 100 bytes")
	_, err = endless(NewToolPages(nil, PageLimits{}))
	require.Error(t, err, "the defaults bound it too")

	p := NewToolPages(nil, PageLimits{})
	_, err = p.Add(json.RawMessage(`{"tools":[],"nextCursor":"a"}`))
	require.NoError(t, err)
	_, err = p.Add(json.RawMessage(`{"tools":[],"nextCursor":"a"}`))
	require.ErrorContains(t, err, "nextCursor")

	p = NewToolPages(nil, PageLimits{Tools: 2})
	_, err = p.Add(json.RawMessage(`{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}]}`))
	require.NoError(t, err)
	specs, err := p.Specs("")
	require.ErrorContains(t, err, "more than 2")
	require.Nil(t, specs)
}

func TestStatelessMeta(t *testing.T) {
	m, fault := Read([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":5,"io.modelcontextprotocol/logLevel":"debug",`+
		`"io.modelcontextprotocol/clientCapabilities":{ "roots":{} },"io.modelcontextprotocol/protocolVersion":"2026-07-28","traceparent":"x"}}}`), Limits{})
	require.Nil(t, fault)
	meta := StatelessMeta(m)
	require.Equal(t, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{ "roots":{} }}`, string(meta))
	p := NewToolPages(meta, PageLimits{})
	_, err := p.Add(json.RawMessage(`{"tools":[],"nextCursor":"n"}`))
	require.NoError(t, err)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":`+string(meta)+`,"cursor":"n"}}`, string(p.Request(json.RawMessage(`1`))))

	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	} {
		m, fault := Read([]byte(line), Limits{})
		require.Nil(t, fault)
		require.Nil(t, StatelessMeta(m), line)
	}
}

func TestReadServer(t *testing.T) {
	ms, batch := ReadServer([]byte(`{"result":{"tools":[]},"jsonrpc":"2.0","id":"g-1"}` + "\r\n"))
	require.False(t, batch)
	require.Len(t, ms, 1)
	require.True(t, ms[0].IsResponse())
	require.Equal(t, `"g-1"`, string(ms[0].ID))
	require.Equal(t, `{"tools":[]}`, string(ms[0].Result))

	ms, _ = ReadServer([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`))
	require.Equal(t, CodeMethodNotFound, ms[0].ErrorCode())
	require.True(t, ms[0].IsResponse())

	ms, _ = ReadServer([]byte(`{"jsonrpc":"2.0","method":"notifications\/tools\/list_changed"}`))
	require.Equal(t, ToolsListChanged, ms[0].Method)
	require.False(t, ms[0].IsResponse())

	ms, _ = ReadServer([]byte(`{"jsonrpc":"2.0","id":"g-1","method":"roots/list"}`))
	require.False(t, ms[0].IsResponse(), "a server's request is not an answer, whatever its id")

	ms, batch = ReadServer([]byte(`[{"id":1,"result":{}}, "x" ,{"method":"m"}]`))
	require.True(t, batch)
	require.Len(t, ms, 3)
	require.Equal(t, `[{"id":1,"result":{}},"x",{"method":"m"}]`, string(Batch(ms)))

	for _, line := range []string{"", " ", "Listening on port 3000", `{"id":1,"result":`, "[1,", `"x"`, "{", strings.Repeat("[", 20_000)} {
		ms, batch := ReadServer([]byte(line))
		require.Empty(t, ms, line)
		require.False(t, batch, line)
	}
}
