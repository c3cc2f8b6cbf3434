package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/regoeval/internal/projector"
	"github.com/regogate/regogate/regoeval/internal/shape"
	"github.com/regogate/regogate/regoeval/internal/typecheck"
)

// arguments checks the rules against each tool's own input schema.
func (v *verifier) arguments() {
	shared := typecheck.Tallies{}
	messages := map[*ast.Rule]bool{}
	v.packages(messages)
	type checked struct{ deny, warn typecheck.Result }
	results := make([]checked, len(v.Tools))
	v.eachTool(v.memories, func(i int, t *policy.Tool, m *typecheck.Memory) {
		rules := v.CheckableWithData(t.Server(), t.Name())
		rules.Memory = m
		packages, tool := v.For(t.Server(), t.Name()), regoeval.TypeOf(t)
		results[i] = checked{typecheck.Check(rules, tool, v.setOf(packages, "deny")), typecheck.Check(rules, tool, v.setOf(packages, "warn"))}
	})
	for i, t := range v.Tools {
		if why := t.SchemaErr(); why != nil {
			v.fs.add(Finding{ID: idUnusable, Severity: Warning, Server: t.Server(), Tool: t.Name(),
				Message: "every call to it is refused: " + why.Error(), Fix: "have its server declare a schema that can be used"}, nil)
			continue
		}
		deny, warn := results[i].deny, results[i].warn
		v.typeErrors(t, deny.Own, Error)
		v.typeErrors(t, slices.DeleteFunc(warn.Own, func(f *typecheck.Finding) bool {
			return slices.ContainsFunc(deny.Own, func(g *typecheck.Finding) bool {
				return f.Location.Compare(g.Location) == 0 && f.Path == g.Path
			})
		}), Warning)
		shared.Merge(deny.Shared)
		shared.Merge(warn.Shared)
		v.messages(deny.Elements, messages)
		v.elements(t, deny.Elements)
	}
	v.sharedErrors(shared)
}

// packages checks what is so for every tool, also in the packages of tools that aren't
// there: constants that make a function fail, patterns, formats, long lists.
func (v *verifier) packages(messages map[*ast.Rule]bool) {
	anyTool := typecheck.Tool{Arguments: projector.Arguments(nil)}
	for _, p := range v.Packages() {
		deny := typecheck.Check(v.checkable("", ""), anyTool, v.Rules(p, "deny"))
		warn := typecheck.Check(v.checkable("", ""), anyTool, v.Rules(p, "warn"))
		v.messages(deny.Elements, messages)
		everyCall := func(fs []*typecheck.Finding) []*typecheck.Finding {
			return slices.DeleteFunc(fs, func(f *typecheck.Finding) bool { return !f.Kind.Once() })
		}
		v.typeErrors(nil, everyCall(deny.Own), Error) // first: what both sets find counts as the deny set's
		v.typeErrors(nil, everyCall(warn.Own), Warning)
		v.patterns(p, deny.Patterns, warn.Patterns)
	}
}

// checkable are the rules for the type check of a tool, with the data as it is.
func (v *verifier) checkable(server, tool string) typecheck.Rules {
	r := v.CheckableWithData(server, tool)
	r.Memory = v.memories[0]
	return r
}

// elements reports elements of deny sets that can't be messages, by the tool's schema.
func (v *verifier) elements(t *policy.Tool, elements map[*ast.Rule]*shape.Shape) {
	for rule, s := range elements {
		if s.Empty() || s.Kinds&(shape.String|shape.Object) != 0 || v.said(idElement, locationOf(rule)) {
			continue
		}
		v.fs.add(Finding{ID: idElement, Severity: Error, Server: t.Server(), Tool: t.Name(),
			Message: "an element of the deny set is never a message, but " + strings.Join(s.Kinds.Names(), " or ") + ": every call that gets there is undecided",
			Fix:     `make it a non-empty string, or an object {"msg": …}`}, locationOf(rule))
	}
}

// said reports whether there is a finding of that id in that line already.
func (v *verifier) said(id string, at *ast.Location) bool {
	return at != nil && slices.ContainsFunc(*v.fs, func(f Finding) bool { return f.ID == id && f.File == at.File && f.Line == at.Row })
}

func (v *verifier) typeErrors(t *policy.Tool, found []*typecheck.Finding, s Severity) {
	for _, f := range found {
		if (f.Kind.Once() || f.Kind == typecheck.InputPath) && v.said(string(f.Kind), f.Location) {
			continue
		}
		g := Finding{ID: string(f.Kind), Severity: s, Message: f.Message, Fix: f.Fix}
		if t != nil && f.Kind != typecheck.InputPath {
			g.Server, g.Tool = t.Server(), t.Name()
		}
		if f.Soft {
			g.Severity = Warning
		}
		v.fs.add(g, f.Location)
	}
}

// sharedErrors reports what is idle in packages for several tools, for all of them. A
// package for every tool asks for what the tools to come may have: there only a name
// that is nearly one of theirs counts.
func (v *verifier) sharedErrors(shared typecheck.Tallies) {
	known := slices.Clone(*v.fs)
	meant := v.filesOfMapped()
	for _, tally := range shared {
		if tally.Failed == 0 || tally.Failed < tally.Reached {
			continue
		}
		for _, f := range tally.Findings {
			if f.Hard || f.Kind.Once() || f.Location == nil || slices.ContainsFunc(known, func(k Finding) bool {
				return k.ID == string(f.Kind) && k.File == f.Location.File && k.Line == f.Location.Row && k.Col == f.Location.Col
			}) {
				continue
			}
			s := Warning
			if f.Near != "" && !f.Soft && (meant[f.Location.File] || !respelt(f)) {
				s = Error
			} else if !meant[f.Location.File] {
				continue
			}
			v.fs.add(Finding{ID: string(f.Kind), Severity: s, Message: f.Message + "; it is so for every tool that the rule is asked about", Fix: f.Fix}, f.Location)
		}
	}
}

// respelt reports whether a name is the one that it is near to, written in another style:
// rules for every tool ask for dry_run beside dryRun.
func respelt(f *typecheck.Finding) bool {
	fold := strings.NewReplacer("_", "", "-", "")
	return strings.HasSuffix(strings.ToLower(fold.Replace(f.Path)), strings.ToLower(fold.Replace(f.Near)))
}

// filesOfMapped are the files of the packages that are there for tools by name.
func (v *verifier) filesOfMapped() map[string]bool {
	mapped := map[string]bool{}
	for _, p := range v.Packages() {
		mapped[p.Ref.String()] = !p.Common
	}
	files := map[string]bool{}
	for name, m := range v.Compiler().Modules {
		if mapped[m.Package.Path.String()] {
			files[name] = true
		}
	}
	return files
}

// messages reports deny messages that repeat a value of the call.
func (v *verifier) messages(elements map[*ast.Rule]*shape.Shape, seen map[*ast.Rule]bool) {
	for rule, s := range elements {
		m := repeats(s)
		if m == nil || seen[rule] {
			continue
		}
		seen[rule] = true
		at := rule.Loc()
		if m.Made != nil {
			at = m.Made
		}
		v.fs.add(Finding{ID: idMessage, Severity: Warning,
			Message: "the message repeats a value of the call: who writes the arguments writes a part of what the agent reads, and secrets in them reach logs",
			Fix:     `say which argument it is, with its place as {"msg": …, "location": "/name"}`}, at)
	}
}

// repeats returns the text of an element that repeats a value of the call, nil when none
// does. A location has to name what the call brought along.
func repeats(s *shape.Shape) *shape.Shape {
	if s.Kinds&shape.Object != 0 && s.Fields != nil {
		for _, name := range []string{"msg", "rule"} {
			if m, declared, _ := s.Fields.Member(name); declared && m.FromCall {
				return m
			}
		}
		return nil
	}
	if s.Kinds&(shape.String|shape.Object) != 0 && s.FromCall {
		return s
	}
	return nil
}

// quote writes a name that somebody else chose.
func quote(s string) string {
	const most = 128
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
