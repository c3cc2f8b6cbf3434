package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// WriteTo writes a status for people: what falls short first, then a line for each thing
// that the start-up report tells. Nothing in it can steer a terminal.
func (s Status) WriteTo(w io.Writer) (int64, error) {
	var p printer
	p.head(s)
	p.sources(s)
	p.settings(s)
	p.tools(s)
	n, err := io.WriteString(w, p.String())
	return int64(n), err
}

// A printer writes lines with a name and what is to be said of it.
type printer struct{ strings.Builder }

func (p *printer) line(name, format string, args ...any) {
	said := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	fmt.Fprintf(p, "%-15s %s\n", name, strings.Map(printable, said))
}

func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return unicode.ReplacementChar
	}
	return r
}

func (p *printer) head(s Status) {
	if s.Ready {
		p.line("ready", "yes")
	} else {
		p.line("ready", "NO")
	}
	for _, problem := range s.Problems {
		p.line("PROBLEM", "%s", problem)
	}
	mode := s.Mode
	if s.Until != nil {
		mode += " until " + s.Until.Format(time.RFC3339)
	}
	p.line("mode", "%s", mode)
	if s.Policy == nil {
		p.line("policy", "none in force")
	} else {
		p.line("policy", "revision %s: %d packages, %d deny rules, %d warn rules, %d pinned tools",
			cmp.Or(s.Policy.Revision, "?"), s.Policy.Packages, s.Policy.DenyRules, s.Policy.WarnRules, s.Policy.PinnedTools)
		for _, e := range s.Policy.Engines {
			p.line("engine", "%s is evaluated by %s: %s", e.Package, e.Engine, e.Why)
		}
	}
	p.line("decisions", "%d allowed, %d refused, %d forwarded in shadow mode", s.Decisions.Allowed, s.Decisions.Refused, s.Decisions.Forwarded)
	p.line("version", "%s", s.Version)
	p.line("started", "%s", s.Started.Format(time.RFC3339))
}

func (p *printer) sources(s Status) {
	if s.Sources == nil {
		p.line("bundle", "%s", strings.Join(s.Bundles, ", "))
		return
	}
	p.line("bundles", "%d put in force, the last at %s; %d refused, %d attempts failed",
		s.Sources.Activations, when(s.Sources.Since), s.Sources.Refusals, s.Sources.Failures)
	for _, b := range s.Sources.Bundles {
		said := fmt.Sprintf("%s: revision %s, confirmed at %s", b.Name, cmp.Or(b.Revision, "?"), when(b.LastSuccess))
		if b.KeyID != "" {
			said += ", signed with " + b.KeyID
		}
		if b.Refused != "" {
			said += ", refused " + b.Refused
		}
		p.line("bundle", "%s", said)
	}
}

func when(t time.Time) string {
	if t.IsZero() {
		return "no time yet"
	}
	return t.UTC().Format(time.RFC3339)
}

func (p *printer) settings(s Status) {
	var on []string
	for _, d := range s.On {
		on = append(on, d.Key+"="+d.Value)
	}
	p.line("on", "%s", strings.Join(on, " "))
	for _, d := range s.Off {
		p.line("OFF", "%s (%s)", d.Effect, d.text())
	}
	for _, d := range s.Limits {
		p.line("limit", "%s", d.text())
	}
	if len(s.Require) > 0 {
		p.line("caller.require", "%s", strings.Join(s.Require, ", "))
	}
	if len(s.Undecided) > 0 {
		p.line("undecided", "these methods reach the server undecided: %s", strings.Join(s.Undecided, ", "))
	}
	if d := s.Log; d != nil {
		p.line("decision log", "file=%s stderr=%t url=%s arguments=%s required=%t: %d recorded, %d lost",
			d.File, d.Stderr, d.URL, d.Arguments, d.Required, d.Recorded, d.Dropped+d.Unmasked+d.Discarded)
	}
	if v := s.Serving; v != nil {
		p.line("serving", "url=%s address=%s server=%s tls=%t client_certificates=%t identity=%s", v.URL, v.Address, v.Server, v.TLS, v.Clients, v.Identity)
	}
}

func (d Difference) text() string {
	return fmt.Sprintf("%s=%s, default %s, set by %s", d.Key, cmp.Or(d.Value, "(not told)"), cmp.Or(d.Default, "none"), d.SetBy)
}

func (p *printer) tools(s Status) {
	if s.Tools == nil {
		p.line("tools", "none declared yet")
	}
	for _, t := range s.Tools {
		said := fmt.Sprintf("%s: %d deny rules, %d warn rules in %s", t.Name, t.DenyRules, t.WarnRules, cmp.Or(strings.Join(t.Packages, ", "), "no package"))
		if t.RefusedAs != "" {
			said += fmt.Sprintf("; EVERY CALL IS REFUSED as %s: %s", t.RefusedAs, t.Why)
		}
		p.line("tool", "%s", said)
	}
}
