package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/gobwas/glob"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval"
)

// surface reports tools and packages that miss each other.
func (v *verifier) surface() {
	servers := map[string][]string{}
	for _, t := range v.Tools {
		if !slices.Contains(servers[t.Name()], t.Server()) {
			servers[t.Name()] = append(servers[t.Name()], t.Server())
		}
		if len(v.For(t.Server(), t.Name())) == 0 {
			v.fs.add(Finding{ID: idUncovered, Severity: Warning, Server: t.Server(), Tool: t.Name(),
				Message: "no package covers it: every call to it is refused as unmapped", Fix: fmt.Sprintf("write package tools[%s], or map one to it", quote(t.Name()))}, nil)
		}
	}
	for _, p := range v.Packages() {
		v.unused(p)
	}
	for name, of := range servers {
		if len(of) > 1 {
			slices.Sort(of)
			v.fs.add(Finding{ID: idTwice, Severity: Warning, Tool: name,
				Message: fmt.Sprintf("servers %s offer a tool of this name, and the package of that name decides for all of them", strings.Join(of, ", ")),
				Fix:     "map a package to each by server and tool in .manifest, or compare input.tool.server"}, v.packageOf(name))
		}
	}
}

// packageOf returns where a tool's own package is.
func (v *verifier) packageOf(tool string) *ast.Location {
	for _, p := range v.Packages() {
		if ownTool(p) == tool {
			return p.Location
		}
	}
	return nil
}

// ownTool returns the name of the tool of which p is the package, "" when it is none.
func ownTool(p regoeval.Surface) string {
	if len(p.Ref) != 3 || !p.Ref[1].Equal(ast.StringTerm("tools")) {
		return ""
	}
	name, _ := p.Ref[2].Value.(ast.String)
	return string(name)
}

// unused reports a package that decides for no tool.
func (v *verifier) unused(p regoeval.Surface) {
	if len(v.Tools) == 0 || p.Common {
		return
	}
	var names []string
	for _, t := range v.Tools {
		names = append(names, t.Name())
		if slices.ContainsFunc(v.For(t.Server(), t.Name()), func(s regoeval.Surface) bool { return s.Path == p.Path }) {
			return
		}
	}
	f := Finding{ID: idUnused, Severity: Warning, Message: fmt.Sprintf("package %s is for a tool that no server declares: nothing asks it", p.Path), Fix: "correct its name, or remove it"}
	if len(p.Mappings) > 0 {
		f.Message = fmt.Sprintf("package %s is mapped to tools that no server declares: nothing asks it", p.Path)
		f.Fix = "correct the mapping in .manifest, or remove it"
	}
	wanted := ownTool(p)
	if len(p.Mappings) > 0 && !slices.ContainsFunc(p.Mappings, func(m regoeval.Mapping) bool { return glob.QuoteMeta(m.Tool) != m.Tool }) {
		wanted = p.Mappings[0].Tool
	}
	if near := nearest(wanted, names); wanted != "" && near != "" {
		f.Severity = Error
		f.Fix = "did you mean " + quote(near) + "?"
	}
	v.fs.add(f, p.Location)
}

// nearest returns the name that somebody most likely meant, "" when none is near.
func nearest(name string, names []string) string {
	best, least := "", max(2, len(name)/4)+1
	for _, n := range names {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// reachable reports rules that have no part in any decision.
func (v *verifier) reachable() {
	exempt := v.usedBySystem()
	for _, m := range v.Compiler().Modules {
		if isSystem(m.Package.Path) {
			continue
		}
		for _, r := range m.Rules {
			if v.Reached(r) || exempt[r] || isTest(r) || v.decides(m.Package.Path, r) || v.reported(r) {
				continue
			}
			name := strings.TrimPrefix(strings.TrimPrefix(r.Ref().String(), "data"), ".")
			v.fs.add(Finding{ID: idUnreached, Severity: Warning,
				Message: "no deny or warn set reaches " + name, Fix: "use it in a deny set, or remove it"}, locationOf(r))
		}
	}
}

// decides reports whether r is a rule of a set that is asked.
func (v *verifier) decides(path ast.Ref, r *ast.Rule) bool {
	if name := string(r.Head.Name); name != "deny" && name != "warn" {
		return false
	}
	return slices.ContainsFunc(v.Packages(), func(p regoeval.Surface) bool { return p.Ref.Equal(path) })
}

// reported says that the contract has a finding about the rule already.
func (v *verifier) reported(r *ast.Rule) bool {
	at := r.Loc()
	return slices.ContainsFunc(*v.fs, func(f Finding) bool { return at != nil && f.File == at.File && f.Line == at.Row && f.Severity == Error })
}

func isSystem(path ast.Ref) bool { return len(path) > 1 && path[1].Equal(ast.StringTerm("system")) }

func isTest(r *ast.Rule) bool {
	name := string(r.Head.Name)
	return strings.HasPrefix(name, "test_") || strings.HasPrefix(name, "todo_test_")
}

// usedBySystem are the rules that those below data.system, and tests, use.
func (v *verifier) usedBySystem() map[*ast.Rule]bool {
	used := map[*ast.Rule]bool{}
	for _, m := range v.Compiler().Modules {
		for _, r := range m.Rules {
			if isSystem(m.Package.Path) {
				v.follow(r, used)
			}
		}
	}
	return used
}
