package closures

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// What a plan doesn't tell has to be read from the rules. A rule that holds one of these
// is left to topdown.
const (
	// topdown evaluates some comprehensions once for all values of a variable outside of
	// them, and so meets errors for values that the variable never has.
	whyIndexed = "a comprehension that topdown evaluates for more values than the rule has, with something in it that may fail"
	// A comprehension that is a condition by itself (the body of `if {a | b}` is one)
	// always holds, and no plan evaluates it.
	whyBare = "a comprehension as a condition, with something in it that may fail"
	// The planner counts replacements of input and data, and looks for them among all
	// replacements: after one of a function it replaces the wrong document.
	whyWith = "`with` replaces input or data after a function"
)

// unfailing are built-ins that have no error, whatever their operands are.
var unfailing = map[string]bool{
	ast.Equality.Name: true, ast.Assign.Name: true, ast.Equal.Name: true, ast.NotEqual.Name: true,
	ast.GreaterThan.Name: true, ast.GreaterThanEq.Name: true, ast.LessThan.Name: true, ast.LessThanEq.Name: true,
	ast.Member.Name: true, ast.MemberWithKey.Name: true,
}

// unplannable returns why rules are left to topdown, by their paths.
func unplannable(c *ast.Compiler) map[string]string {
	found := map[string]string{}
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			if why := whyTopdown(c, r); why != "" {
				found[r.Ref().StringPrefix().String()] = why
			}
		}
	}
	return found
}

func whyTopdown(c *ast.Compiler, r *ast.Rule) (why string) {
	ast.WalkTerms(r, func(t *ast.Term) bool {
		if ast.IsComprehension(t.Value) && c.ComprehensionIndex(t) != nil && mayFail(c, t) {
			why = whyIndexed
		}
		return why != ""
	})
	ast.WalkExprs(r, func(e *ast.Expr) bool {
		if t, ok := e.Terms.(*ast.Term); ok && holdsComprehension(t) && mayFail(c, t) {
			why = whyBare
		}
		if replacesAfterFunction(c, e) {
			why = whyWith
		}
		return why != ""
	})
	return why
}

// holdsComprehension reports whether a comprehension is in a term that no plan looks at.
func holdsComprehension(t *ast.Term) bool {
	if _, isRef := t.Value.(ast.Ref); isRef {
		return false
	}
	found := false
	ast.WalkTerms(t, func(t *ast.Term) bool {
		found = found || ast.IsComprehension(t.Value)
		return found
	})
	return found
}

func mayFail(c *ast.Compiler, t *ast.Term) bool {
	found := false
	ast.WalkExprs(t, func(e *ast.Expr) bool {
		if e.IsCall() && !unfailing[e.Operator().String()] {
			found = true
		}
		return found
	})
	ast.WalkRefs(t, func(r ast.Ref) bool {
		if r.HasPrefix(ast.DefaultRootRef) && len(c.GetRulesDynamicWithOpts(r, ast.RulesOptions{})) > 0 {
			found = true
		}
		return found
	})
	return found
}

func replacesAfterFunction(c *ast.Compiler, e *ast.Expr) bool {
	function := false
	for _, w := range e.With {
		if isFunction(c, w.Target) {
			function = true
		} else if function {
			return true
		}
	}
	return false
}

func isFunction(c *ast.Compiler, t *ast.Term) bool {
	ref, ok := t.Value.(ast.Ref)
	if !ok {
		return true // the name of a built-in
	}
	switch {
	case ref.HasPrefix(ast.InputRootRef):
		return false
	case !ref.HasPrefix(ast.DefaultRootRef):
		return true
	}
	rules := c.GetRulesExact(ref)
	return len(rules) > 0 && len(rules[0].Head.Args) > 0
}

// checkSources panics with an *UnsupportedError where one of funcs is such a rule.
func (p *Plan) checkSources(funcs []*ir.Func) {
	for _, f := range funcs {
		_, path, _ := strings.Cut(f.Name, ".")
		for rule, why := range p.unplannable {
			if rest, ok := strings.CutPrefix(rule, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				panic(unsupported("%s in %s", why, rule))
			}
		}
	}
}
