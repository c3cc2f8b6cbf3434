package closures

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/version"
	"github.com/stretchr/testify/require"
)

// checkedOPA is the version of OPA whose plans were checked.
const checkedOPA = "1.22.4"

func TestTheVersionOfOPA(t *testing.T) {
	require.Equal(t, checkedOPA, version.Version, `OPA's plans, and topdown, were checked for another version. Before this constant is changed, run
  go test ./regoeval/internal/closures
  REGOGATE_FUZZ_POLICIES=100000 REGOGATE_FUZZ_SECONDS=10000 REGOGATE_FUZZ_SEED=N go test -timeout 4h -run '^TestDifferential$' -v ./regoeval/internal/closures
  REGOGATE_FUZZ_CALLS=20000 go test -timeout 1h -run EnginesAgree -v ./regoeval ./bundles
make each difference a test of its name, and read docs/adr/0021 again: a planner that is repaired needs no repair here.`)
}
