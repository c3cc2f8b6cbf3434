package inputschema

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What the check of arguments of a usual size may allocate.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector pools drop what they are given")
	}
	s, args := must(t, mediumSchema, Options{}), object(t, mediumArgs)
	allocs := testing.AllocsPerRun(200, func() {
		if out := s.Check(args); !out.OK {
			t.Fatal(out)
		}
	})
	t.Logf("%.0f allocations", allocs)
	require.LessOrEqual(t, allocs, 95.0)
}
