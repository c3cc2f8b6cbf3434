package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/bundles/authoring/trial"
)

// testFlags are the flags of test.
type testFlags struct {
	settings    string
	run         string
	failUnder   float64
	failOnEmpty bool
	format      testFormat
	generate    int
	seed        uint64
	tools       string
	server      string
}

const aboutTest = `Run the tests of a bundle as the gate decides.

OPA's own tester runs them, with the errors of built-ins raised; each is then evaluated
once more with rule indexing and early exit off, as the gate does it. Coverage is
counted in rules, for each tool and package.

With --generate it makes up calls instead, from each tool's input schema, lets a gate
decide them, and shows for every rule a call that it refuses and the nearest that it
doesn't.

Exit status: 0 all pass; 1 a test doesn't, the coverage falls short, or the rules
can't decide a call that was made up; 2 the bundle
could not be loaded.`

// A testFormat says how test writes.
type testFormat string

var testFormats = []string{"text", "json", "junit"}

// String implements pflag.Value.
func (f *testFormat) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *testFormat) Type() string { return "format" }

// Set implements pflag.Value.
func (f *testFormat) Set(s string) error {
	if !slices.Contains(testFormats, s) {
		return fmt.Errorf("want text, json or junit")
	}
	*f = testFormat(s)
	return nil
}

func newTest() *cobra.Command {
	f := testFlags{format: "text"}
	c := &cobra.Command{
		Use:   "test [flags] BUNDLE...",
		Short: "Run the tests of a bundle as the gate decides",
		Long:  aboutTest,
		RunE:  func(c *cobra.Command, args []string) error { return f.test(c, args) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.settings, "settings", "", "JSON `FILE` laid over data.settings")
	fs.StringVar(&f.run, "run", "", "run only tests whose name matches: `REGEXP`")
	fs.Float64Var(&f.failUnder, "fail-under", 0, "exit 1 when fewer than `PERCENT` of the rules are covered")
	fs.BoolVar(&f.failOnEmpty, "fail-on-empty", false, "exit 1 when there are no tests")
	fs.IntVar(&f.generate, "generate", 0, "make up `N` calls for each tool instead, and say which rules they meet")
	fs.Uint64Var(&f.seed, "seed", 1, "which calls are made up: the same `NUMBER`, the same calls")
	fs.StringVar(&f.tools, "tools", "", "tools/list result to make calls for, instead of the pins: JSON `FILE`")
	fs.StringVar(&f.server, "server", "", "what the server of --tools is called in the policy: `NAME`")
	fs.Var(&f.format, "format", "`text`, json or junit")
	return c
}

func (f *testFlags) test(c *cobra.Command, names []string) error {
	switch {
	case len(names) == 0:
		return usage{"test", "no bundle", "name a directory, a .tar.gz or the word starter"}
	case f.failUnder < 0 || f.failUnder > 100:
		return usage{"test", fmt.Sprintf("--fail-under %v", f.failUnder), "give a percentage from 0 to 100"}
	}
	if given := c.Flags().Changed; given("generate") {
		return f.madeUp(c, names)
	} else if given("seed") || given("tools") || given("server") {
		return usage{"test", "--seed, --tools or --server without --generate", "add --generate N, or leave them out"}
	}
	r, err := trial.Run(c.Context(), trial.Options{Bundles: bundles.Options{Bundles: names, SettingsFile: f.settings}, Run: f.run})
	if err != nil {
		return err
	}
	if err := f.write(c.OutOrStdout(), r); err != nil {
		return fmt.Errorf("test: standard output: %w", err)
	}
	return f.verdict(c, r)
}

func (f *testFlags) write(w io.Writer, r trial.Report) error {
	switch f.format {
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	case "junit":
		return r.WriteJUnit(w)
	default:
		return r.WriteText(w)
	}
}

// verdict says what falls short.
func (f *testFlags) verdict(c *cobra.Command, r trial.Report) error {
	short := r.Count(trial.Fail)+r.Count(trial.Err) > 0
	if len(r.Tests) == 0 {
		fmt.Fprintln(c.ErrOrStderr(), "test: there are no tests: write rules that begin with test_ in a package below tests")
		short = short || f.failOnEmpty
	}
	if r.Coverage.Percent < f.failUnder {
		fmt.Fprintf(c.ErrOrStderr(), "test: %.1f%% of the rules are covered, less than %v%%\n", r.Coverage.Percent, f.failUnder)
		short = true
	}
	if short {
		return exit(refused)
	}
	return nil
}

// madeUp makes up calls and reports what the rules make of them.
func (f *testFlags) madeUp(c *cobra.Command, names []string) error {
	switch {
	case f.generate <= 0:
		return usage{"test", fmt.Sprintf("--generate %d", f.generate), "give how many calls to make up for each tool"}
	case f.format == "junit":
		return usage{"test", "--generate and --format junit", "give text or json: there are no tests to report"}
	}
	o := trial.GenerateOptions{Bundles: bundles.Options{Bundles: names, SettingsFile: f.settings}, N: f.generate, Seed: f.seed}
	if f.tools != "" {
		var err error
		if o.Tools, err = readSpecs(f.tools, f.server); err != nil {
			return err
		}
	}
	g, err := trial.Generate(c.Context(), o)
	if errors.Is(err, trial.ErrNoTools) {
		return usage{"test", err.Error(), "pin them with regogate init, or give --tools FILE"}
	}
	if err != nil {
		return err
	}
	if f.format == "json" {
		e := json.NewEncoder(c.OutOrStdout())
		e.SetEscapeHTML(false)
		err = e.Encode(g)
	} else {
		err = g.WriteText(c.OutOrStdout())
	}
	if err != nil {
		return fmt.Errorf("test: standard output: %w", err)
	}
	if n := g.Undecided(); n > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "test: the rules can't decide %d calls that satisfy the schema\n", n)
		return exit(refused)
	}
	return nil
}
