package regoeval

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

const fixMessage = `write the message as a template string, $"… {x} …", or read the value with object.get and a default`

// A messages checks that no message can be undefined although everything else in its
// rule holds: then the denial, and not only its text, would disappear. The usual form
// is sprintf over an optional argument.
type messages struct {
	loader
	fs      *findings
	visited map[visit]bool
}

// A visit is one rule seen with one set of arguments, so that shared helpers are
// looked at once for each use.
type visit struct {
	rule *ast.Rule
	args string
}

func visitOf(rule *ast.Rule, args []ast.Ref) visit {
	key := ""
	for _, a := range args {
		key += a.String() + " "
	}
	return visit{rule, key}
}

// rule checks the message that a rule makes: the element of a set, or the value of a
// helper whose answer a set takes over as it is.
func (m *messages) rule(rule *ast.Rule, args []ast.Ref) {
	key := visitOf(rule, args)
	if m.visited[key] {
		return
	}
	m.visited[key] = true
	for _, r := range branches(rule) {
		message := r.Head.Key
		if r.Head.RuleKind() != ast.MultiValue {
			message = r.Head.Value
		}
		if message != nil {
			m.branch(r, newFlow(rule, args), message)
		}
	}
}

func (m *messages) branch(rule *ast.Rule, f *flow, message *ast.Term) {
	p := partition(rule.Body, message, argVars(rule))
	for i, e := range rule.Body {
		switch p[i] {
		case makes:
			m.expr(rule, f, p, i)
		case iterates:
			m.sources(f, e)
		case decides:
		}
	}
}

// expr checks one expression that only makes the message.
func (m *messages) expr(rule *ast.Rule, f *flow, p parts, i int) {
	e := rule.Body[i]
	required := m.requires(rule.Body, p, f)
	there := newKnown(func(ref ast.Ref) bool { return f.constant(ref) || m.needed(required, f, ref) })
	if fn := m.userFunction(e); fn != nil {
		args := f.callArgs(e)
		switch {
		case m.totalFunction(fn, args, there):
		case !p.conditional():
			for _, r := range fn {
				m.rule(r, args)
			}
		case !m.needsCall(rule.Body, p, f, e):
			m.report(rule, e, "calls "+e.Operator().String(), "give the function a default, or let its set of messages be iterated: `some msg in …`")
		}
	}
	if why := mayFail(rule.Body, i); why != "" {
		m.report(rule, e, why, fixMessage)
		return
	}
	for _, ref := range f.readBy(e) {
		if m.alwaysThere(ref, there) {
			continue
		}
		if rules := m.rulesAt(ref); len(rules) > 0 && !p.conditional() {
			for _, r := range rules {
				m.rule(r, nil)
			}
			continue
		}
		m.report(rule, e, "reads "+showRef(ref), fixMessage)
	}
}

// sources checks the sets of messages that a rule iterates over.
func (m *messages) sources(f *flow, e *ast.Expr) {
	for _, ref := range f.readBy(e) {
		for _, r := range m.rulesAt(ref) {
			m.rule(r, nil)
		}
	}
}

func (m *messages) report(rule *ast.Rule, e *ast.Expr, what, fix string) {
	loc := rule.Loc()
	if e.Location != nil {
		loc = e.Location
	}
	m.fs.add(idMessage, loc, fix, "the message %s, which can be undefined while the rule holds: the denial would disappear", what)
}

// rulesAt returns the rules that a place is made by: those with exactly its name, or
// with its beginning when it looks into what they make.
func (l loader) rulesAt(ref ast.Ref) []*ast.Rule {
	if !ref.HasPrefix(ast.DefaultRootRef) {
		return nil
	}
	ground := ref.GroundPrefix()
	for n := len(ground); n > 1; n-- {
		if rules := l.compiler.GetRulesExact(ground[:n]); len(rules) > 0 {
			return rules
		}
	}
	return nil
}

// mayFail says why an expression can be undefined whatever it reads, "" when it can't.
func mayFail(body ast.Body, i int) string {
	e := body[i]
	switch {
	case e.IsEquality() || e.IsAssignment():
		if len(outputs(body, i)) > 0 && !namesOne(body, i) {
			return "takes a value apart"
		}
	case e.IsCall() && slices.Contains(partialBuiltins, e.Operator().String()):
		return "calls " + e.Operator().String() + ", which has no result for some operands"
	}
	return ""
}

// readBy lists the places that an expression reads outside closures: comprehensions
// have a value whatever is undefined in them, and template strings are made of them.
func (f *flow) readBy(e *ast.Expr) []ast.Ref {
	var out []ast.Ref
	vis := ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, *ast.TemplateString,
			*ast.Every, *ast.Not, *ast.LogicalAnd, *ast.LogicalOr:
			return true
		case *ast.Term:
			if ref, ok := x.Value.(ast.Ref); ok {
				out = append(out, f.resolve(ref))
				return true
			}
		}
		return false
	})
	if e.IsCall() {
		for _, t := range e.Operands() {
			vis.Walk(t)
		}
	} else {
		vis.Walk(e)
	}
	return out
}
