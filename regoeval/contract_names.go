package regoeval

import (
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// otherConventions are names that other tools evaluate, each on its own or with a
// suffix. Here only deny and warn are asked.
var otherConventions = regexp.MustCompile(`^(?i:deny|warn|violation|allow)s?(_.*)?$`)

// checkNames refuses a rule that its author most likely takes for a part of the deny
// set: a misspelt deny beside a right one, deny_x or violation as in other tools, or
// an allow that nothing asks.
func (l loader) checkNames(fs *findings, e *entry, reached map[*ast.Rule]bool) {
	for _, m := range l.compiler.Modules {
		if !m.Package.Path.Equal(e.ref) {
			continue
		}
		for _, r := range m.Rules {
			if reached[r] || isTestRule(r) || len(r.Head.Args) > 0 {
				continue
			}
			if name := misleading(r.Head.Ref()); name != "" {
				fs.add(idDenyName, r.Loc(), nameFix(name),
					"%s of package %s looks as if it decided, and nothing asks it: only deny and warn are evaluated", name, e.info.Path)
			}
		}
	}
}

// misleading returns the name of a rule that looks as if it decided; "" when none does.
func misleading(ref ast.Ref) string {
	for i, t := range ref {
		name := ""
		switch v := t.Value.(type) {
		case ast.Var:
			name = string(v)
		case ast.String:
			name = string(v)
		}
		lower := strings.ToLower(name)
		switch {
		case i == 0 && (name == "deny" || name == "warn"):
			return "" // its kind, and what is below it, has been checked
		case i > 0 && !(lower == "deny" || lower == "warn"):
		case otherConventions.MatchString(name), oneOff(lower, "deny"), oneOff(lower, "warn"):
			return ref.String()
		}
	}
	return ""
}

func nameFix(name string) string {
	if strings.HasPrefix(strings.ToLower(name), "allow") {
		return "write `deny contains \"not allowed\" if not " + name + "`, or remove the rule"
	}
	return "name it deny or warn, use it in one of them, or remove it"
}

// oneOff reports whether two names differ by one letter more, less or other, or by two
// neighbours in the wrong order.
func oneOff(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		rest, other := a[i:], b[i:]
		if len(rest) == 0 {
			return false // the same name
		}
		swapped := len(rest) > 1 && rest[0] == other[1] && rest[1] == other[0] && rest[2:] == other[2:]
		return rest[1:] == other[1:] || swapped
	case 1:
		return a[i:] == b[i+1:]
	default:
		return false
	}
}
