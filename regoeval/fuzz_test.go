package regoeval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// FuzzLoad: whatever somebody writes into a policy and a manifest, loading it ends in
// a ruleset or in findings, and a ruleset answers every call without a panic.
func FuzzLoad(f *testing.F) {
	for _, tr := range readTraps(f) {
		if source, ok := tr.files["policy.rego"]; ok {
			f.Add(source, tr.files[".manifest"])
		}
	}
	f.Add("package tools.x\n\ndeny contains $\"{x}\" if { some x in input.arguments; not x == 3 }", `{"metadata":{"regogate":{"map":[{"tool":"*","package":"tools.x"}]}}}`)
	calls := []string{`{}`, `{"n":5,"p":"a","l":[1,{"k":"v"}],"o":{"a":null}}`}
	f.Fuzz(func(t *testing.T, source, manifest string) {
		if len(source) > 4096 || strings.Contains(source, "numbers.range") {
			return // what takes long is not what is looked for here
		}
		m, err := ast.ParseModuleWithOpts("a.rego", source, ast.ParserOptions{RegoVersion: ast.RegoV1, ProcessAnnotation: true})
		if err != nil || m == nil {
			return
		}
		b := bundle.Bundle{Data: map[string]any{"settings": map[string]any{"a": "x"}}, Modules: []bundle.ModuleFile{{Path: "a.rego", URL: "a.rego", Raw: []byte(source), Parsed: m}}}
		b.Manifest.Init()
		if manifest != "" && utf8.ValidString(manifest) {
			b.Manifest.Metadata = map[string]any{"regogate": map[string]any{"common": []any{map[string]any{"package": manifest}}}}
		}
		rs, err := regoeval.New(context.Background(), regoeval.Source{Bundles: []regoeval.NamedBundle{{Name: "b", Bundle: b}}}, regoeval.Options{Steps: 5000})
		if err != nil {
			var e *regoeval.LoadError
			if !errors.As(err, &e) || len(e.Findings) == 0 {
				t.Fatalf("not findings: %v", err)
			}
			if strings.Contains(err.Error(), "panicked") {
				t.Fatalf("%s\n%v", source, err)
			}
			return
		}
		g, err := policy.NewGate(policy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		g.Use(rs)
		for _, p := range rs.Packages() {
			name := strings.TrimPrefix(p.Path, "tools.")
			tool := g.Tool(policy.ToolSpec{Name: name, NoSchema: true})
			for _, args := range calls {
				d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(args)})
				if d.Err != nil && strings.Contains(d.Err.Error(), "panic") {
					t.Fatalf("%s\n%v", source, d.Err)
				}
			}
		}
	})
}
