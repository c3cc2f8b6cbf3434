package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/regogate/regogate/test/bench/measure"
	"github.com/regogate/regogate/test/bench/peers"
)

// An axis is one way in which a gate grows.
type axis struct {
	name, title, unit string
	at                []int
	// subjects makes, for one size, the lines to draw.
	subjects func(ctx context.Context, o options, size int) ([]measure.Subject, error)
}

var axes = []axis{
	{"tools", "Tools of 16 rules each", "tools", []int{1, 10, 100, 1000}, func(ctx context.Context, o options, n int) ([]measure.Subject, error) {
		return both(ctx, o, fmt.Sprintf("tools%d", n), manyTools(n), authors, peers.Arguments)
	}},
	{"rules", "Rules of one tool", "rules", []int{1, 10, 100, 1000}, func(ctx context.Context, o options, n int) ([]measure.Subject, error) {
		return both(ctx, o, fmt.Sprintf("growing%d", n), map[string]string{"policy.rego": equalityRules(n)}, 10, peers.Arguments)
	}},
	{"arguments", "Size of the arguments", "bytes", []int{363, 4_000, 40_000, 400_000, 5_000_000}, func(ctx context.Context, o options, n int) ([]measure.Subject, error) {
		return both(ctx, o, fmt.Sprintf("arguments%d", n), map[string]string{"policy.rego": policySource}, authors, bigArguments(n))
	}},
	{"entries", "Entries of an allow list", "entries", []int{1, 10, 1000, 100_000}, func(ctx context.Context, o options, n int) ([]measure.Subject, error) {
		return both(ctx, o, fmt.Sprintf("entries%d", n), map[string]string{"policy.rego": policySource}, max(n, 218), peers.Arguments)
	}},
	{"goroutines", "Goroutines, time of one decision of all together", "goroutines", []int{1, 2, 4, 16, 64}, goroutines},
}

// both are the whole decision and plain OPA, on one fixture.
func both(ctx context.Context, o options, name string, modules map[string]string, entries int, arguments string) ([]measure.Subject, error) {
	dir, err := folder(o, name)
	if err != nil {
		return nil, err
	}
	f, err := newFixture(ctx, dir, modules, peers.Settings(entries))
	if err != nil {
		return nil, err
	}
	whole, err := decide(nameWhole, f.rules, inputSchema, arguments)
	if err != nil {
		return nil, err
	}
	rules, err := rulesOnly(nameRules, f.rules, arguments)
	if err != nil {
		return nil, err
	}
	fast, err := rulesOnly(nameFast, f.compiled, arguments)
	if err != nil {
		return nil, err
	}
	plain, err := plainOPA("plain OPA", f.plain, arguments)
	return []measure.Subject{whole, rules, fast, plain}, err
}

func goroutines(ctx context.Context, o options, n int) ([]measure.Subject, error) {
	list, err := both(ctx, o, fmt.Sprintf("goroutines%d", n), map[string]string{"policy.rego": policySource}, authors, peers.Arguments)
	for i, s := range list {
		list[i].Run = func() error {
			var wg sync.WaitGroup
			errs := make(chan error, n)
			for range n {
				wg.Go(func() {
					if err := s.Run(); err != nil {
						errs <- err
					}
				})
			}
			wg.Wait()
			close(errs)
			return <-errs
		}
	}
	return list, err
}

// growth measures every axis and draws a plot of each.
func growth(ctx context.Context, w io.Writer, o options, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, a := range axes {
		lines := map[string]plotter.XYs{}
		var names []string
		fmt.Fprintf(w, "\n## %s\n\n", a.title)
		for _, size := range a.at {
			list, err := a.subjects(ctx, o, size)
			if err != nil {
				return fmt.Errorf("%s %d: %w", a.name, size, err)
			}
			for _, r := range measure.Interleaved(o.Options, list) {
				if r.Err != nil {
					return fmt.Errorf("%s %d: %w", a.name, size, r.Err)
				}
				if lines[r.Name] == nil {
					names = append(names, r.Name)
				}
				each := r.Median()
				if a.name == "goroutines" {
					each /= time.Duration(size)
				}
				lines[r.Name] = append(lines[r.Name], plotter.XY{X: float64(size), Y: float64(each) / 1e3})
				fmt.Fprintf(w, "%d %s, %s: %s\n", size, a.unit, r.Name, short(each))
			}
		}
		if err := draw(a, names, lines, filepath.Join(dir, a.name+".svg")); err != nil {
			return err
		}
	}
	return nil
}

func draw(a axis, names []string, lines map[string]plotter.XYs, path string) error {
	p := plot.New()
	p.Title.Text = a.title
	p.X.Label.Text, p.Y.Label.Text = a.unit, "median, µs"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Y.Min = 1
	for i, name := range names {
		line, points, err := plotter.NewLinePoints(lines[name])
		if err != nil {
			return err
		}
		line.Color, points.Color = plotutil.Color(i), plotutil.Color(i)
		points.Shape = plotutil.Shape(i)
		p.Add(line, points)
		p.Legend.Add(name, line, points)
	}
	p.Add(plotter.NewGrid())
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, path)
}
