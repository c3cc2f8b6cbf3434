package decorator

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

func TestPlainIntegers(t *testing.T) {
	for text, want := range map[string]string{
		`{"n":1.0}`: `{"n":1}`, `[1e2,-2.50e1,0.0,-0.0]`: `[100,-25,0,0]`, `{"a":{"b":[1.5,1.0]}}`: `{"a":{"b":[1.5,1]}}`,
		`{"s":"1.0"}`: "", `{"n":1}`: "", `{"n":1.5}`: "", `{"n":1e-2}`: "", `{"n":1e999999999}`: "", `{"n":1.0`: "", ``: "",
		`{"\u0061":9.007199254740993e15}`: `{"\u0061":9007199254740993}`,
	} {
		got, changed := plainIntegers([]byte(text))
		require.Equal(t, want != "", changed, text)
		if changed {
			require.Equal(t, want, strings.TrimSpace(string(got)))
		}
	}
}

// What a handler reads is what was decided, or it reads nothing.
func FuzzDecodeExactly(f *testing.F) {
	for _, seed := range []string{`{"n":1}`, `{"n":9007199254740993}`, `{"n":1.0,"f":0.1}`, `{"n":1e3,"f":1e308}`, `{"f":9007199254740993}`, `{"N":1}`, `{"x":[1.50,"é",null]}`, `{"n":-0}`, `{"n":9223372036854775808}`, `{`, `null`, "{\"\xff\":1}"} {
		f.Add([]byte(seed))
	}
	type target struct {
		N int64   `json:"n"`
		F float64 `json:"f"`
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		decided, err := strictjson.ParseObject(text, strictjson.Limits{})
		all, anyErr := decodeExactly[map[string]any](text)
		some, someErr := decodeExactly[target](text)
		if err != nil {
			return // the gate lets no such call through; it is enough that nothing panics
		}
		require.NoError(t, anyErr)
		require.Equal(t, decided, all)
		if someErr != nil {
			return
		}
		if n, ok := decided["n"].(json.Number); ok {
			requireSame(t, n, new(big.Rat).SetInt64(some.N))
		}
		if v, ok := decided["f"].(json.Number); ok {
			written, err := json.Marshal(some.F)
			require.NoError(t, err)
			r, ok := new(big.Rat).SetString(string(written))
			require.True(t, ok)
			requireSame(t, v, r)
		}
	})
}

func requireSame(t *testing.T, sent json.Number, got *big.Rat) {
	t.Helper()
	r, ok := new(big.Rat).SetString(sent.String())
	require.True(t, ok)
	require.Zero(t, r.Cmp(got), "%s was sent, %s was read", sent, got)
}
