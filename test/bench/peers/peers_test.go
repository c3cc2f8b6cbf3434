package peers_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/test/bench/peers"
)

// Each peer lets the arguments through and refuses each kind of bad ones, or the times
// would compare different work.
func TestPeersDoTheSameWork(t *testing.T) {
	cel, err := peers.CEL(peers.Settings(1000))
	require.NoError(t, err)
	cedar, err := peers.Cedar(1000)
	require.NoError(t, err)
	all := map[string]peers.Decider{"CEL": cel, "Cedar": cedar, "Go": peers.Hand(1000)}
	bad := []map[string]any{
		{"target": "/etc/x.csv"}, {"target": "/reports/../x.csv"}, {"target": "/reports/.x.csv"}, {"target": "/reports/x.sh"},
		{"visibility": "public"}, {"state": "draft"},
		{"period": map[string]any{"from": "2026-09-30T00:00:00Z", "to": "2026-07-01T00:00:00Z"}},
		{"period": map[string]any{"from": "2025-07-01T00:00:00Z", "to": "2026-07-01T00:00:00Z"}},
		{"mirror": "10.1.2.3"}, {"author": "nobody"}, {"department": "none"}, {"pages": 201.0},
		{"readers": []any{"eve@theirs.example"}}, {"reply_to": "eve@theirs.example"}, {"link": "ftp://x"},
	}
	for name, decide := range all {
		good, err := peers.Decoded(peers.Arguments)
		require.NoError(t, err)
		got, err := decide(good)
		require.NoError(t, err, name)
		require.Empty(t, got, name)
		for _, change := range bad {
			args := maps.Clone(good)
			maps.Copy(args, change)
			got, err := decide(args)
			require.NoError(t, err, "%s %v", name, change)
			require.NotEmpty(t, got, "%s %v", name, slices.Collect(maps.Keys(change)))
		}
	}
	require.Len(t, peers.Arguments, 363)
}
