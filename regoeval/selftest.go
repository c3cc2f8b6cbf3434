package regoeval

import (
	"context"
	"fmt"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/version"
)

// idSelfTest is the id of what the bundle's own tests find, when they are asked for. The
// load-time contract, whose ids stand in ids.go, has no part in it.
const idSelfTest = "self-test"

// testTimeout bounds one test.
const testTimeout = 10 * time.Second

// SelfTest runs the tests that the bundles of s bring along, with the built-ins that
// their rules have and no others. The error is a *LoadError with a finding for each
// test that doesn't pass. It is one, too, when there is no test at all: whoever asks
// for tests doesn't mean none.
func SelfTest(ctx context.Context, s Source) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &LoadError{[]Finding{{ID: idEngine, Message: fmt.Sprintf("OPA %s panicked while testing: %v", version.Version, p), Fix: "report it with the bundle"}}}
		}
	}()
	var fs findings
	g := gather(s, &fs)
	for _, b := range s.Bundles {
		for _, m := range b.Bundle.Modules {
			if m.Parsed != nil && isTestPackage(m.Parsed.Package.Path) {
				g.modules[b.Name+" "+m.Path] = m.Parsed
			}
		}
	}
	caps, err := capabilities(g.metadata.Builtins)
	if err != nil {
		fs.add(idManifest, g.builtinsAt, "correct metadata.regogate.builtins in .manifest", "builtins: %s", err)
	}
	if err := fs.err(); err != nil {
		return err
	}
	store := inmem.NewFromObjectWithOpts(g.data, inmem.OptRoundTripOnWrite(false))
	txn, err := store.NewTransaction(ctx)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer store.Abort(ctx, txn)
	results, err := tester.NewRunner().
		SetCompiler(ast.NewCompiler().WithCapabilities(caps).WithDefaultRegoVersion(ast.RegoV1)).
		SetStore(store).
		SetModules(g.modules).
		SetTimeout(testTimeout).
		CapturePrintOutput(false).
		RaiseBuiltinErrors(true).
		RunTests(ctx, txn)
	if err != nil {
		fs.addOPA(idSelfTest, "correct the test; opa test shows the same", err)
		return fs.err()
	}
	passed := fs.addResults(results)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the tests did not end in time: %w", err)
	}
	if passed == 0 && len(fs) == 0 {
		fs.add(idSelfTest, g.bundleAt, "add tests in packages below tests, or set bundles.self_test to false", "there is no test, and bundles.self_test asks for them")
	}
	return fs.err()
}

// addResults adds a finding for each test that didn't pass, and counts the others. A
// test that its author put off (todo_…) is neither.
func (fs *findings) addResults(results <-chan *tester.Result) (passed int) {
	for r := range results {
		name := r.Package + "." + r.Name
		switch {
		case r.Error != nil:
			fs.add(idSelfTest, r.Location, "correct the rule or the test; opa test shows the same", "%s: %s", name, oneLine(r.Error.Error()))
		case r.Fail:
			fs.add(idSelfTest, r.Location, "correct the rule or the test; opa test shows the same", "%s failed", name)
		case !r.Skip:
			passed++
		}
	}
	return passed
}
