package lint

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/regoeval/internal/projector"
	"github.com/regogate/regogate/regoeval/internal/typecheck"
)

// silence reports deny rules that say nothing of calls in which a value that they read
// is absent, null or of another type.
func (v *verifier) silence() {
	said := map[string]bool{}
	covered := map[string]bool{}
	found := make([][]typecheck.Silence, len(v.Tools))
	v.eachTool(v.quiet, func(i int, t *policy.Tool, m *typecheck.Memory) {
		rules := v.setOf(v.For(t.Server(), t.Name()), "deny")
		found[i] = typecheck.Silent(v.quietly(t.Server(), t.Name(), m), regoeval.TypeOf(t), rules, func(path string) bool { return below(path, "input") })
	})
	for i, t := range v.Tools {
		for _, p := range v.For(t.Server(), t.Name()) {
			covered[p.Path] = true
		}
		v.silent(found[i], Finding{Server: t.Server(), Tool: t.Name()}, said)
	}
	// Of a tool that nobody has shown, the caller and what else every input document has.
	anyTool := typecheck.Tool{Arguments: projector.Arguments(nil)}
	common := v.commonPackages()
	for _, p := range v.Packages() {
		if covered[p.Path] {
			continue
		}
		packages := []regoeval.Surface{p}
		if !p.Common {
			packages = append(packages, common...)
		}
		found := typecheck.Silent(v.quietly("", "", v.quiet[0]), anyTool, v.setOf(packages, "deny"), func(path string) bool {
			return below(path, "input") && !below(path, "input.arguments")
		})
		v.silent(found, Finding{}, said)
	}
}

// quietly are the rules for asking where they are silent, whatever the data.
func (v *verifier) quietly(server, tool string, m *typecheck.Memory) typecheck.Rules {
	r := v.Checkable(server, tool)
	r.Memory = m
	return r
}

func (v *verifier) commonPackages() []regoeval.Surface {
	var out []regoeval.Surface
	for _, p := range v.Packages() {
		if p.Common {
			out = append(out, p)
		}
	}
	return out
}

// below reports whether a place is inside of another.
func below(path, of string) bool {
	rest, ok := strings.CutPrefix(path, of)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

func (v *verifier) silent(found []typecheck.Silence, f Finding, said map[string]bool) {
	for _, s := range found {
		states := s.States()
		key := fmt.Sprintf("%p %s %s", s.Rule, s.Path, strings.Join(states, " "))
		if said[key] {
			continue
		}
		said[key] = true
		f.ID, f.Severity = idSilent, Warning
		f.Message = fmt.Sprintf("the rule neither refuses nor is an error where %s is %s", s.Path, strings.Join(states, " or "))
		f.Fix = v.silentFix(s)
		v.fs.add(f, locationOf(s.Rule))
	}
}

func locationOf(r *ast.Rule) *ast.Location {
	if r.Head != nil && r.Head.Location != nil {
		return r.Head.Location
	}
	return r.Loc()
}

func (v *verifier) silentFix(s typecheck.Silence) string {
	at := strings.LastIndex(s.Path, ".")
	switch {
	case s.Path == "input.caller.subject" || s.Path == "input.caller.tenant":
		return fmt.Sprintf("refuse it as well where %s == null, or have caller.require ask for it", s.Path)
	case s.Absent && at > 0 && !strings.Contains(s.Path, "[_]"):
		return fmt.Sprintf("refuse it as well where there is none (not %s), or say what its absence means: object.get(%s, %s, default)", s.Path, s.Path[:at], quote(s.Path[at+1:]))
	case !s.Typed:
		return fmt.Sprintf("refuse other types as well (with is_string(%s) and the like), or have the schema say which it is", s.Path)
	default:
		return "refuse these calls as well, or have the schema exclude them"
	}
}
