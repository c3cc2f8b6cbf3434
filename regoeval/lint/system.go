package lint

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// logRules are the rules of package system.log that a decision log asks: mask here, drop
// in OPA's own.
var logRules = []string{"mask", "drop"}

// system reports rules below data.system that nobody asks: then a secret is logged that
// its author takes for masked.
func (v *verifier) system() {
	used := v.usedByLog()
	for _, name := range sortedModules(v.Compiler().Modules) {
		m := v.Compiler().Modules[name]
		if !isSystem(m.Package.Path) {
			continue
		}
		for _, r := range m.Rules {
			if used[r] || isTest(r) {
				continue
			}
			rule := ruleName(r)
			if !m.Package.Path.Equal(logPackage) {
				path := m.Package.Path.String()
				if nearest(path, []string{logPackage.String()}) == "" {
					continue // of another part of OPA
				}
				v.fs.add(Finding{ID: idLog, Severity: Error,
					Message: fmt.Sprintf("nothing asks %s of package %s: what is masked is said in package system.log", rule, path[len("data."):]),
					Fix:     "name it package system.log"}, locationOf(r))
				continue
			}
			f := Finding{ID: idLog, Severity: Warning, Message: fmt.Sprintf("nothing in package system.log uses %s: decision logs ask for mask only", rule), Fix: "use it in mask, or remove it"}
			if near := nearest(rule, logRules); near != "" {
				f.Severity, f.Fix = Error, "did you mean "+quote(near)+"?"
			}
			v.fs.add(f, locationOf(r))
		}
	}
}

var logPackage = ast.Ref{ast.DefaultRootDocument, ast.StringTerm("system"), ast.StringTerm("log")}

func ruleName(r *ast.Rule) string {
	if name, ok := r.Head.Ref()[0].Value.(ast.Var); ok {
		return string(name)
	}
	return string(r.Head.Name)
}

// usedByLog are mask and drop, and the rules that they use.
func (v *verifier) usedByLog() map[*ast.Rule]bool {
	used := map[*ast.Rule]bool{}
	for _, m := range v.Compiler().Modules {
		for _, r := range m.Rules {
			if m.Package.Path.Equal(logPackage) && slices.Contains(logRules, ruleName(r)) {
				v.follow(r, used)
			}
		}
	}
	return used
}

// follow adds a rule and those that it uses.
func (v *verifier) follow(r *ast.Rule, used map[*ast.Rule]bool) {
	if used[r] {
		return
	}
	used[r] = true
	ast.WalkRefs(r, func(ref ast.Ref) bool {
		if ref.HasPrefix(ast.DefaultRootRef) {
			for _, next := range v.Compiler().GetRulesDynamicWithOpts(ref, ast.RulesOptions{}) {
				v.follow(next, used)
			}
		}
		return false
	})
}
