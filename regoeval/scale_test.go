package regoeval_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Helpers that use other helpers twice, forty deep: what follows from one is worked
// out once.
func TestContractOfDeepHelpers(t *testing.T) {
	var b strings.Builder
	b.WriteString("package tools.x\n\ndeny contains sprintf(\"%v %v\", [h0, f0(input.arguments)]) if {\n\tc0\n\tnot startswith(h0, f0(input.arguments))\n\tregex.match(p0(\"a\"), h0)\n}\n")
	for i := range 40 {
		fmt.Fprintf(&b, "\nh%[1]d := concat(\"\", [h%[2]d, h%[2]d])\n\nc%[1]d if {\n\tc%[2]d\n\tc%[2]d\n}\n\nf%[1]d(a) := concat(\"\", [f%[2]d(a), f%[2]d(a)])\n\np%[1]d(a) := concat(\"\", [p%[2]d(a), p%[2]d(a)])\n", i, i+1)
	}
	b.WriteString("\nh40 := input.tool.name\n\nc40 if input.arguments.n > 3\n\nf40(a) := object.get(a, \"v\", \"\")\n\np40(a) := a\n")
	started := time.Now()
	_, err := load(t, map[string]string{"a.rego": b.String()})
	require.NoError(t, err)
	require.Less(t, time.Since(started), 10*time.Second)
}
