package mcpwire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSameID(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`1`, `1`, true}, {`1`, `1.0`, true}, {`1e2`, `100`, true}, {`"a"`, `"\u0061"`, true},
		{`9007199254740993`, `9007199254740992`, true}, // as readers say that have floating point only
		{`1`, `2`, false}, {`1`, `"1"`, false}, {`"a"`, `"A"`, false}, {``, `1`, false}, {`null`, `1`, false}, {`"NaN"`, `"nan"`, false},
		{`9007199254740993`, `9007199254740990`, false},
	} {
		require.Equal(t, c.same, SameID(json.RawMessage(c.a), json.RawMessage(c.b)), "%s %s", c.a, c.b)
		require.Equal(t, c.same, SameID(json.RawMessage(c.b), json.RawMessage(c.a)), "%s %s", c.b, c.a)
	}
}
