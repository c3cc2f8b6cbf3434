package bundles_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
)

// While revisions are swapped, each decision is made by one of them, and none is lost.
func TestDecisionsDuringSwaps(t *testing.T) {
	decisions, swaps := int64(200_000), 100
	if raceDetector || testing.Short() {
		decisions, swaps = 5_000, 10
	}
	server := serveBundles(t)
	publish := func(n int) { server.of(pack(t, generation(n)), fmt.Sprintf(`"%d"`, n)) }
	publish(1)
	w := watch(t, bundles.WatchOptions{Options: bundles.Options{Bundles: []string{server.bundle()}, Poll: quickPoll()}})

	var made, wrong atomic.Int64
	var problem atomic.Value
	done := make(chan struct{})
	var deciding sync.WaitGroup
	for range 4 {
		deciding.Go(func() {
			last := 0
			for swapped := false; !swapped || made.Load() < decisions; {
				n, err := whole(w.decide(t, 1))
				if err == nil && n < last {
					err = fmt.Errorf("generation %d after %d", n, last)
				}
				if err != nil {
					wrong.Add(1)
					problem.Store(err.Error())
				}
				last = n
				made.Add(1)
				select {
				case <-done:
					swapped = true
				default:
				}
			}
		})
	}
	for n := 2; n <= swaps+1; n++ {
		for made.Load() < decisions*int64(n-1)/int64(swaps+1) { // spread over the decisions
			time.Sleep(time.Millisecond)
		}
		publish(n)
		w.until(t, fmt.Sprintf("g%d", n))
	}
	close(done)
	deciding.Wait()
	t.Logf("%d decisions during %d swaps, %d wrong", made.Load(), swaps, wrong.Load())
	require.Zero(t, wrong.Load(), "%v", problem.Load())
	require.GreaterOrEqual(t, made.Load(), decisions)
	require.Equal(t, int64(swaps+1), w.Status().Activations)
}
