// Command bench measures what the gate costs beside what people would use in its place,
// in one run, and prints a table for each question. docs/benchmarks.md has one such run.
//
//	cd test/bench && go run . [-repeats 10] [-slice 100ms] [-only decision,...] [-plots ../../docs/plots]
//
// # Limits
//
// It measures wall times on whatever machine it runs on. Ratios are medians over repeats
// in which all subjects ran in turn; times of different runs aren't comparable. A
// yardstick that can't run is named, and no ratio is printed for it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/regogate/regogate/test/bench/measure"
)

// A section answers one question.
type section struct {
	name, title string
	run         func(ctx context.Context, o options) (report, error)
}

type options struct {
	measure.Options
	dir string // for what is built and written
}

// A report is what one section prints.
type report struct {
	results []measure.Result
	compare []comparison
	notes   []string
}

// A comparison is one ratio; goal is the most that it should be, 0 for none. With less
// set the goal is the least instead.
type comparison struct {
	of, to string
	goal   float64
	least  bool
}

var sections = []section{
	{"decision", "One decision: 16 rules, 363 bytes of arguments", decisionSection},
	{"large", "5 MB of arguments, of which the rules read little", largeSection},
	{"rules", "Rules that compare for equality: 10 and 1,000", rulesSection},
	{"shapes", "Other kinds of rules", shapesSection},
	{"starter", "The starter bundle, on a call with a text", starterSection},
	{"stdio", "A call over stdio, 100 bytes, one rule", stdioSection},
	{"http", "A call over HTTP, 100 bytes, one rule", httpSection},
	{"load", "Loading 1,000 tools of 16 rules, and decisions while rulesets are swapped", loadSection},
	{"parallel", "64 goroutines", parallelSection},
}

func main() {
	if role, err := runRole(os.Args[1:]); role {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	repeats := flag.Int("repeats", 10, "how often each subject is measured")
	slice := flag.Duration("slice", 100*time.Millisecond, "how long one measurement takes")
	only := flag.String("only", "", "names of sections, with commas; empty for all")
	plots := flag.String("plots", "", "draw the growth plots into this folder, and nothing else")
	flag.Parse()
	if err := run(os.Stdout, measure.Options{Repeats: *repeats, Slice: *slice}, *only, *plots); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(w io.Writer, m measure.Options, only, plots string) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o := options{Options: m, dir: dir}
	ctx := context.Background()
	if plots != "" {
		return growth(ctx, w, o, plots)
	}
	fmt.Fprintf(w, "%s/%s, %d processors, %s, %d repeats of %v in turn\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), m.Repeats, m.Slice)
	fmt.Fprintf(w, "%s\n", versions())
	wanted := strings.Split(only, ",")
	for _, s := range sections {
		if only != "" && !slices.Contains(wanted, s.name) {
			continue
		}
		r, err := s.run(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		r.print(w, s.title)
	}
	return nil
}

// versions names the modules that are compared.
func versions() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "versions unknown"
	}
	var out []string
	for _, d := range info.Deps {
		switch d.Path {
		case "github.com/open-policy-agent/opa", "github.com/google/cel-go", "github.com/cedar-policy/cedar-go", "github.com/santhosh-tekuri/jsonschema/v6":
			out = append(out, d.Path+" "+d.Version)
		default:
		}
	}
	return strings.Join(out, ", ")
}

func (r report) print(w io.Writer, title string) {
	fmt.Fprintf(w, "\n## %s\n\n| subject | median | 10th percentile | 90th percentile |\n|---|---:|---:|---:|\n", title)
	byName := map[string]measure.Result{}
	for _, x := range r.results {
		byName[x.Name] = x
		if x.Err != nil {
			fmt.Fprintf(w, "| %s | can't run: %v | | |\n", x.Name, x.Err)
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", x.Name, short(x.Median()), short(x.Quantile(0.1)), short(x.Quantile(0.9)))
	}
	if len(r.compare) > 0 {
		fmt.Fprintf(w, "\n| ratio | | goal | |\n|---|---:|---:|---|\n")
	}
	for _, c := range r.compare {
		v, ok := measure.Ratio(byName[c.of], byName[c.to])
		if !ok {
			fmt.Fprintf(w, "| %s / %s | none: one of them can't run | | |\n", c.of, c.to)
			continue
		}
		goal, verdict := "", ""
		if c.goal > 0 {
			sign, met := "≤", v <= c.goal
			if c.least {
				sign, met = "≥", v >= c.goal
			}
			goal, verdict = fmt.Sprintf("%s %.4g", sign, c.goal), "missed"
			if met {
				verdict = "met"
			}
		}
		fmt.Fprintf(w, "| %s / %s | %.3g | %s | %s |\n", c.of, c.to, v, goal, verdict)
	}
	for _, n := range r.notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
}

// short prints three digits.
func short(d time.Duration) string {
	for _, u := range []struct {
		d    time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.d {
			return fmt.Sprintf("%.3g %s", float64(d)/float64(u.d), u.name)
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}
