package regoeval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"

	"github.com/regogate/regogate/regoeval/internal/closures"
)

// An Engine evaluates rules.
type Engine string

// The engines.
const (
	// Topdown is OPA's own evaluator.
	Topdown Engine = "topdown"
	// Compiled is OPA's plan of the rules, compiled to Go closures. Whatever it can't
	// answer cleanly, a failed built-in above all, topdown answers.
	Compiled Engine = "compiled"
	// Both asks both. topdown decides, and a call on which they differ is undecided.
	Both Engine = "both"
)

// Engines lists the engines by name.
func Engines() []string { return []string{string(Topdown), string(Compiled), string(Both)} }

func (o *Options) checkEngine() error {
	switch o.Engine {
	case "":
		o.Engine = defaultEngine
	case Topdown, Compiled, Both:
	default:
		return fmt.Errorf("engine %q is not one of %v", o.Engine, Engines())
	}
	if o.Sample < 1 {
		o.Sample = 1
	}
	return nil
}

const defaultEngine = Topdown

// compilePrograms compiles what can be compiled, and says of every package which engine
// it has got and why.
func (l loader) compilePrograms(s Source) error {
	entries := make([]*entry, 0, len(l.packages))
	for _, k := range slices.Sorted(maps.Keys(l.packages)) {
		e := l.packages[k]
		entries = append(entries, e)
		e.info.Engine = string(l.engine)
	}
	if l.engine == Topdown {
		return nil
	}
	root, err := l.store.Read(l.ctx, l.txn, storage.RootPath)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	v, ok := root.(ast.Value)
	if !ok {
		return fmt.Errorf("store: the data document is a %T", root)
	}
	data := closures.NewData(v)
	if err := l.plan(entries, data); err != nil {
		return err
	}
	return l.checkPrograms(s, entries, data)
}

// plan plans and compiles packages together: a plan looks at every module, so that one
// for each package would take the square of their number. Where something can't be
// planned, the halves are.
func (l loader) plan(entries []*entry, data *closures.Data) error {
	var body ast.Body
	for _, e := range entries {
		for _, x := range []*ast.Expr{e.deny, e.warn} {
			if x != nil {
				body.Append(x.Copy())
			}
		}
	}
	if len(body) == 0 {
		return nil
	}
	plan, err := closures.NewPlan(l.ctx, l.compiler, body, l.builtins)
	var u *closures.UnsupportedError
	switch {
	case errors.As(err, &u) && len(entries) > 1:
		half := len(entries) / 2
		if err := l.plan(entries[:half], data); err != nil {
			return err
		}
		return l.plan(entries[half:], data)
	case errors.As(err, &u):
		entries[0].useTopdown(u.Error())
		return nil
	case err != nil:
		return err
	}
	for _, e := range entries {
		e.compile(plan, data)
	}
	return nil
}

// compile makes the entry's programs.
func (e *entry) compile(plan *closures.Plan, data *closures.Data) {
	programs := map[string]*closures.Program{}
	for name, x := range map[string]*ast.Expr{"deny": e.deny, "warn": e.warn} {
		if x == nil {
			continue
		}
		p, err := plan.Compile(e.rule(name), data)
		if err != nil {
			e.useTopdown(err.Error())
			return
		}
		programs[name] = p
	}
	e.programs = programs
}

// useTopdown says why a package is left to topdown.
func (e *entry) useTopdown(why string) {
	e.programs, e.info.Engine, e.info.Note = nil, string(Topdown), why
}

// A limitError says that an evaluation was ended by its budget or its deadline: nothing
// that two engines could differ in.
type limitError struct{ error }

func (e limitError) Unwrap() error { return e.error }

func isLimit(err error) bool {
	var l limitError
	return errors.As(err, &l) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
