package policy_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

// generation is a ruleset whose every part knows which generation it belongs to.
type generation int

func (n generation) Revision() string { return strconv.Itoa(int(n)) }

func (n generation) Cover(*policy.Tool) policy.Coverage {
	say := policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) {
		return []policy.Refusal{{Message: strconv.Itoa(int(n))}}, nil
	})
	return policy.Coverage{Deny: say, Warn: say, Own: true}
}

// While rulesets are swapped, every decision is made by exactly one of them.
func TestDecisionBelongsToOneRuleset(t *testing.T) {
	g := newGate(t, policy.Options{}, generation(0))
	tool := readTool(g)
	stop := make(chan struct{})
	var swaps atomic.Int64
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
				g.Use(generation(n))
				swaps.Add(1)
				time.Sleep(100 * time.Microsecond)
			}
		}
	})
	arguments := []string{`{"path":"a"}`, `{"path":7}`, `{`, `{"path":"a","n":1}`, `{"path":"a","PATH":"b"}`}
	var mixed, total atomic.Int64
	var callers sync.WaitGroup
	for i := range 100 {
		callers.Go(func() {
			for j := range 1000 {
				d := g.Decide(context.Background(), call(tool, arguments[(i+j)%len(arguments)]))
				total.Add(1)
				if d.Allowed || d.Code() == policy.Denied && (d.Refusals[0].Message != d.Revision || d.Warnings[0].Message != d.Revision) {
					mixed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	swapper.Wait()
	require.EqualValues(t, 100_000, total.Load())
	require.Zero(t, mixed.Load())
	require.Greater(t, swaps.Load(), int64(10))
}
