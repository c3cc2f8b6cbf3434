package closures

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// topdown evaluates some comprehensions once for all values of a variable outside of
// them, and so meets errors for values that the variable never has. A plan doesn't.
// Where something in such a comprehension can fail, it is left to topdown.

// unfailing are built-ins that have no error, whatever their operands are.
var unfailing = map[string]bool{
	ast.Equality.Name: true, ast.Assign.Name: true, ast.Equal.Name: true, ast.NotEqual.Name: true,
	ast.GreaterThan.Name: true, ast.GreaterThanEq.Name: true, ast.LessThan.Name: true, ast.LessThanEq.Name: true,
	ast.Member.Name: true, ast.MemberWithKey.Name: true,
}

// indexed returns the paths of rules that hold such a comprehension.
func indexed(c *ast.Compiler) []string {
	var paths []string
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			found := false
			ast.WalkTerms(r, func(t *ast.Term) bool {
				if ast.IsComprehension(t.Value) && c.ComprehensionIndex(t) != nil && mayFail(c, t) {
					found = true
				}
				return found
			})
			if found {
				paths = append(paths, r.Ref().StringPrefix().String())
			}
		}
	}
	return paths
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

// checkIndexed panics with an *UnsupportedError where one of funcs is such a rule.
func (p *Plan) checkIndexed(funcs []*ir.Func) {
	for _, f := range funcs {
		_, path, _ := strings.Cut(f.Name, ".")
		for _, rule := range p.indexed {
			if rest, ok := strings.CutPrefix(rule, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				panic(unsupported("a comprehension in %s that topdown evaluates for more values than the rule does, with something in it that may fail", rule))
			}
		}
	}
}
