package regoeval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/internal/closures"
)

// An entry is one package that decides something: its deny set, and its warn set
// when it has one, as expressions that bind the set to a variable.
type entry struct {
	ref  ast.Ref // data.tools["x"]
	info policy.Package
	deny *ast.Expr
	warn *ast.Expr // nil when there is no warn set
	loc  *ast.Location
	// programs are deny and warn compiled; nil where topdown evaluates them.
	programs map[string]*closures.Program
}

// toolPackage is the package of a tool's own rules. The name is a value and never
// becomes source text, whatever characters are in it.
func toolPackage(tool string) ast.Ref {
	return ast.Ref{ast.DefaultRootDocument, ast.StringTerm("tools"), ast.StringTerm(tool)}
}

// addPackages finds the packages that decide: every one directly below data.tools,
// and those that a manifest or the configuration names.
func (r *Ruleset) addPackages(g gathered, s Source, fs *findings) {
	wanted := map[string]bool{} // packages that are named, which may be anywhere
	common := slices.Clone(s.Common)
	for _, c := range g.metadata.Common {
		common = append(common, c.Package)
	}
	for _, text := range common {
		ref, err := packageRef(text)
		if err != nil {
			fs.add(idManifest, g.named[text], "correct the list of common packages", "common: %s", err)
			continue
		}
		wanted[ref.String()] = true
		if e := r.named(ref, g.named[text], fs); e != nil && !slices.Contains(r.common, e) {
			r.common = append(r.common, e)
		}
	}
	for _, m := range slices.Concat(g.metadata.Map, s.Map) {
		cm, err := compileMapping(m)
		if err != nil {
			fs.add(idManifest, g.named[m.Package], "correct the mapping", "map: %s", err)
			continue
		}
		wanted[cm.ref.String()] = true
		if e := r.named(cm.ref, g.named[m.Package], fs); e != nil {
			r.mappings = append(r.mappings, mapped{cm, e})
		}
	}
	for _, m := range r.compiler.Modules {
		r.addOwn(m.Package, wanted, fs)
	}
	if len(r.packages) == 0 && len(*fs) == 0 {
		fs.add(idNoRules, g.bundleAt, `write package tools["NAME"] with a deny set, or name common packages in .manifest`, "no package in the bundle decides anything")
	}
}

// addOwn adds the package of a tool's own rules, and refuses packages that look like
// one and would never be asked.
func (r *Ruleset) addOwn(p *ast.Package, wanted map[string]bool, fs *findings) {
	path := p.Path
	if len(path) < 2 {
		return
	}
	if !path[1].Equal(ast.StringTerm("tools")) {
		if name, ok := path[1].Value.(ast.String); ok && !wanted[path.String()] && (strings.EqualFold(string(name), "tools") || oneOff(strings.ToLower(string(name)), "tools")) {
			fs.add(idToolsPackage, p.Location, "write package tools, or give the package another name", "package %s is not below tools, so that it would never be evaluated", packageText(path))
		}
		return
	}
	switch {
	case len(path) == 2: // also when it is mapped: rules such as x.deny would look as if they were those of tool x
		fs.add(idToolsPackage, p.Location, `name the tool: package tools["NAME"]`, "package tools is no tool's")
	case wanted[path.String()]:
	case len(path) == 3:
		r.entry(path, p.Location)
	default:
		fs.add(idToolsPackage, p.Location, fmt.Sprintf("a tool's name is one string: package tools[%q]; or map the package in .manifest", joined(path[2:])),
			"package %s is below a tool's package and would never be evaluated", packageText(path))
	}
}

func joined(path ast.Ref) string {
	out := ""
	for i, t := range path {
		if i > 0 {
			out += "."
		}
		if s, ok := t.Value.(ast.String); ok {
			out += string(s)
		}
	}
	return out
}

// named returns the entry of a package that somebody named; it must exist.
func (r *Ruleset) named(ref ast.Ref, by *ast.Location, fs *findings) *entry {
	for _, m := range r.compiler.Modules {
		if m.Package.Path.Equal(ref) {
			return r.entry(ref, m.Package.Location)
		}
	}
	fs.add(idPackage, by, "add the package to the bundle or remove its name", "package %s does not exist", packageText(ref))
	return nil
}

func (r *Ruleset) entry(ref ast.Ref, loc *ast.Location) *entry {
	key := ref.String()
	if e, ok := r.packages[key]; ok {
		if before(loc, e.loc) {
			e.loc = loc
		}
		return e
	}
	e := &entry{ref: ref, loc: loc, info: policy.Package{Path: packageText(ref)}}
	r.packages[key] = e
	return e
}

// before makes the place of a package that spans files the same on every run.
func before(a, b *ast.Location) bool {
	return a != nil && (b == nil || a.File < b.File || a.File == b.File && a.Row < b.Row)
}

// rule returns the path of one rule of the entry.
func (e *entry) rule(name string) ast.Ref { return e.ref.Append(ast.StringTerm(name)) }
