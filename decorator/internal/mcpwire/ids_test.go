package mcpwire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIDKey(t *testing.T) {
	same := [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`, `0.1E1`},
		{`"1"`, `"\u0031"`},
		{`0`, `-0`, `0.0`, `-0e5`},
		{`"a/b"`, `"a\/b"`},
		{`9007199254740993`, `9007199254740993.0`},
		{`9007199254740992`},
		{`28.5`, `285e-1`},
		{`""`},
		{`-1`},
	}
	keys := map[string]int{}
	for i, group := range same {
		for _, id := range group {
			require.Equal(t, IDKey(json.RawMessage(group[0])), IDKey(json.RawMessage(id)), id)
		}
		keys[IDKey(json.RawMessage(group[0]))] = i
	}
	require.Len(t, keys, len(same), "different ids must have different keys")
	require.Empty(t, IDKey(nil))
	require.NotPanics(t, func() { IDKey(json.RawMessage(`1e999999999`)) })
}

func TestIDText(t *testing.T) {
	require.Equal(t, "a/b", IDText(json.RawMessage(`"a\/b"`)))
	require.Equal(t, "1.50", IDText(json.RawMessage(`1.50`)))
	require.Equal(t, "", IDText(nil))
}

func TestOwnIDs(t *testing.T) {
	ids, others := NewOwnIDs(), NewOwnIDs()
	require.NotEqual(t, ids.Prefix(), others.Prefix())
	first, second := ids.Next(), ids.Next()
	require.NotEqual(t, first, second)
	require.True(t, ids.Owns(first))
	require.False(t, others.Owns(first))
	require.False(t, ids.Owns(json.RawMessage(`7`)))
	require.False(t, ids.Owns(nil))
	require.Contains(t, string(first), ids.Prefix())

	own := string(first)
	escaped := `"\u0072` + own[2:]
	for _, used := range []string{
		`{"jsonrpc":"2.0","id":` + own + `,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":` + escaped + `,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":` + own + `,"result":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + own + `}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + escaped + `}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":` + own + `}}}`,
	} {
		m, fault := Read([]byte(used), Limits{})
		require.Nil(t, fault, used)
		require.True(t, ids.UsedBy(m), used)
		require.False(t, others.UsedBy(m), used)
		fault = OwnIDFault(m)
		require.Equal(t, CodeInvalidRequest, fault.Code)
		require.Equal(t, m.Kind == Request, fault.ID != nil)
	}
	for _, free := range []string{
		`{"jsonrpc":"2.0","id":"regogate-1","method":"ping"}`,
		`{"jsonrpc":"2.0","id":"` + strings.ToLower(ids.Prefix()) + `1","method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"requestId":` + own + `}}}`,
	} {
		m, fault := Read([]byte(free), Limits{})
		require.Nil(t, fault, free)
		require.False(t, ids.UsedBy(m), free)
	}
}
