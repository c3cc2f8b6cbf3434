package regoeval

import (
	"context"
	"fmt"
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// A Trial is a ruleset together with the tests of its bundles, which a ruleset leaves
// out. It evaluates a test as the gate evaluates rules: with rule indexing and early
// exit off, with every error of a built-in counting, and with the same bounds on what
// built-ins make of texts. It is for one goroutine, and decides no calls.
type Trial struct {
	rules    *Ruleset
	modules  map[string]*ast.Module
	compiler *ast.Compiler
}

// NewTrial builds the ruleset of s as [New] does, with the same errors, and its trial.
func NewTrial(ctx context.Context, s Source, o Options) (*Ruleset, *Trial, error) {
	rules, err := New(ctx, s, o)
	if err != nil {
		return nil, nil, err
	}
	var fs findings
	t := &Trial{rules: rules, modules: maps.Clone(gather(s, &fs).modules)}
	if err := fs.err(); err != nil {
		return nil, nil, err
	}
	for _, b := range s.Bundles {
		for _, m := range b.Bundle.Modules {
			if m.Parsed == nil || !isTestPackage(m.Parsed.Package.Path) {
				continue
			}
			name := m.Path
			if _, taken := t.modules[name]; taken {
				name = b.Name + "/" + m.Path
			}
			t.modules[name] = m.Parsed
		}
	}
	// The rules keep to the capabilities of bundles: New has seen to that. What only
	// tests use is OPA's, but for the network.
	caps := ast.CapabilitiesForThisVersion()
	caps.AllowNet = []string{}
	t.compiler = ast.NewCompiler().
		WithCapabilities(caps).
		WithDefaultRegoVersion(ast.RegoV1).
		WithEnablePrintStatements(true).
		WithPathConflictsCheck(storage.NonEmpty(ctx, rules.store, rules.txn))
	return rules, t, nil
}

// Modules returns what is to be compiled: the bundles' modules and their tests.
func (t *Trial) Modules() map[string]*ast.Module { return t.modules }

// Compiler returns the compiler to compile them with, before [Trial.Eval].
func (t *Trial) Compiler() *ast.Compiler { return t.compiler }

// Store returns the data of the bundles, and the transaction to read it in.
func (t *Trial) Store() (storage.Store, storage.Transaction) { return t.rules.store, t.rules.txn }

// Bound makes the compiled modules what the gate evaluates. What is compiled must not be
// evaluated by anything but [Trial.Eval] afterwards.
func (t *Trial) Bound() {
	trial := &Ruleset{compiler: t.compiler}
	loader{Ruleset: trial, withTargets: findWithTargets(t.compiler)}.boundBuiltins()
}

// Eval evaluates one document, a test for example, as the gate evaluates deny sets.
// defined is false when it is undefined. tracer may be nil. The step budget isn't
// applied: a test makes many calls.
func (t *Trial) Eval(ctx context.Context, ref ast.Ref, tracer topdown.QueryTracer) (value ast.Value, defined bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			value, defined, err = nil, false, panicked(p)
		}
	}()
	cancel := topdown.NewCancel()
	stop := context.AfterFunc(ctx, cancel.Cancel)
	defer stop()
	var failures []topdown.Error
	result := ast.VarTerm("result@" + ref.String())
	q := topdown.NewQuery(ast.NewBody(ast.Equality.Expr(result, ast.NewTerm(ref)))).
		WithCompiler(t.compiler).
		WithStore(t.rules.store).
		WithTransaction(t.rules.txn).
		WithCancel(cancel).
		WithBuiltins(t.rules.builtins).
		WithBuiltinErrorList(&failures).
		WithIndexing(false).
		WithEarlyExit(false).
		WithInterQueryBuiltinValueCache(t.rules.values).
		WithMetrics(metrics.NoOp())
	if tracer != nil {
		q = q.WithQueryTracer(tracer)
	}
	err = q.Iter(ctx, func(qr topdown.QueryResult) error {
		value, defined = qr[result.Value.(ast.Var)].Value, true
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, false, fmt.Errorf("the evaluation was stopped: %w", ctx.Err())
	case err != nil:
		return nil, false, describe(err)
	case len(failures) > 0:
		return nil, false, builtinFailure(failures)
	}
	return value, defined, nil
}

// A Rule is one rule of a bundle that has a part in decisions, as a report names it.
type Rule struct {
	Package string `json:"package"` // as in a package clause
	Name    string `json:"name"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	// Decides is set when the rule is one of a deny or warn set that the gate asks for.
	Decides bool `json:"decides"`
}

// Rules lists the rules of compiled modules, tests left out, in the order of files and
// lines. Defaults, and what the compiler made, are no rules of the author's.
func (r *Ruleset) Rules(compiled *ast.Compiler) map[*ast.Rule]Rule {
	out := map[*ast.Rule]Rule{}
	for _, m := range compiled.Modules {
		if isTestPackage(m.Package.Path) {
			continue
		}
		_, decides := r.packages[m.Package.Path.String()]
		ast.WalkRules(m, func(rule *ast.Rule) bool {
			if rule.Default || isTestRule(rule) || rule.Head.Location == nil || rule.Head.Location.File == "" {
				return false
			}
			name := rule.Head.Ref().String()
			out[rule] = Rule{
				Package: packageText(m.Package.Path), Name: name, File: rule.Loc().File, Line: rule.Loc().Row,
				Decides: decides && (name == "deny" || name == "warn"),
			}
			return false
		})
	}
	return out
}

// Compiled returns the compiler that decisions are made with, to read.
func (r *Ruleset) Compiled() *ast.Compiler { return r.compiler }
