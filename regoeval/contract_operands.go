package regoeval

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// An authorsOnly is an operand that has to be the policy's own, and not the call's,
// because of what it does to the cost of the call.
type authorsOnly struct {
	index int
	what  string
}

const (
	aPattern = "the pattern of %s comes from the call, and who writes a pattern decides how long it runs"
	aSearch  = "the text that %s looks for comes from the call: preparing it takes the square of its length"
	aFormat  = "the format of %s comes from the call, and 1 MB of verbs with a width of 1,000,000 become 90 GB"
	aFilling = "%s puts a text from the call in at every place, so that 1 MB of arguments can become 250 GB"
)

// authorsOperands lists them. A regular expression of nine characters, (.*a){900},
// over 1 MB of text ran for minutes, and no deadline stops it; concat with a separator
// of half a megabyte ended the process for want of memory; replace of 1 MB of repeated
// text took two minutes before it looked for it.
var authorsOperands = map[string][]authorsOnly{
	"regex.match": {{0, aPattern}}, "regex.is_valid": {{0, aPattern}}, "regex.split": {{0, aPattern}},
	"regex.find_n": {{0, aPattern}}, "regex.find_all_string_submatch_n": {{0, aPattern}},
	"regex.template_match": {{0, aPattern}}, "glob.match": {{0, aPattern}},
	"regex.replace": {{1, aPattern}, {2, aFilling}},
	"sprintf":       {{0, aFormat}},
	"concat":        {{0, aFilling}}, "replace": {{1, aSearch}, {2, aFilling}}, "strings.replace_n": {{0, aFilling}},
}

// callOperands refuses patterns, and the like, that the call brings along. It follows
// values, not conditions: a pattern that is chosen by an argument among those of the
// policy is the policy's.
type callOperands struct {
	loader
	fs        *findings
	requested []string // built-ins for which the bundle has accepted the cost
	visited   map[colouring]bool
	results   map[colouring]bool
}

// A colouring is a rule together with which of its arguments come from the call.
type colouring struct {
	rule *ast.Rule
	args string
}

func colour(rule *ast.Rule, args []bool) colouring {
	var b strings.Builder
	for _, a := range args {
		if a {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return colouring{rule, b.String()}
}

// rules checks rules and everything that they use.
func (p *callOperands) rules(rules []*ast.Rule, args []bool) {
	for _, r := range rules {
		key := colour(r, args)
		if p.visited[key] {
			continue
		}
		p.visited[key] = true
		from := p.fromCall(r, args)
		ast.WalkExprs(r, func(e *ast.Expr) bool {
			p.expr(e, from)
			return false
		})
		ast.WalkRefs(r, func(ref ast.Ref) bool {
			if ref.HasPrefix(ast.DefaultRootRef) {
				p.rules(slices.DeleteFunc(p.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{}), isFunction), nil)
			}
			return false
		})
	}
}

func isFunction(r *ast.Rule) bool { return len(r.Head.Args) > 0 }

func (p *callOperands) expr(e *ast.Expr, from ast.VarSet) {
	if !e.IsCall() {
		return
	}
	operands := e.Operands()
	if fn := p.userFunction(e); fn != nil {
		p.rules(fn, p.colours(operands[:len(fn[0].Head.Args)], from))
		return
	}
	name := e.Operator().String()
	if slices.Contains(p.requested, name) {
		return
	}
	for _, own := range authorsOperands[name] {
		if own.index < len(operands) && p.tainted(operands[own.index], from) {
			p.fs.add(idOperand, e.Location, builtinRequest(name), own.what, name)
		}
	}
}

func (p *callOperands) colours(terms []*ast.Term, from ast.VarSet) []bool {
	out := make([]bool, len(terms))
	for i, t := range terms {
		out[i] = p.tainted(t, from)
	}
	return out
}

// fromCall returns the variables of a rule whose values come from the call.
func (p *callOperands) fromCall(rule *ast.Rule, args []bool) ast.VarSet {
	from := ast.VarSet{}
	for i, a := range rule.Head.Args {
		if i < len(args) && args[i] {
			from.Update(varsOf(a))
		}
	}
	for before := -1; before != len(from); {
		before = len(from)
		ast.WalkExprs(rule, func(e *ast.Expr) bool {
			p.spread(e, from)
			return false
		})
	}
	return from
}

// spread adds the variables to which one expression gives a value from the call.
func (p *callOperands) spread(e *ast.Expr, from ast.VarSet) {
	if ev, ok := e.Terms.(*ast.Every); ok {
		if p.tainted(ev.Domain, from) {
			from.Update(varsOf(ev.Value))
			if ev.Key != nil {
				from.Update(varsOf(ev.Key))
			}
		}
		return
	}
	if e.IsEquality() || e.IsAssignment() {
		a, b := e.Operand(0), e.Operand(1)
		if p.tainted(a, from) || p.tainted(b, from) {
			from.Update(patternVars(a))
			from.Update(patternVars(b))
		}
		return
	}
	if !e.IsCall() {
		return
	}
	operands := e.Operands()
	last := len(operands) - 1
	if fn := p.userFunction(e); fn != nil {
		arity := len(fn[0].Head.Args)
		colours := p.colours(operands[:arity], from)
		if arity == last && slices.ContainsFunc(fn, func(r *ast.Rule) bool { return p.result(r, colours) }) {
			from.Update(patternVars(operands[last]))
		}
		return
	}
	b := ast.BuiltinMap[e.Operator().String()]
	if b == nil || len(operands) > b.Decl.Arity() { // else nothing is bound
		if slices.ContainsFunc(operands[:last], func(t *ast.Term) bool { return p.tainted(t, from) }) {
			from.Update(patternVars(operands[last]))
		}
	}
}

// patternVars returns the variables that a unification with t binds: not those by
// which a reference looks something up.
func patternVars(t *ast.Term) ast.VarSet {
	if ref, ok := t.Value.(ast.Ref); ok {
		vars := ast.VarSet{}
		for _, x := range ref[1:] {
			if v, ok := x.Value.(ast.Var); ok {
				vars.Add(v)
			}
		}
		return vars
	}
	vis := ast.NewVarVisitor().WithParams(ast.VarVisitorParams{SkipClosures: true})
	vis.Walk(t)
	return vis.Vars()
}

// result reports whether a rule's value comes from the call.
func (p *callOperands) result(r *ast.Rule, args []bool) bool {
	key := colour(r, args)
	if known, ok := p.results[key]; ok {
		return known
	}
	p.results[key] = true // OPA refuses recursion; should it not, this is the careful answer
	out := false
	from := p.fromCall(r, args)
	for _, b := range branches(r) {
		for _, t := range []*ast.Term{b.Head.Key, b.Head.Value} {
			out = out || t != nil && p.tainted(t, from)
		}
	}
	p.results[key] = out
	return out
}

// tainted reports whether a term has a part that comes from the call.
func (p *callOperands) tainted(t *ast.Term, from ast.VarSet) bool {
	found := false
	ast.WalkTerms(t, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Ref:
			found = found || p.taintedRef(v, from)
			return true
		case ast.Var:
			found = found || from.Contains(v)
		case *ast.ArrayComprehension: // what is collected, not under which conditions
			found = found || p.tainted(v.Term, from)
			return true
		case *ast.SetComprehension:
			found = found || p.tainted(v.Term, from)
			return true
		case *ast.ObjectComprehension:
			found = found || p.tainted(v.Key, from) || p.tainted(v.Value, from)
			return true
		}
		return found
	})
	return found
}

var callRoots = []ast.Ref{
	ast.InputRootRef.Append(ast.StringTerm("arguments")),
	ast.InputRootRef.Append(ast.StringTerm("call")),
}

func (p *callOperands) taintedRef(ref ast.Ref, from ast.VarSet) bool {
	if v, ok := ref[0].Value.(ast.Var); ok && from.Contains(v) {
		return true
	}
	for _, root := range callRoots {
		if ref.HasPrefix(root) || root.HasPrefix(ref) {
			return true
		}
	}
	if slices.ContainsFunc(p.withTargets, func(t ast.Ref) bool { return ref.HasPrefix(t) || t.HasPrefix(ref) }) {
		return true // some rule puts a value there itself, with `with`
	}
	if !ref.HasPrefix(ast.DefaultRootRef) {
		return ref.HasPrefix(ast.InputRootRef) && !ref.IsGround() && len(ref) == 2 // input[x]
	}
	rules := slices.DeleteFunc(p.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{}), isFunction)
	return slices.ContainsFunc(rules, func(r *ast.Rule) bool { return p.result(r, nil) })
}
