package regoeval

import (
	"context"
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A settingsCheck is a rule that says what is wrong with data.settings.
type settingsCheck struct {
	rule string
	at   *ast.Location // the manifest that names it
	// others are the settings that other bundles bring along: no business of this one.
	others map[string]bool
}

// settingsOfOthers lists the settings of all bundles but the one at index self.
func settingsOfOthers(bundles []NamedBundle, self int) map[string]bool {
	others := map[string]bool{}
	for i, b := range bundles {
		settings, ok := b.Bundle.Data["settings"].(map[string]any)
		if i == self || !ok {
			continue
		}
		for name := range settings {
			others[name] = true
		}
	}
	return others
}

// checkSettings evaluates a check, once. Each element is a finding; a rule that can't
// be evaluated is one too.
func (r *Ruleset) checkSettings(ctx context.Context, c settingsCheck, data map[string]any, fs *findings) {
	fix := "correct the setting, in the bundle's data.json or in the file given with --settings"
	ref, err := packageRef(c.rule)
	if err != nil {
		fs.add(idManifest, c.at, "correct settings_check in .manifest", "settings_check: %s", err)
		return
	}
	if rules := r.compiler.GetRulesExact(ref); len(rules) == 0 || notPartialSet(rules[0]) != "" {
		fs.add(idManifest, c.at, "correct settings_check in .manifest", "settings_check: there is no partial set %s", c.rule)
		return
	}
	v := ast.Var("settings@check")
	ask := ast.Equality.Expr(ast.NewTerm(v), ast.NewTerm(ref))
	if settings, ok := data["settings"].(map[string]any); ok && len(c.others) > 0 {
		own := maps.Clone(settings)
		maps.DeleteFunc(own, func(name string, _ any) bool { return c.others[name] })
		value, err := ast.InterfaceToValue(own)
		if err != nil {
			fs.add(idSettings, nil, fix, "the settings can't be read: %s", err)
			return
		}
		target := ast.Ref{ast.DefaultRootDocument, ast.StringTerm("settings")}
		ask.With = []*ast.With{{Target: ast.NewTerm(target), Value: ast.NewTerm(value)}}
	}
	result, err := r.evaluate(ctx, ast.NewBody(ask), ast.NewTerm(ast.NewObject()))
	if err != nil {
		fs.add(idSettings, nil, fix, "the settings could not be checked by %s: %s", c.rule, err)
		return
	}
	problems, err := elements(result[v])
	if err != nil {
		fs.add(idSettings, nil, fix, "the settings could not be checked by %s: %s", c.rule, err)
		return
	}
	for _, p := range problems {
		fs.add(idSettings, nil, fix, "%s", p.Message)
	}
}
