package inputschema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

// must compiles a schema.
func must(t testing.TB, schema string, o Options) *Schema {
	t.Helper()
	s, err := Compile([]byte(schema), o)
	require.NoError(t, err, schema)
	return s
}

// object reads arguments as the gate does.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	v, err := strictjson.ParseObject([]byte(text), strictjson.Limits{})
	require.NoError(t, err, cut(text, 200))
	return v
}

// texts writes violations for comparison: "pointer: message".
func texts(violations []Violation) []string {
	var all []string
	for _, v := range violations {
		all = append(all, v.Pointer+": "+v.Message)
	}
	return all
}
