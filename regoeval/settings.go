package regoeval

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"
)

// checkSettings evaluates a rule that says what is wrong with data.settings, once.
// Each element is a finding; a rule that can't be evaluated is one too.
func (r *Ruleset) checkSettings(ctx context.Context, rule string, fs *findings) {
	fix := "correct the setting, in the bundle's data.json or in the file given with --settings"
	ref, err := packageRef(rule)
	if err != nil {
		fs.add(idManifest, nil, "correct settings_check in .manifest", "settings_check: %s", err)
		return
	}
	if rules := r.compiler.GetRulesExact(ref); len(rules) == 0 || notPartialSet(rules[0]) != "" {
		fs.add(idManifest, nil, "correct settings_check in .manifest", "settings_check: there is no partial set %s", rule)
		return
	}
	v := ast.Var("settings@check")
	body := ast.NewBody(ast.Equality.Expr(ast.NewTerm(v), ast.NewTerm(ref)))
	result, err := r.evaluate(ctx, body, ast.NewTerm(ast.NewObject()))
	if err != nil {
		fs.add(idSettings, nil, fix, "the settings could not be checked by %s: %s", rule, err)
		return
	}
	problems, err := elements(result[v])
	if err != nil {
		fs.add(idSettings, nil, fix, "the settings could not be checked by %s: %s", rule, err)
		return
	}
	for _, p := range problems {
		fs.add(idSettings, nil, fix, "%s", p.Message)
	}
}
