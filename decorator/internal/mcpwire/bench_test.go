package mcpwire

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d", size), func(b *testing.B) {
			var args strings.Builder
			for i := 0; args.Len() < size; i++ {
				fmt.Fprintf(&args, `"field_%d":"some text that is neither short nor long",`, i)
			}
			line := call(`{` + args.String() + `"last":[1,2,3]}`)
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if _, fault := Read(line, Limits{}); fault != nil {
					b.Fatal(fault)
				}
			}
		})
	}
}
