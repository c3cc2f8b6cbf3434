package regoeval

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// patternOperands says which operand of a built-in is a program of its own: whoever
// writes a regular expression or a glob decides how long it runs. A pattern of nine
// characters, (.*a){900}, over 1 MB of text ran for minutes, and no deadline stops it.
var patternOperands = map[string]int{
	"regex.match": 0, "regex.is_valid": 0, "regex.split": 0, "regex.find_n": 0, "regex.find_all_string_submatch_n": 0,
	"regex.replace": 1, "regex.template_match": 0, "re_match": 0, "glob.match": 0,
}

// patterns refuses patterns that the call brings along. It follows values, not
// conditions: a pattern that is chosen by an argument among those of the policy is
// the policy's.
type patterns struct {
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
func (p *patterns) rules(rules []*ast.Rule, args []bool) {
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
				p.rules(slices.DeleteFunc(p.compiler.GetRulesDynamic(ref), isFunction), nil)
			}
			return false
		})
	}
}

func isFunction(r *ast.Rule) bool { return len(r.Head.Args) > 0 }

func (p *patterns) expr(e *ast.Expr, from ast.VarSet) {
	if !e.IsCall() {
		return
	}
	operands := e.Operands()
	if fn := p.userFunction(e); fn != nil {
		p.rules(fn, p.colours(operands[:len(fn[0].Head.Args)], from))
		return
	}
	name := e.Operator().String()
	i, ok := patternOperands[name]
	if !ok || i >= len(operands) || slices.Contains(p.requested, name) || !p.tainted(operands[i], from) {
		return
	}
	p.fs.add(idPattern, e.Location, builtinRequest(name), "the pattern of %s comes from the call, and who writes a pattern decides how long it runs", name)
}

func (p *patterns) colours(terms []*ast.Term, from ast.VarSet) []bool {
	out := make([]bool, len(terms))
	for i, t := range terms {
		out[i] = p.tainted(t, from)
	}
	return out
}

// fromCall returns the variables of a rule whose values come from the call.
func (p *patterns) fromCall(rule *ast.Rule, args []bool) ast.VarSet {
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
func (p *patterns) spread(e *ast.Expr, from ast.VarSet) {
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
	if last >= 0 && slices.ContainsFunc(operands[:last], func(t *ast.Term) bool { return p.tainted(t, from) }) {
		from.Update(patternVars(operands[last]))
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
	return varsOf(t)
}

// result reports whether a rule's value comes from the call.
func (p *patterns) result(r *ast.Rule, args []bool) bool {
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
func (p *patterns) tainted(t *ast.Term, from ast.VarSet) bool {
	found := false
	vis := ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Term:
			if ref, ok := x.Value.(ast.Ref); ok {
				found = found || p.taintedRef(ref, from)
				return true
			}
			if v, ok := x.Value.(ast.Var); ok {
				found = found || from.Contains(v)
			}
		}
		return found
	})
	vis.Walk(t)
	return found
}

var callRoots = []ast.Ref{
	ast.InputRootRef.Append(ast.StringTerm("arguments")),
	ast.InputRootRef.Append(ast.StringTerm("call")),
}

func (p *patterns) taintedRef(ref ast.Ref, from ast.VarSet) bool {
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
	rules := slices.DeleteFunc(p.compiler.GetRulesDynamic(ref), isFunction)
	return slices.ContainsFunc(rules, func(r *ast.Rule) bool { return p.result(r, nil) })
}
