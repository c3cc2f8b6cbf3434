// Package measure times several subjects in turn, so that what disturbs the machine
// disturbs all of them alike, and says how they compare.
//
// # Limits
//
// Times are wall times of one process on a machine that may be shared: compare ratios
// within one run, not times of different runs.
package measure

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// A Subject is something to time. Run does it once; an error ends its measurement.
type Subject struct {
	Name string
	Run  func() error
}

// A Result is what was found of one subject. Err says why there is nothing.
type Result struct {
	Name   string
	Times  []time.Duration // of one run, by repeat
	Allocs float64         // of one run; 0 when AllocsPerRun can't tell
	Err    error
}

// Options say how long to measure. Zeros mean 10 repeats of 100 ms.
type Options struct {
	Repeats int
	Slice   time.Duration // of one subject in one repeat
}

// Interleaved measures every subject Repeats times, in another order each time.
func Interleaved(o Options, subjects []Subject) []Result {
	if o.Repeats <= 0 {
		o.Repeats = 10
	}
	if o.Slice <= 0 {
		o.Slice = 100 * time.Millisecond
	}
	results := make([]Result, len(subjects))
	batch := make([]int, len(subjects))
	for i, s := range subjects {
		results[i].Name = s.Name
		batch[i], results[i].Err = calibrate(s, o.Slice)
	}
	order := rand.Perm(len(subjects))
	for range o.Repeats {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			if results[i].Err != nil {
				continue
			}
			runtime.GC() // what one subject left is not another's to collect
			start := time.Now()
			for range batch[i] {
				if err := subjects[i].Run(); err != nil {
					results[i].Err = err
					break
				}
			}
			results[i].Times = append(results[i].Times, time.Since(start)/time.Duration(batch[i]))
		}
	}
	return results
}

// calibrate finds how many runs fill a slice. On a busy machine any of its tries may be
// held up, so that the fastest says what a run takes: with too few runs in a slice, one
// such pause would count as much as all of them.
func calibrate(s Subject, slice time.Duration) (int, error) {
	fastest := float64(slice)
	for n := 1; ; n *= 2 {
		start := time.Now()
		for range n {
			if err := s.Run(); err != nil {
				return 0, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		fastest = min(fastest, max(1, float64(time.Since(start))/float64(n)))
		if float64(n)*fastest >= float64(slice)/4 {
			return max(1, int(float64(slice)/fastest)), nil
		}
	}
}

// Quantile returns the q-th quantile of the times, 0 when there are none.
func (r Result) Quantile(q float64) time.Duration {
	if len(r.Times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(r.Times))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// Median is the middle of the times.
func (r Result) Median() time.Duration { return r.Quantile(0.5) }

// Ratio compares two subjects repeat by repeat and returns the median of the ratios:
// noise that lasts longer than a repeat cancels out. It is false when either has no
// times.
func Ratio(a, b Result) (float64, bool) {
	if a.Err != nil || b.Err != nil || len(a.Times) == 0 || len(a.Times) != len(b.Times) {
		return 0, false
	}
	ratios := make([]float64, len(a.Times))
	for i := range ratios {
		ratios[i] = float64(a.Times[i]) / float64(max(1, b.Times[i]))
	}
	slices.Sort(ratios)
	if n := len(ratios); n%2 == 0 {
		return (ratios[n/2-1] + ratios[n/2]) / 2, true
	}
	return ratios[len(ratios)/2], true
}
