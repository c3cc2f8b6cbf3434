package bundles_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
)

func BenchmarkLoadStarter(b *testing.B) {
	for b.Loop() {
		_, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{bundles.Starter}})
		require.NoError(b, err)
	}
}
