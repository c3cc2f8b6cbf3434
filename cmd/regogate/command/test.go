package command

import (
	"encoding/json"
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
}

const aboutTest = `Run the tests of a bundle as the gate decides.

OPA's own tester runs them, with the errors of built-ins raised; each is then evaluated
once more with rule indexing and early exit off, as the gate does it. Coverage is
counted in rules, for each tool and package.

Exit status: 0 all pass; 1 a test doesn't, or the coverage falls short; 2 the bundle
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
