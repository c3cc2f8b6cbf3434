package bundles_test

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// zipped is text in a gzip stream.
func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return buf.Bytes()
}

// incompressible is n bytes that look like a gzip stream at the beginning only.
func incompressible(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	out := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}
	for len(out) < n {
		out = append(out, byte(random.Uint32()))
	}
	return out
}
