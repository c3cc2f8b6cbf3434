package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/test/bench/measure"
	"github.com/regogate/regogate/test/bench/peers"
)

// rulesWith asks the deny set alone, as it is for a tool with that schema.
func rulesWith(rules policy.Ruleset, schema []byte, arguments string) (measure.Subject, error) {
	in, err := capture(arguments)
	if err != nil {
		return measure.Subject{}, err
	}
	gate, err := policy.NewGate(policy.Options{})
	if err != nil {
		return measure.Subject{}, err
	}
	deny := rules.Cover(gate.Tool(policy.ToolSpec{Name: tool, InputSchema: schema})).Deny
	if deny == nil {
		return measure.Subject{}, errNoDeny
	}
	ctx := context.Background()
	return measure.Subject{Run: func() error {
		if refusals, err := deny.Validate(ctx, in); err != nil || len(refusals) > 0 {
			return fmt.Errorf("%w: %v %w", errDecision, refusals, err)
		}
		return nil
	}}, nil
}

// manyTools are so many copies of the policy, the first under its own name.
func manyTools(n int) map[string]string {
	files := map[string]string{"policy.rego": policySource}
	for i := 1; i < n; i++ {
		files[fmt.Sprintf("tool%04d.rego", i)] = strings.Replace(policySource, "package tools."+tool, fmt.Sprintf("package tools.tool_%04d", i), 1)
	}
	return files
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func loadSection(ctx context.Context, o options) (report, error) {
	dir, err := folder(o, "load")
	if err != nil {
		return report{}, err
	}
	if err := writeBundle(dir, manyTools(1000), peers.Settings(authors)); err != nil {
		return report{}, err
	}
	var r report
	for _, e := range []regoeval.Engine{regoeval.Topdown, regoeval.Compiled} {
		took, most, err := loads(ctx, dir, e, min(3, o.Repeats))
		if err != nil {
			return report{}, err
		}
		r.results = append(r.results, took)
		r.notes = append(r.notes, fmt.Sprintf("%s: heap after a collection %.0f MB (goal ≤ 250 MB), median load %s (goal ≤ 6 s), %s for each tool.",
			e, float64(most)/1e6, short(took.Median()), short(took.Median()/1000)))
	}
	one, err := folder(o, "load1")
	if err != nil {
		return report{}, err
	}
	if err := writeBundle(one, manyTools(1), peers.Settings(authors)); err != nil {
		return report{}, err
	}
	cost, err := compileCost(ctx, one)
	if err != nil {
		return report{}, err
	}
	r.notes = append(r.notes, fmt.Sprintf("Compiling one tool's 16 rules adds %s to its load (goal ≤ 3 ms).", short(cost)))
	rest, swapping, err := swaps(ctx, o)
	if err != nil {
		return r, err
	}
	r.results = append(r.results, rest, swapping)
	r.notes = append(r.notes, fmt.Sprintf("A decision's 99th percentile: %s at rest, %s while rulesets are swapped 100 times a second: %.2f (goal ≤ 2).",
		short(rest.Quantile(0.99)), short(swapping.Quantile(0.99)), float64(swapping.Quantile(0.99))/float64(rest.Quantile(0.99))))
	return r, nil
}

// loads times loading a bundle and says what the ruleset takes.
func loads(ctx context.Context, dir string, e regoeval.Engine, repeats int) (took measure.Result, most uint64, err error) {
	took.Name = fmt.Sprintf("loading 1,000 tools of 16 rules, %s", e)
	before := heap()
	for range max(1, repeats) {
		start := time.Now()
		rules, err := load(ctx, dir, e)
		if err != nil {
			return took, most, err
		}
		took.Times = append(took.Times, time.Since(start))
		if after := heap(); after > before {
			most = max(most, after-before)
		}
		runtime.KeepAlive(rules)
	}
	return took, most, nil
}

// compileCost is what the compiled engine adds to the load of one tool: the median of
// differences between loads in turn.
func compileCost(ctx context.Context, dir string) (time.Duration, error) {
	var more []time.Duration
	for range 15 {
		var took [2]time.Duration
		for i, e := range []regoeval.Engine{regoeval.Topdown, regoeval.Compiled} {
			start := time.Now()
			if _, err := load(ctx, dir, e); err != nil {
				return 0, err
			}
			took[i] = time.Since(start)
		}
		more = append(more, took[1]-took[0])
	}
	slices.Sort(more)
	return more[len(more)/2], nil
}

// swaps times single decisions at rest and while another goroutine swaps rulesets that
// are loaded already: what Gate.Use costs those who decide.
func swaps(ctx context.Context, o options) (rest, swapping measure.Result, err error) {
	dir, err := folder(o, "swap")
	if err != nil {
		return rest, swapping, err
	}
	f, err := newFixture(ctx, dir, map[string]string{"policy.rego": policySource}, peers.Settings(authors))
	if err != nil {
		return rest, swapping, err
	}
	other, err := load(ctx, dir, regoeval.Topdown)
	if err != nil {
		return rest, swapping, err
	}
	gate, err := policy.NewGate(policy.Options{})
	if err != nil {
		return rest, swapping, err
	}
	call := policy.Call{Tool: gate.Tool(policy.ToolSpec{Name: tool, InputSchema: inputSchema}), Arguments: []byte(peers.Arguments)}
	rest.Name, swapping.Name = "one decision at rest", "one decision during swaps"
	sets := []policy.Ruleset{f.rules, other}
	gate.Use(sets[0])
	var swap atomic.Bool
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 1; ; i++ {
			select {
			case <-done:
				return
			case <-tick.C:
				if swap.Load() {
					gate.Use(sets[i%2])
				}
			}
		}
	})
	for range 20 { // in turn, so that noise falls on both
		for _, during := range []*measure.Result{&rest, &swapping} {
			swap.Store(during == &swapping)
			for range 500 {
				start := time.Now()
				if d := gate.Decide(ctx, call); !d.Allowed {
					return rest, swapping, fmt.Errorf("%w: %v", errDecision, d.Refusals)
				}
				during.Times = append(during.Times, time.Since(start))
			}
		}
	}
	close(done)
	wg.Wait()
	slices.Sort(rest.Times)
	slices.Sort(swapping.Times)
	return rest, swapping, nil
}

func parallelSection(ctx context.Context, o options) (report, error) {
	dir, err := folder(o, "parallel")
	if err != nil {
		return report{}, err
	}
	f, err := newFixture(ctx, dir, map[string]string{"policy.rego": policySource}, peers.Settings(authors))
	if err != nil {
		return report{}, err
	}
	r := report{}
	var list []measure.Subject
	for _, x := range []struct {
		engine regoeval.Engine
		rules  policy.Ruleset
	}{{regoeval.Topdown, f.rules}, {regoeval.Compiled, f.compiled}} {
		one, err := decide("", x.rules, inputSchema, peers.Arguments)
		if err != nil {
			return report{}, err
		}
		alone, together := by(x.engine, "640 decisions by one goroutine"), by(x.engine, "640 decisions by 64 goroutines")
		list = append(list, measure.Subject{Name: alone, Run: times(one.Run, batch)}, measure.Subject{Name: together, Run: inParallel(one.Run)})
		r.compare = append(r.compare, comparison{of: alone, to: together, goal: 1.4, least: true})
	}
	r.results = measure.Interleaved(o.Options, list)
	return r, nil
}

const batch = 640

// times does something n times.
func times(do func() error, n int) func() error {
	return func() error {
		for range n {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
}

// inParallel does something batch times, by 64 goroutines.
func inParallel(do func() error) func() error {
	return func() error {
		var wg sync.WaitGroup
		errs := make(chan error, 64)
		for range 64 {
			wg.Go(func() {
				if err := times(do, batch/64)(); err != nil {
					errs <- err
				}
			})
		}
		wg.Wait()
		close(errs)
		return <-errs
	}
}
