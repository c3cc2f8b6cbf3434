package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/regoeval"
)

// Options say which tests to run.
type Options struct {
	Bundles bundles.Options
	// Run is a regular expression: only tests whose full name matches are run.
	Run string
	// Timeout bounds one test. 0 means 30 s.
	Timeout time.Duration
}

const defaultTimeout = 30 * time.Second

// An Outcome is what became of a test.
type Outcome string

// The outcomes.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	Err  Outcome = "error"
	Skip Outcome = "skip"
)

// A Test is one test and what became of it.
type Test struct {
	Package string  `json:"package"`
	Name    string  `json:"name"`
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Outcome Outcome `json:"outcome"`
	// Message says why it didn't pass.
	Message string `json:"message,omitempty"`
	// Cases are those of a test with several that failed.
	Cases   []string      `json:"cases,omitempty"`
	Output  string        `json:"output,omitempty"` // of print
	Elapsed time.Duration `json:"elapsed_ns"`
}

// A Report is what a run of the tests showed.
type Report struct {
	Revision string   `json:"revision"`
	Tests    []Test   `json:"tests"`
	Coverage Coverage `json:"coverage"`
}

// Count returns how many tests had that outcome.
func (r Report) Count(o Outcome) int {
	n := 0
	for _, t := range r.Tests {
		if t.Outcome == o {
			n++
		}
	}
	return n
}

// Run runs the tests of bundles. The error says that they could not be run: the bundle
// doesn't load, or its tests don't compile.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	rules, trial, err := bundles.LoadTrial(ctx, o.Bundles)
	if err != nil {
		return Report{}, err
	}
	r := Report{Revision: rules.Revision(), Tests: []Test{}}
	store, txn := trial.Store()
	results, err := tester.NewRunner().
		SetCompiler(trial.Compiler()).
		SetStore(store).
		SetModules(trial.Modules()).
		RaiseBuiltinErrors(true).
		CapturePrintOutput(true).
		SetTimeout(o.Timeout).
		Filter(o.Run).
		RunTests(ctx, txn)
	if err != nil {
		return r, unrunnable(err)
	}
	var all []*tester.Result
	for result := range results {
		all = append(all, result)
	}
	if err := ctx.Err(); err != nil {
		return r, err
	}
	slices.SortFunc(all, func(a, b *tester.Result) int {
		return cmp.Or(strings.Compare(a.Location.File, b.Location.File), cmp.Compare(a.Location.Row, b.Location.Row), strings.Compare(a.Name, b.Name))
	})
	trial.Bound()
	tracer := regoeval.NewRuleTracer()
	for _, result := range all {
		t := testOf(result)
		if !result.Skip {
			atTheGate(ctx, trial, tracer, o.Timeout, result, &t)
		}
		r.Tests = append(r.Tests, t)
	}
	r.Coverage = coverage(rules, trial, tracer)
	return r, nil
}

func unrunnable(err error) error {
	var list ast.Errors
	if errors.As(err, &list) {
		return regoeval.ParseError("", list)
	}
	return fmt.Errorf("the tests can't be run: %w: correct the regular expression", err)
}

// testOf says what OPA's tester found.
func testOf(result *tester.Result) Test {
	t := Test{
		Package: strings.TrimPrefix(result.Package, "data."), Name: result.Name,
		File: result.Location.File, Line: result.Location.Row,
		Outcome: Pass, Output: string(result.Output), Elapsed: result.Duration,
	}
	switch {
	case result.Skip:
		t.Outcome = Skip
	case result.Error != nil:
		t.Outcome, t.Message = Err, firstLine(result.Error.Error())
	case result.Fail:
		t.Outcome, t.Message = Fail, "the test doesn't hold"
	}
	for name, sub := range result.SubResults.Iter {
		if sub.Fail && len(sub.SubResults) == 0 {
			t.Cases = append(t.Cases, strings.Trim(strings.Join(name, "/"), "/"))
		}
	}
	return t
}

// atTheGate evaluates a test as the gate would, for its outcome and for coverage.
func atTheGate(ctx context.Context, trial *regoeval.Trial, tracer *regoeval.RuleTracer, timeout time.Duration, result *tester.Result, t *Test) {
	ref, err := ast.ParseRef(result.Package + "." + result.Name)
	if err != nil { // the name is not one that can be written: find it by its parts
		pkg, err := ast.ParseRef(result.Package)
		if err != nil {
			t.Outcome, t.Message = Err, "the test's name can't be read"
			return
		}
		ref = pkg.Append(ast.StringTerm(result.Name))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	value, defined, err := trial.Eval(ctx, ref, tracer)
	t.Elapsed += time.Since(began)
	const only = "the test passes in OPA, but not as the gate evaluates (rule indexing and early exit off): "
	switch {
	case t.Outcome != Pass:
	case err != nil:
		t.Outcome, t.Message = Err, only+firstLine(err.Error())
	case !defined || !holds(value):
		t.Outcome, t.Message = Fail, only+"it doesn't hold"
	}
}

// holds reports whether a test's value says that it passed: true, or an object of
// which every leaf is true.
func holds(v ast.Value) bool {
	switch v := v.(type) {
	case ast.Boolean:
		return bool(v)
	case ast.Object:
		all := true
		v.Foreach(func(_, e *ast.Term) { all = all && holds(e.Value) })
		return all
	default:
		return false
	}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\ngoroutine ")
	return strings.Join(strings.Fields(s), " ")
}
