package regoeval

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regogate/regogate/policy"
)

// An Explanation says how far one rule of a deny set came with one call. It quotes
// arguments and is for operators only.
type Explanation struct {
	Package string `json:"package"` // as in its package clause
	File    string `json:"file"`
	Line    int    `json:"line"`
	Rule    string `json:"rule"` // the first line of its source
	// Refused reports that its body holds, so that it refuses the call.
	Refused bool `json:"refused"`
	// Failed is the expression that the body came to last, and that doesn't hold; of a
	// rule that refuses it is empty.
	Failed     string `json:"failed,omitempty"`
	FailedLine int    `json:"failed_line,omitempty"`
	// Held is the part of the body's expressions, from 0 to 1, that held before.
	Held   float64 `json:"held"`
	Values []Value `json:"values"`
}

// A Value is what a part of the input, or a variable, was.
type Value struct {
	Name  string `json:"name"`
	Value string `json:"value"` // as Rego writes it, cut
}

const maxShown = 200

// Explain evaluates the deny sets that cover the tool of in once more, and says of each
// rule whether it refuses the call and where it stopped otherwise: those that refuse
// first, then those that came nearest. It is not for the decision itself: it is slow.
func (r *Ruleset) Explain(ctx context.Context, in policy.Input) (out []Explanation, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, panicked(p)
		}
	}()
	tool := in.Tool()
	doc := in.Document()
	if err := checkNumbers(doc); err != nil {
		return nil, err
	}
	value, err := ast.InterfaceToValue(doc)
	if err != nil {
		return nil, describe(err)
	}
	entries, _ := r.entriesFor(tool.Server, tool.Name)
	for _, e := range entries {
		t := &tracer{rules: map[*ast.Rule]*progress{}, running: map[uint64]*progress{}}
		for _, rule := range r.compiler.GetRulesExact(e.rule("deny")) {
			t.rules[rule] = &progress{}
		}
		b := &budget{left: r.steps}
		stop := context.AfterFunc(ctx, b.Cancel)
		err := topdown.NewQuery(ast.NewBody(e.deny.Copy())).WithCompiler(r.compiler).WithStore(r.store).WithTransaction(r.txn).
			WithInput(ast.NewTerm(value)).WithCancel(b).WithBuiltins(r.builtins).WithIndexing(false).WithEarlyExit(false).
			WithInterQueryBuiltinValueCache(r.values).WithMetrics(metrics.NoOp()).WithQueryTracer(t).
			Iter(ctx, func(topdown.QueryResult) error { return nil })
		stop()
		for _, rule := range r.compiler.GetRulesExact(e.rule("deny")) {
			out = append(out, t.rules[rule].explain(e, rule, value))
		}
		if err != nil {
			return out, describe(err)
		}
	}
	slices.SortStableFunc(out, func(a, b Explanation) int {
		return cmp.Or(cmp.Compare(order(b), order(a)), cmp.Compare(a.File, b.File), a.Line-b.Line)
	})
	return out, nil
}

func order(e Explanation) float64 {
	if e.Refused {
		return 2
	}
	return e.Held
}

// progress is how far a rule came.
type progress struct {
	refused bool
	failed  *ast.Expr
	at      int // its index in the body
	locals  []Value
}

// A tracer watches the rules of one deny set.
type tracer struct {
	rules   map[*ast.Rule]*progress
	running map[uint64]*progress // by the query that evaluates their body
}

// Enabled implements topdown.QueryTracer.
func (t *tracer) Enabled() bool { return true }

// Config implements topdown.QueryTracer.
func (t *tracer) Config() topdown.TraceConfig { return topdown.TraceConfig{PlugLocalVars: true} }

// TraceEvent implements topdown.QueryTracer.
func (t *tracer) TraceEvent(e topdown.Event) {
	switch node := e.Node.(type) {
	case *ast.Rule:
		p := t.rules[node]
		if p == nil {
			return
		}
		t.running[e.QueryID] = p
		if e.Op == topdown.ExitOp && !p.refused {
			p.refused, p.locals = true, locals(e)
		}
	case *ast.Expr:
		p := t.running[e.QueryID]
		if p != nil && e.Op == topdown.FailOp && !p.refused && (p.failed == nil || node.Index >= p.at) {
			p.failed, p.at, p.locals = node, node.Index, locals(e)
		}
	}
}

// locals are the variables that the author named.
func locals(e topdown.Event) []Value {
	var out []Value
	if e.Locals == nil {
		return nil
	}
	e.Locals.Iter(func(k, v ast.Value) bool {
		name, ok := k.(ast.Var)
		if !ok {
			return false
		}
		md, named := e.LocalMetadata[name]
		if named && !md.Name.IsGenerated() && !md.Name.IsWildcard() && ast.NewTerm(v).IsGround() {
			out = append(out, Value{string(md.Name), shown(v)})
		}
		return false
	})
	slices.SortFunc(out, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func shown(v ast.Value) string {
	s := v.String()
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}

func (p *progress) explain(e *entry, rule *ast.Rule, input ast.Value) Explanation {
	x := Explanation{Package: e.info.Path, Refused: p.refused, Held: 1}
	if l := rule.Loc(); l != nil {
		x.File, x.Line = l.File, l.Row
		x.Rule, _, _ = strings.Cut(strings.TrimSpace(string(l.Text)), "\n")
	}
	if !p.refused {
		x.Held = float64(p.at) / float64(max(len(rule.Body), 1))
		if p.failed != nil && p.failed.Location != nil {
			x.Failed, x.FailedLine = string(p.failed.Location.Text), p.failed.Location.Row
		}
	}
	x.Values = append(inputValues(rule, input), p.locals...)
	return x
}

// inputValues are the parts of the input that a rule names.
func inputValues(rule *ast.Rule, input ast.Value) []Value {
	out := []Value{}
	seen := map[string]bool{}
	ast.WalkRefs(rule, func(ref ast.Ref) bool {
		ground := ref.GroundPrefix()
		name := ground.String()
		if !ref.HasPrefix(ast.InputRootRef) || len(ground) < 2 || seen[name] {
			return false
		}
		seen[name] = true
		v, err := input.Find(ground[1:])
		if err != nil {
			out = append(out, Value{name, "(not there)"})
			return false
		}
		out = append(out, Value{name, shown(v)})
		return false
	})
	return out
}
