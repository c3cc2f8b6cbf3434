package regoeval

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regogate/regogate/policy/strictjson"
)

// bounded are built-ins that make numbers of text. What a JSON number may be is
// limited before OPA sees it; a text isn't, and a number of a million digits takes
// 6.5 s and 4.2 GB to compare once, inside of one built-in.
var bounded = []string{"to_number", "units.parse", "units.parse_bytes"}

// maxNumberText is how long the text of a number may be, as for JSON numbers.
const maxNumberText = 64

// boundedName is what a bounded built-in is called in compiled rules. No policy can
// name it: @ is in no Rego variable.
func boundedName(name string) string { return name + "@bounded" }

// boundedBuiltins are the built-ins as compiled rules call them.
func boundedBuiltins() map[string]*topdown.Builtin {
	m := map[string]*topdown.Builtin{}
	for _, name := range bounded {
		m[boundedName(name)] = &topdown.Builtin{Decl: ast.BuiltinMap[name], Func: boundedFunc(name, topdown.GetBuiltin(name))}
	}
	return m
}

func boundedFunc(name string, f topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(ctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		if s, ok := operands[0].Value.(ast.String); ok && (len(s) > maxNumberText || strictjson.IsExtreme(string(s))) {
			return &topdown.Error{Code: topdown.BuiltinErr, Message: name + ": the text is too long for a number, or its exponent too large", Location: ctx.Location}
		}
		return f(ctx, operands, iter)
	}
}

// boundBuiltins makes compiled rules call them. Where a rule replaces one with `with`
// it stays as it is, since the replacement goes by its name.
func (l loader) boundBuiltins() {
	for _, name := range bounded {
		if l.replaced(name) {
			continue
		}
		ref, to := ast.BuiltinMap[name].Ref(), ast.NewTerm(ast.Ref{ast.VarTerm(boundedName(name))})
		for _, m := range l.compiler.Modules {
			ast.WalkExprs(m, func(e *ast.Expr) bool {
				if e.IsCall() && e.Operator().Equal(ref) {
					e.Terms.([]*ast.Term)[0] = to
				}
				return false
			})
		}
	}
}
