package regoeval

import (
	"cmp"
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// A loader checks the load-time contract of a compiled snapshot.
type loader struct {
	*Ruleset
	ctx         context.Context
	negations   *negations
	withTargets []ast.Ref
	required    map[visit][]ast.Ref // what rules require, once it is known
}

// checkContract checks every package that decides, and prepares its queries. It returns
// the rules that have a part in a decision.
func (l loader) checkContract(fs *findings, g gathered) map[*ast.Rule]bool {
	checkToolsData(fs, g.data, g.toolsDataAt)
	for _, m := range g.modules {
		checkAnnotations(fs, m)
	}
	for _, e := range l.packages {
		e.info.Deny = l.checkSet(fs, e, "deny", true)
		e.info.Warn = l.checkSet(fs, e, "warn", false)
		e.deny = bind("deny", e)
		if e.info.Warn > 0 {
			e.warn = bind("warn", e)
		}
	}
	r := &reads{loader: l, fs: fs, visited: map[visit]bool{}, reached: map[*ast.Rule]bool{}}
	m := &messages{loader: l, fs: fs, visited: map[visit]bool{}}
	p := &callOperands{loader: l, fs: fs, requested: g.metadata.Builtins, visited: map[colouring]bool{}, results: map[colouring]bool{}}
	for _, e := range l.packages {
		for _, name := range []string{"deny", "warn"} {
			rules := l.compiler.GetRulesExact(e.rule(name))
			p.rules(rules, nil)
			r.rules(rules, nil)
			for _, rule := range rules {
				if notPartialSet(rule) == "" {
					m.rule(rule, nil)
				}
			}
		}
	}
	for _, check := range g.metadata.SettingsChecks {
		if ref, err := packageRef(check.rule); err == nil {
			r.rules(l.compiler.GetRulesExact(ref), nil)
		}
	}
	for _, e := range l.packages {
		l.checkNames(fs, e, r.reached)
	}
	l.checkNot(fs, r.reached)
	l.checkMask(fs)
	return r.reached
}

// checkSet checks that a rule is a partial set of things that can be messages, and
// returns how many rules it has.
func (l loader) checkSet(fs *findings, e *entry, name string, required bool) int {
	ref := e.rule(name)
	rules := l.compiler.GetRulesExact(ref)
	fix := fmt.Sprintf("write `%s contains \"why\" if …`", name)
	if n := l.compiler.RuleTree.Find(ref); n != nil && len(n.Children) > 0 {
		fs.add(idDenyBelow, cmp.Or(firstRule(n), e.loc), fix, "there are rules below %s of package %s: they make it an object, not a set", name, e.info.Path)
		return 0
	}
	if len(rules) == 0 {
		if required {
			fs.add(idDenyMissing, e.loc, l.missingFix(e, fix), "package %s has no deny set", e.info.Path)
		}
		return 0
	}
	for _, r := range rules {
		if why := notPartialSet(r); why != "" {
			fs.add(idDenyKind, r.Loc(), fix, "%s of package %s %s", name, e.info.Path, why)
		}
	}
	for _, r := range rules {
		if isEmptyMessage(r.Head.Key) {
			fs.add(idDenyElement, r.Loc(), "say why the call is refused", "%s of package %s has an empty message", name, e.info.Path)
		}
	}
	if why := elementProblem(l.compiler.TypeEnv.GetByRef(ref)); why != "" {
		fs.add(idDenyElement, rules[0].Loc(), `make each element a non-empty string, or an object {"msg": …} with optional rule and location`, "%s of package %s holds %s", name, e.info.Path, why)
	}
	return len(rules)
}

// missingFix tells a package of tests, which has no business below data.tools, from
// one that forgot its rules.
func (l loader) missingFix(e *entry, fix string) string {
	rules, tests := 0, 0
	for _, m := range l.compiler.Modules {
		if m.Package.Path.Equal(e.ref) {
			for _, r := range m.Rules {
				rules++
				if isTestRule(r) {
					tests++
				}
			}
		}
	}
	if tests > 0 && rules == tests {
		return "move the tests below tests: package tests." + e.info.Path
	}
	return fix + "; a package that shall refuse nothing yet says `deny contains \"never\" if false`"
}

// firstRule returns where the first rule at or below a node of the rule tree is.
func firstRule(n *ast.TreeNode) *ast.Location {
	var first *ast.Location
	n.DepthFirst(func(n *ast.TreeNode) bool {
		for _, r := range n.Values {
			if before(r.Loc(), first) {
				first = r.Loc()
			}
		}
		return false
	})
	return first
}

// notPartialSet says what a rule is when it isn't one of a partial set, "" when it is.
func notPartialSet(r *ast.Rule) string {
	switch {
	case r.Default:
		return "has a default: an empty set is the default already"
	case len(r.Head.Args) > 0:
		return "is a function, not a set"
	case len(r.Head.Ref()) != 1:
		return "is an object, not a set"
	case r.Head.RuleKind() != ast.MultiValue:
		return "is a single value, not a partial set"
	default:
		return ""
	}
}

// isEmptyMessage reports whether an element is certain to be refused at run time: ""
// or an object with the msg "".
func isEmptyMessage(key *ast.Term) bool {
	if key == nil {
		return false
	}
	if o, ok := key.Value.(ast.Object); ok {
		key = o.Get(ast.StringTerm("msg"))
	}
	return key != nil && key.Equal(ast.StringTerm(""))
}

// elementProblem says which element of a set could never be a message, "" when
// there is none that is known before evaluation.
func elementProblem(t types.Type) string {
	set, ok := t.(*types.Set)
	if !ok {
		return ""
	}
	return notMessage(set.Of())
}

func notMessage(t types.Type) string {
	switch t := t.(type) {
	case nil, types.String:
		return ""
	case types.Any:
		for _, member := range t { // an empty union is anything: left to run time
			if why := notMessage(member); why != "" {
				return why
			}
		}
		return ""
	case *types.Object:
		return notMessageObject(t)
	case types.Null, types.Boolean, types.Number, *types.Array, *types.Set, *types.Function:
		return "an element of type " + t.String()
	default:
		return "" // a type that OPA doesn't resolve: left to run time
	}
}

func notMessageObject(t *types.Object) string {
	hasMsg := t.DynamicProperties() != nil
	for _, p := range t.StaticProperties() {
		switch p.Key {
		case "msg", "rule", "location":
			hasMsg = hasMsg || p.Key == "msg"
			if !couldBeString(p.Value) {
				return fmt.Sprintf("an object whose %v is a %s", p.Key, p.Value)
			}
		default:
			return fmt.Sprintf("an object with a member %v", p.Key)
		}
	}
	if !hasMsg {
		return "an object without msg"
	}
	return ""
}

func couldBeString(t types.Type) bool {
	switch t := t.(type) {
	case nil, types.String:
		return true
	case types.Any:
		if len(t) == 0 {
			return true
		}
		for _, m := range t {
			if !couldBeString(m) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// checkAnnotations refuses schemas that the author declares: they would take
// precedence over what is known of a tool's arguments.
func checkAnnotations(fs *findings, m *ast.Module) {
	for _, a := range m.Annotations {
		if len(a.Schemas) > 0 {
			fs.add(idAnnotation, a.Loc(), "remove schemas from the METADATA block: what a tool's arguments are is known from the tool", "a METADATA block declares schemas")
		}
	}
}

// checkToolsData refuses data that could stand in for a rule.
func checkToolsData(fs *findings, data map[string]any, at *ast.Location) {
	fix := "keep data out of data.tools; settings belong below data.settings"
	tools, ok := data["tools"]
	if !ok {
		return
	}
	byName, ok := tools.(map[string]any)
	if !ok {
		fs.add(idDataDeny, at, fix, "data.tools is a value: nothing but packages may be there")
		return
	}
	for name, v := range byName {
		below, ok := v.(map[string]any)
		if !ok {
			fs.add(idDataDeny, at, fix, "data.tools[%q] is a value: it would stand in for the package of that tool", name)
			continue
		}
		for _, rule := range []string{"deny", "warn"} {
			if _, supplied := below[rule]; supplied {
				fs.add(idDataDeny, at, fix, "data supplies data.tools[%q].%s: only rules may", name, rule)
			}
		}
	}
}
