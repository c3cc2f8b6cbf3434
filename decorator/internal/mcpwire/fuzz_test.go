package mcpwire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// lenientMessage is how a server written in Go reads a message: names by letter case
// only loosely, the last of two.
type lenientMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      json.RawMessage
		Arguments json.RawMessage
	}
	Result json.RawMessage
	Error  json.RawMessage
}

// What Read accepts is what a lenient reader takes it for.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"accepted.jsonl", "refused.jsonl"} {
		for _, c := range readCases(f, file) {
			f.Add(c.bytes(f))
		}
	}
	f.Add(call(nested(12_000)))
	f.Fuzz(func(t *testing.T, line []byte) {
		before := string(line)
		m, fault := Read(line, Limits{Depth: 40, Multiline: true})
		require.Equal(t, before, string(line))
		require.True(t, (m == nil) != (fault == nil))
		if fault != nil {
			require.True(t, json.Valid(fault.Answer()))
			return
		}
		if m.IsCall() && !json.Valid(line) {
			return // arguments deeper than encoding/json reads, or not UTF-8: the gate refuses them
		}
		var got lenientMessage
		require.NoError(t, json.Unmarshal(line, &got))
		require.Equal(t, got.Method, m.Method)
		require.Equal(t, string(got.ID), string(m.ID))
		require.Equal(t, m.Kind == Response, got.Result != nil || got.Error != nil)
		if m.Kind == Request && m.IsCall() {
			var name string
			require.NoError(t, json.Unmarshal(got.Params.Name, &name))
			require.Equal(t, name, m.Tool)
			want := string(got.Params.Arguments)
			if want == "" || want == "null" {
				want = "{}"
			}
			require.Equal(t, want, string(m.Arguments()))
		}
		_ = IDKey(m.ID)
	})
}

// What a server says never stops the gate.
func FuzzReadServer(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}],"nextCursor":"x","ttlMs":5}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"id":1,"error":{"code":-32601}},3]`))
	f.Add([]byte(`Server listening`))
	f.Fuzz(func(t *testing.T, line []byte) {
		messages, batch := ReadServer(line)
		for i := range messages {
			_ = messages[i].ErrorCode()
			if messages[i].Result != nil {
				p := NewToolPages(nil, PageLimits{Pages: 2})
				if _, err := p.Add(messages[i].Result); err == nil {
					_, _ = p.Specs("s")
				}
			}
		}
		if batch {
			again, _ := ReadServer(Batch(messages))
			require.Len(t, again, len(messages))
		}
	})
}
