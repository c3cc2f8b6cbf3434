package skeleton

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/generate"
)

const (
	maxArguments   = 60   // lines about arguments
	maxDescription = 400  // characters of what the server says
	maxExample     = 4096 // bytes of the tests' example
	lineWidth      = 100
)

// rules is the package of one tool.
func (w *writer) rules(t tool) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Rules for calls of the tool %s%s.\n#\n", quoted(t.Name), of(t.Server))
	if said := wrap(harmless(t.Description, maxDescription), lineWidth); len(said) > 0 {
		b.WriteString("# What the server says of it, which nobody has checked:\n#\n")
		for _, line := range said {
			b.WriteString("#   | " + line + "\n")
		}
		b.WriteString("#\n")
	}
	describeArguments(&b, t)
	fmt.Fprintf(&b, "package %s\n\nimport rego.v2\n\n", packageOf("tools", t.Name))
	fmt.Fprintf(&b, `# Every call is refused until the rules of this tool have been reviewed and data.json
# says so: {"settings": {"reviewed": {%[1]s: true}}}. Keep the rule, so that a tool which is
# taken out of that list is refused again.
deny contains {"rule": "not-reviewed", "msg": "the rules for this tool have not been reviewed yet"} if {
	object.get(data.settings, ["reviewed", %[1]s], false) != true
}

# Write below what to refuse, one reason a rule. For example:
#
# deny contains {"rule": "why", "msg": "what the agent is told", "location": "/argument"} if {
# 	input.arguments.argument == "what must not be"
# }
`, literal(t.Name))
	return formatted(t.Name, b.String())
}

// tests are the tests of one tool's package.
func (w *writer) tests(t tool) ([]byte, error) {
	ref := "data." + packageOf("tools", t.Name)
	var b strings.Builder
	fmt.Fprintf(&b, "# Tests of the rules for the tool %s%s. They are left out of decisions.\n", quoted(t.Name), of(t.Server))
	fmt.Fprintf(&b, "package %s\n\nimport rego.v2\n\n", packageOf("tests.tools", t.Name))
	fmt.Fprintf(&b, `# A call as the gate makes it: what the tool requires, and nothing else.
call := {
	"tool": {"name": %s, "server": %s, "title": null, "annotations": {}},
	"arguments": %s,
	"caller": {"subject": null, "tenant": null, "scopes": [], "claims": {}},
	"call": {"id": null, "session": null, "transport": null, "time": "2026-01-01T00:00:00Z", "responses": {}},
}

test_refused_until_reviewed if {
	some reason in %[4]s.deny with input as call with data.settings.reviewed as {%[1]s: false}
	reason.rule == "not-reviewed"
}

test_allowed_once_reviewed if {
	count(%[4]s.deny) == 0 with input as call with data.settings.reviewed as {%[1]s: true}
}
`, literal(t.Name), serverLiteral(t.Server), w.example(t), ref)
	return formatted(t.Name, b.String())
}

// example is a call's arguments: the smallest that the tool's schema accepts.
func (w *writer) example(t tool) string {
	const none = "{}"
	if t.ready.SchemaErr() != nil {
		return none
	}
	raw, err := generate.Minimal(t.InputSchema)
	if err != nil || len(raw) > maxExample {
		return none
	}
	if d := w.gate.Decide(context.Background(), policy.Call{Tool: t.ready, Arguments: raw}); !d.Allowed {
		return none
	}
	if _, err := ast.ParseTerm(string(raw)); err != nil {
		return none
	}
	return string(raw)
}

// schemaOnly lets the schema decide alone, for the example.
type schemaOnly struct{}

func (schemaOnly) Revision() string { return "" }

func (schemaOnly) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(
		func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })}
}

// describeArguments lists what the tool's schema declares.
func describeArguments(b *strings.Builder, t tool) {
	properties, more, err := generate.Shape(t.InputSchema, maxArguments)
	switch {
	case err != nil || t.ready.SchemaErr() != nil:
		b.WriteString("# Its input schema can't be used: every call is refused before these rules.\n#\n")
	case len(properties) == 0:
		b.WriteString("# It declares no arguments.\n#\n")
	default:
		b.WriteString("# Its arguments, below input.arguments:\n#\n")
	}
	for _, p := range properties {
		line := fmt.Sprintf("%s%s: %s", strings.Repeat("  ", len(p.Path)-1), argument(p.Path), harmless(p.Type, 160))
		if p.Required {
			line += ", required"
		}
		b.WriteString("#   - " + line + "\n")
	}
	if more > 0 {
		fmt.Fprintf(b, "#   - and %d more\n", more)
	}
	if len(properties) > 0 {
		b.WriteString("#\n")
	}
}

// argument writes the way to an argument as a rule would.
func argument(names []string) string {
	s := ""
	for i, name := range names {
		switch {
		case name == "[]" && i > 0:
			s += "[_]"
		case plainVar.MatchString(name) && len(name) <= 64:
			s += "." + name
		default:
			s += "[" + harmless(quoted(name), 80) + "]"
		}
	}
	return strings.TrimPrefix(s, ".")
}

func of(server string) string {
	if server == "" {
		return ""
	}
	return " of the server " + quoted(server)
}

// plainVar is a name that can be written without quotes.
var plainVar = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// packageOf is a tool's package path, as in a package clause.
func packageOf(prefix, name string) string {
	if plainVar.MatchString(name) && !ast.IsKeyword(name) && !ast.IsFutureKeyword(name) {
		return prefix + "." + name
	}
	return prefix + "[" + literal(name) + "]"
}

// literal is a string of Rego. What can't be seen is escaped.
func literal(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // a string always has a form
		return `""`
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch {
		case r == ' ' || unicode.IsPrint(r):
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

func serverLiteral(server string) string {
	if server == "" {
		return "null"
	}
	return literal(server)
}

// quoted is a name in a comment or a message, on one line.
func quoted(s string) string { return harmless(literal(s), 200) }

// harmless keeps a stranger's text on one line, without what a terminal or an editor
// would act on, and short.
func harmless(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// wrap breaks a text between words.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// formatted is the source as opa fmt has it. opa fmt writes some strings in a way that
// OPA can't read again (a NUL in a package's name is one): then the source stays as it is.
func formatted(name, src string) (_ []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = unwritable(name, fmt.Sprint(p))
		}
	}()
	options := ast.ParserOptions{RegoVersion: ast.RegoV1}
	meant, err := ast.ParseModuleWithOpts("", src, options)
	if err != nil {
		return nil, unwritable(name, err.Error())
	}
	out, err := format.SourceWithOpts("", []byte(src), format.Opts{RegoVersion: ast.RegoV1})
	if err != nil {
		return []byte(src), nil
	}
	if got, err := ast.ParseModuleWithOpts("", string(out), options); err != nil || !got.Equal(meant) {
		return []byte(src), nil
	}
	return out, nil
}

func unwritable(name, why string) error {
	return fmt.Errorf("the package for the tool %s can't be written: %s: please report it with the tool's declaration", quoted(name), harmless(why, 300))
}
