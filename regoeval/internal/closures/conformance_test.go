package closures

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/test/cases"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/util"
	"github.com/stretchr/testify/require"
)

// TestConformance runs OPA's own cases, those of the module in go.mod, through both
// engines in one harness: what topdown passes, closures pass, or they say that it is
// topdown's: most of those few before any evaluation.
func TestConformance(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/open-policy-agent/opa").Output()
	require.NoError(t, err)
	dir := filepath.Join(strings.TrimSpace(string(out)), "v1", "test", "cases", "testdata")
	for _, suite := range []struct {
		name, dir string
		parser    ast.ParserOptions
		atLeast   int // cases that topdown passes: fewer, and the harness is broken
	}{
		{"v0", "v0", ast.ParserOptions{RegoVersion: ast.RegoV0}, 2026},
		{"v1", "v1", ast.ParserOptions{RegoVersion: ast.RegoV1}, 2399},
		{"v0 with not", "v0", ast.ParserOptions{RegoVersion: ast.RegoV0, FutureKeywords: []string{"not"}}, 2026},
		{"v1 with not", "v1", ast.ParserOptions{RegoVersion: ast.RegoV1, FutureKeywords: []string{"not"}}, 2399},
	} {
		if underRace && suite.name != "v1" {
			continue // four times as slow, and nothing runs side by side
		}
		t.Run(suite.name, func(t *testing.T) {
			topdownPasses, closuresPass, unsupported, unsure := 0, 0, 0, 0
			set := cases.MustLoad(filepath.Join(dir, suite.dir)).Sorted()
			for _, tc := range set.Cases {
				for k, v := range tc.Env {
					t.Setenv(k, v)
				}
				o := newOPACase(tc, suite.parser)
				if o == nil {
					continue
				}
				if rows, err := o.viaTopdown(); o.check(rows, err) != nil {
					continue
				}
				topdownPasses++
				rows, evalErr, err := o.viaClosures(false)
				var u *UnsupportedError
				if errors.As(err, &u) {
					unsupported++
					t.Logf("not supported, so topdown: %s: %v", tc.Note, u)
					continue
				}
				if errors.Is(evalErr, ErrUnsure) {
					unsure++
					t.Logf("not sure, so topdown: %s", tc.Note)
					continue
				}
				if err == nil {
					err = o.check(rows, evalErr)
				}
				if err == nil && tc.Input != nil {
					if rows, evalErr, err = o.viaClosures(true); err == nil {
						err = o.check(rows, evalErr)
					}
				}
				if err != nil {
					t.Errorf("%s: %v", tc.Note, err)
					continue
				}
				closuresPass++
			}
			t.Logf("%s: %d cases, topdown passes %d, closures pass %d, not supported %d, not sure %d", suite.name, len(set.Cases), topdownPasses, closuresPass, unsupported, unsure)
			require.GreaterOrEqual(t, topdownPasses, suite.atLeast)
			require.Equal(t, topdownPasses, closuresPass+unsupported+unsure)
			require.LessOrEqual(t, unsupported+unsure, 20)
		})
	}
}

// An opaCase is one of OPA's cases, compiled.
type opaCase struct {
	cases.TestCase
	compiler *ast.Compiler
	query    ast.Body
	data     map[string]any
	input    *ast.Term
}

// newOPACase returns nil for what doesn't compile.
func newOPACase(tc cases.TestCase, parser ast.ParserOptions) *opaCase {
	if tc.ExperimentalKeywords {
		parser.Capabilities = ast.CapabilitiesForThisVersion(ast.CapabilitiesExperimentalKeywords(true))
	}
	modules := map[string]string{}
	for i, m := range tc.Modules {
		modules[fmt.Sprintf("test-%d.rego", i)] = m
	}
	o := &opaCase{TestCase: tc, data: map[string]any{}}
	var err error
	if o.compiler, err = ast.CompileModulesWithOpt(modules, ast.CompileOpts{ParserOptions: parser}); err != nil {
		return nil
	}
	if o.query, err = ast.ParseBody(tc.Query); err != nil {
		return nil
	}
	if tc.Data != nil {
		o.data = *tc.Data
	}
	switch {
	case tc.InputTerm != nil:
		o.input = ast.MustParseTerm(*tc.InputTerm)
	case tc.Input != nil:
		o.input = ast.NewTerm(ast.MustInterfaceToValue(*tc.Input))
	}
	return o
}

type row map[string]any

func (o *opaCase) viaTopdown() (rows []row, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	ctx := context.Background()
	q, err := o.compiler.QueryCompiler().Compile(o.query)
	if err != nil {
		return nil, err
	}
	st := inmem.NewFromObject(o.data)
	txn := storage.NewTransactionOrDie(ctx, st)
	results, err := topdown.NewQuery(q).WithCompiler(o.compiler).WithStore(st).WithTransaction(txn).WithInput(o.input).
		WithStrictBuiltinErrors(o.StrictError).WithCancel(topdown.NewCancel()).Run(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		x := row{}
		for k, v := range r {
			if x[string(k)], err = ast.JSON(v.Value); err != nil {
				return nil, err
			}
		}
		rows = append(rows, x)
	}
	return rows, nil
}

// viaClosures returns what the evaluation came to, and what kept it from being made.
func (o *opaCase) viaClosures(asJSON bool) (rows []row, evalErr, err error) {
	ctx := context.Background()
	plan, err := NewPlan(ctx, o.compiler, o.query, nil)
	if err != nil {
		return nil, nil, err
	}
	data, err := ast.InterfaceToValue(o.data)
	if err != nil {
		return nil, nil, err
	}
	p, err := plan.CompileQuery(NewData(data))
	if err != nil {
		return nil, nil, err
	}
	input := Undefined
	if o.input != nil {
		input = o.input.Value
		if asJSON && o.InputTerm == nil {
			input = *o.Input
		}
	}
	r := p.Eval(ctx, input, Options{Values: newPatterns(ctx)})
	if r.Err == nil && o.StrictError && len(r.Errors) > 0 {
		r.Err = r.Errors[0]
	}
	if r.Err != nil {
		return nil, r.Err, nil
	}
	for _, b := range r.Rows {
		x, keep, err := rowOf(b)
		if err != nil {
			return nil, nil, err
		}
		if keep {
			rows = append(rows, x)
		}
	}
	return rows, nil, nil
}

// rowOf takes the values of bare expressions out of a row: a false one is no result.
func rowOf(b ast.Value) (row, bool, error) {
	x, err := ast.JSON(b)
	if err != nil {
		return nil, false, err
	}
	r, keep := row(x.(map[string]any)), true
	for k, v := range r {
		if strings.HasPrefix(k, "^term") {
			keep = keep && v != false
			delete(r, k)
		}
	}
	return r, keep, nil
}

// check compares with what the case wants.
func (o *opaCase) check(rows []row, err error) error {
	if o.WantError != nil && (err == nil || !strings.Contains(err.Error(), *o.WantError)) {
		return fmt.Errorf("error %v, want %q", err, *o.WantError)
	}
	if o.WantErrorCode != nil {
		var e *topdown.Error
		if !errors.As(err, &e) || e.Code != *o.WantErrorCode {
			return fmt.Errorf("error %v, want code %s", err, *o.WantErrorCode)
		}
	}
	if err != nil && o.WantErrorCode == nil && o.WantError == nil {
		return err
	}
	if o.WantResult == nil || err != nil {
		return nil
	}
	want := ast.NewSet()
	for _, r := range *o.WantResult {
		want.Add(o.term(r, false))
	}
	got := ast.NewSet()
	for _, r := range rows {
		got.Add(o.term(r, true))
	}
	if want.Compare(got) != 0 {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

func (o *opaCase) term(r row, got bool) *ast.Term {
	x := ast.NewObject()
	for k, v := range r {
		if elems, ok := v.([]any); ok && got && o.SortBindings {
			slices.SortFunc(elems, util.Compare)
		}
		if !got || !o.IgnoreGeneratedVars || !strings.HasPrefix(k, "__localq") {
			x.Insert(ast.StringTerm(k), ast.NewTerm(ast.MustInterfaceToValue(v)))
		}
	}
	return ast.NewTerm(x)
}
