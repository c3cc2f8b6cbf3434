package regoeval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/generate"
	"github.com/regogate/regogate/regoeval/internal/closures"
)

// Before a compiled package decides anything, both engines are asked about inputs made
// of what its rules read and compare with, and both run the bundle's own tests. A tool's
// schema is known only when the tool is: the first time that rules are looked up for it,
// both are asked about arguments made of that. A difference keeps topdown.

const (
	checkedSamples = 12  // inputs for each package
	checkedCalls   = 24  // arguments made of a tool's schema
	checkedTests   = 500 // of a bundle
	checkedSteps   = 10_000
)

// How long checks may take. What is not checked by then is not: a policy that takes so
// long is one that a check says little about.
const (
	packageCheck = 100 * time.Millisecond
	testsCheck   = 2 * time.Second
	toolCheck    = 200 * time.Millisecond
)

// sample is an input document of a check.
type sample map[string]any

func (s sample) Member(name string) (any, bool) { v, ok := s[name]; return v, ok }

func (s sample) Whole() map[string]any {
	m := make(map[string]any, len(s))
	for k, v := range s {
		m[k] = v
	}
	return m
}

func (l loader) checkPrograms(s Source, entries []*entry, data *closures.Data) error {
	for _, e := range entries {
		ctx, cancel := context.WithTimeout(l.ctx, packageCheck)
		for name, p := range e.programs {
			for _, x := range p.Samples(checkedSamples, 1) {
				if l.differ(ctx, e.rule(name), p, x) {
					e.useTopdown(fmt.Sprintf("the engines differ about %s for an input made of the constants of the rules", name))
					break
				}
			}
		}
		cancel()
	}
	if err := l.checkTests(s, entries, data); err != nil {
		return err
	}
	return l.ctx.Err()
}

// checkTests runs the bundles' own tests with both engines. Test packages are no part of
// the ruleset, so that they are compiled beside it, with all rules.
func (l loader) checkTests(s Source, entries []*entry, data *closures.Data) error {
	tests := l.withTests(s)
	if tests == nil {
		return l.ctx.Err()
	}
	return l.compareTests(tests, tests.compiler, entries, data)
}

// compareTests evaluates tests with topdown, and with programs made of compiled rules:
// the same rules.
func (l loader) compareTests(tests *Ruleset, compiled *ast.Compiler, entries []*entry, data *closures.Data) error {
	var body ast.Body
	refs := testRefs(tests.compiler)
	for i, ref := range refs {
		body.Append(ast.Equality.Expr(ast.VarTerm(fmt.Sprintf("test%d@", i)), ast.NewTerm(ref)))
	}
	plan, err := closures.NewPlan(l.ctx, compiled, body, tests.builtins)
	if err != nil {
		return l.ctx.Err() // tests that can't be planned show nothing
	}
	ctx, cancel := context.WithTimeout(l.ctx, testsCheck)
	defer cancel()
	for _, ref := range refs {
		p, err := plan.Compile(ref, data)
		if err != nil || !tests.differ(ctx, ref, p, sample{}) {
			continue
		}
		for _, e := range entries {
			if p.Uses(e.ref.String()) {
				e.useTopdown(fmt.Sprintf("the engines differ about the test %s", ref))
			}
		}
	}
	return nil
}

// withTests returns a ruleset of the rules and the bundles' tests, for evaluations only;
// nil where there are no tests, or none that compile.
func (l loader) withTests(s Source) *Ruleset {
	var fs findings
	modules := maps.Clone(gather(s, &fs).modules)
	rules := len(modules)
	for _, b := range s.Bundles {
		for i, m := range b.Bundle.Modules {
			if m.Parsed != nil && isTestPackage(m.Parsed.Package.Path) {
				modules[fmt.Sprintf("%s/tests/%d/%s", b.Name, i, m.Path)] = m.Parsed
			}
		}
	}
	if len(modules) == rules || len(fs) > 0 {
		return nil
	}
	caps := ast.CapabilitiesForThisVersion()
	caps.AllowNet = []string{}
	c := ast.NewCompiler().WithCapabilities(caps).WithDefaultRegoVersion(ast.RegoV1)
	if c.Compile(modules); c.Failed() || len(testRefs(c)) == 0 {
		return nil
	}
	return &Ruleset{compiler: c, store: l.store, txn: l.txn, values: l.values, builtins: l.builtins, eager: true, steps: l.steps}
}

// testRefs are the paths of test rules, the first so many.
func testRefs(c *ast.Compiler) []ast.Ref {
	var refs []ast.Ref
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Modules)) {
		for _, r := range c.Modules[name].Rules {
			ref := r.Ref()
			if isTestPackage(r.Module.Package.Path) && isTestRule(r) && ref.IsGround() && !seen[ref.String()] && len(refs) < checkedTests {
				seen[ref.String()] = true
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// differ reports whether the engines differ about one rule. Where the compiled one
// isn't sure, or finds that something failed, topdown is asked anyway.
func (r *Ruleset) differ(ctx context.Context, ref ast.Ref, p *closures.Program, s sample) bool {
	got := p.Eval(ctx, s, closures.Options{Steps: min(r.steps, checkedSteps), FirstError: true, Values: r.values})
	if !got.Clean() {
		return false
	}
	input, err := ast.InterfaceToValue(map[string]any(s))
	if err != nil {
		return false
	}
	v := ast.Var("check@")
	result, err := r.evaluate(ctx, ast.NewBody(ast.Equality.Expr(ast.NewTerm(v), ast.NewTerm(ref))), ast.NewTerm(input))
	switch {
	case err == errNoResult:
		return got.Value != nil
	case err != nil:
		return !isLimit(err)
	case got.Value == nil:
		return true
	}
	return result[v].Value.Compare(got.Value) != 0
}

// checkCalls asks both engines about arguments made of a tool's schema, and returns why
// topdown is to decide, "" when there is no reason.
func (r *Ruleset) checkCalls(t *policy.Tool, entries []*entry) string {
	spec := t.Spec()
	if len(spec.InputSchema) == 0 {
		return ""
	}
	var hints []any
	for _, e := range entries {
		for _, p := range e.programs {
			hints = append(hints, p.Constants()...)
		}
	}
	cases, err := generate.Arguments(spec.InputSchema, checkedCalls, generate.Options{Hints: hints})
	if err != nil {
		return "" // the gate says what is wrong with the schema
	}
	ctx, cancel := context.WithTimeout(context.Background(), toolCheck)
	defer cancel()
	for _, c := range cases {
		var args map[string]any
		d := json.NewDecoder(bytes.NewReader(c.Arguments))
		d.UseNumber()
		if d.Decode(&args) != nil {
			continue
		}
		doc := sample{
			"arguments": args,
			"tool":      map[string]any{"name": spec.Name, "server": spec.Server, "title": spec.Title, "annotations": map[string]any{}},
			"caller":    map[string]any{"subject": "somebody", "tenant": nil, "scopes": []any{"read"}, "claims": map[string]any{}},
			"call":      map[string]any{"id": "1", "session": nil, "transport": "stdio", "time": "2026-01-01T00:00:00Z", "responses": map[string]any{}},
		}
		for _, e := range entries {
			for name, p := range e.programs {
				if r.differ(ctx, e.rule(name), p, doc) {
					return "the engines differ about " + name + " for arguments made of the tool's schema"
				}
			}
		}
	}
	return ""
}
