package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/test/bench/measure"
)

// The program runs this one again for the processes that it measures.
func TestMain(m *testing.M) {
	if role, err := runRole(os.Args[1:]); role {
		if err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// Every section measures what it says it does: each subject runs and gives the answer
// that it should.
func TestEverySectionRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: skipping one short run of every section")
	}
	for _, s := range sections {
		t.Run(s.name, func(t *testing.T) {
			r, err := s.run(context.Background(), options{Options: measure.Options{Repeats: 2, Slice: time.Millisecond}, dir: t.TempDir()})
			require.NoError(t, err)
			require.NotEmpty(t, r.results)
			names := map[string]bool{}
			for _, x := range r.results {
				require.NoError(t, x.Err, x.Name)
				require.Positive(t, x.Median(), x.Name)
				names[x.Name] = true
			}
			for _, c := range r.compare {
				require.True(t, names[c.of] && names[c.to], "%s / %s", c.of, c.to)
			}
		})
	}
}

// A yardstick that can't run is named, and there is no ratio for it.
func TestYardstickThatCantRun(t *testing.T) {
	results := measure.Interleaved(measure.Options{Repeats: 2, Slice: time.Millisecond}, []measure.Subject{
		{Name: "ours", Run: func() error { return nil }},
		{Name: "theirs", Run: func() error { return errors.New("no such program") }},
	})
	var out strings.Builder
	report{results: results, compare: []comparison{{of: "ours", to: "theirs", goal: 1}}}.print(&out, "title")
	require.Contains(t, out.String(), "| theirs | can't run: theirs: no such program |")
	require.Contains(t, out.String(), "| ours / theirs | none: one of them can't run |")
	require.NotContains(t, out.String(), "met")
}

func TestRatioIsOfTheSameRepeat(t *testing.T) {
	a := measure.Result{Times: []time.Duration{10, 1000, 12}}
	b := measure.Result{Times: []time.Duration{5, 500, 6}}
	got, ok := measure.Ratio(a, b)
	require.True(t, ok)
	require.InDelta(t, 2, got, 1e-9, "a repeat that was slow for both doesn't show")
	_, ok = measure.Ratio(a, measure.Result{Err: errors.New("x")})
	require.False(t, ok)
}

// BenchmarkDecision has the subjects of the section "decision" as Go benchmarks, for
// profiles.
func BenchmarkDecision(b *testing.B) { benchmark(b, "decision") }

// BenchmarkLarge has those of the section "large".
func BenchmarkLarge(b *testing.B) { benchmark(b, "large") }

// BenchmarkRules has those of the section "rules".
func BenchmarkRules(b *testing.B) { benchmark(b, "rules") }

func benchmark(b *testing.B, name string) {
	list, stop, err := benchSubjects(context.Background(), b.TempDir(), name)
	require.NoError(b, err)
	defer stop()
	for _, s := range list {
		b.Run(s.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
