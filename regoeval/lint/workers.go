package lint

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/internal/typecheck"
)

func memories() []*typecheck.Memory {
	out := make([]*typecheck.Memory, runtime.GOMAXPROCS(0))
	for i := range out {
		out[i] = typecheck.NewMemory()
	}
	return out
}

// eachTool calls check for every tool whose schema can be used, on one goroutine for each
// memory. A panic of one of them is one of the caller's.
func (v *verifier) eachTool(memories []*typecheck.Memory, check func(i int, t *policy.Tool, m *typecheck.Memory)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	failed := make([]error, len(memories))
	for n, m := range memories {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					failed[n] = fmt.Errorf("%v\n%s", p, debug.Stack())
				}
			}()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(v.Tools) {
					return
				}
				if t := v.Tools[i]; t.SchemaErr() == nil {
					check(i, t, m)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			panic(err)
		}
	}
}
