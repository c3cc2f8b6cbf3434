// Package report tells an operator what a gate does: at the start what is on and what
// is off, for each tool what decides its calls, and for each refusal why.
//
// Everything goes through one [log/slog.Logger], one line a fact. What turns off or
// weakens a check is a warning, and shadow mode is the first and loudest line.
//
// # Limits
//
// No line repeats what arguments say. The message of a deny rule is its author's and
// may do so, so it isn't logged; its rule id and location are. The name of a tool that no
// server declares is logged, for an operator to tell a slip from an attack: cut, and with
// nothing in it that a terminal obeys. No agent gets it back.
package report

import (
	"context"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
)

// A Report writes to one logger. It is safe for concurrent use.
type Report struct {
	log  *slog.Logger
	told *told
}

// New returns a Report that writes to w, as JSON or as text.
func New(w io.Writer, json bool) *Report {
	return &Report{log: slog.New(handler(w, json)), told: &told{}}
}

func handler(w io.Writer, json bool) slog.Handler {
	if json {
		return slog.NewJSONHandler(w, nil)
	}
	return slog.NewTextHandler(w, nil)
}

// Logger returns a logger for an adapter. What it says of a decision that [Report.Record]
// has told already, and more fully, is dropped.
func (r *Report) Logger() *slog.Logger { return slog.New(once{r.log.Handler(), r.told}) }

// Start says what is on and what is off. passes are the MCP methods that reach the
// server undecided.
func (r *Report) Start(s *setup.Setup, passes []string) {
	settings := s.Config.Settings()
	r.policy(s)
	r.settings(settings)
	if len(s.Config.Caller.Require) > 0 {
		r.log.Info("required of every caller", "caller.require", strings.Join(s.Config.Caller.Require, ", "))
	}
	if s.Decisions != nil {
		d := s.Config.DecisionLog
		r.log.Info("decisions are recorded", "file", d.File, "stderr", d.Stderr, "url", withoutSecrets(d.URL), "arguments", d.Arguments, "required", d.Required)
	}
	if len(passes) > 0 {
		r.log.Warn("these methods reach the server undecided", "methods", strings.Join(passes, ", "))
	}
}

// Shadow says so, as the first line, when the configuration asks for shadow mode.
func (r *Report) Shadow(s *setup.Setup) {
	if s.Config.Mode == string(policy.Shadow) {
		r.Mode(s, "set by "+whereSet(s.Config.Settings(), "mode"))
	}
}

// Mode says which mode is in force and why: shadow mode as loudly as possible.
func (r *Report) Mode(s *setup.Setup, why string) {
	switch mode, until := s.Gate.Mode(); {
	case mode == policy.Shadow && until.IsZero():
		r.log.Error("SHADOW MODE: calls that the rules refuse ARE FORWARDED to the server and only recorded", "mode", mode, "why", why)
	case mode == policy.Shadow:
		r.log.Error("SHADOW MODE: calls that the rules refuse ARE FORWARDED to the server and only recorded", "mode", mode, "why", why, "until", until.Format(time.RFC3339))
	default:
		r.log.Warn("calls that the rules refuse are refused", "mode", mode, "why", why)
	}
}

// policy says what is in force at the start.
func (r *Report) policy(s *setup.Setup) {
	bundle := strings.Join(bundleNames(s.Config), ", ")
	if s.Rules == nil {
		r.log.Error("no policy in force: every call is not_ready until a bundle is loaded", "bundle", bundle)
		return
	}
	p := policyStatus(s.Rules)
	r.log.Info("policy in force", "revision", p.Revision, "bundle", bundle,
		"packages", p.Packages, "deny_rules", p.DenyRules, "warn_rules", p.WarnRules, "pinned_tools", p.PinnedTools)
	r.engines(p.Engines)
	r.unkept(s)
}

// unkept says what a bundle from a server lacks to be trusted and found again.
func (r *Report) unkept(s *setup.Setup) {
	for _, name := range s.Config.Bundle {
		scheme, _, isURL := strings.Cut(name, "://")
		name, _, _ = strings.Cut(name, "?")
		switch {
		case !isURL:
			continue
		case len(s.Config.Bundles.Keys) == 0:
			r.log.Warn("OFF: whoever can write to the server, or stands between, decides: bundles.keys is not set", "bundle", name, "scheme", scheme)
		}
		if s.Config.Bundles.State == "" {
			r.log.Warn("OFF: the last good bundle is not kept, and an older one is not noticed after a restart: bundles.state is not set", "bundle", name)
		}
	}
}

// settings reports what is turned off, which limits are others, and what is on.
func (r *Report) settings(settings []config.Setting) {
	var on, pins []any
	for _, s := range settings {
		section, _, _ := strings.Cut(s.Name, ".")
		value := []any{s.Name, s.Value, "default", s.DefaultValue, "set_by", s.Origin}
		switch {
		case s.Name == "mode": // has a line of its own
		case section == "limits" || section == "hold":
			if s.Changed() {
				r.log.Warn("a limit is not the default", value...)
			}
		case s.Changed() && weakens(s):
			r.log.Warn("OFF: "+s.Off, value...)
		case section == "schema" || s.Name == "tools.unmapped" || s.Name == "tools.own_package":
			on = append(on, s.Name, s.Value)
		case s.Name == "tools.pins":
			pins = []any{s.Name, s.Value}
		}
	}
	r.log.Info("on", append(on, pins...)...)
}

// weakens reports whether a value that isn't the default turns something off. Methods
// may also be refused that would pass.
func weakens(s config.Setting) bool {
	if s.Name == "decision_log.arguments" {
		return s.Value == "full"
	}
	return s.Off != "" && (s.Name != "methods" || strings.Contains(s.Value, "action: pass"))
}

func whereSet(settings []config.Setting, key string) string {
	for _, s := range settings {
		if s.Name == key {
			return s.Origin
		}
	}
	return ""
}

// Tool says what decides the calls of one tool, or why they are all refused. It returns
// what it has said.
func (r *Report) Tool(gate *policy.Gate, t *policy.Tool) ToolStatus {
	s := toolStatus(gate, t)
	r.tool(gate, t, s)
	return s
}

// Ruled says it again when a new ruleset decides the tool's calls otherwise than was said
// before.
func (r *Report) Ruled(gate *policy.Gate, t *policy.Tool, before ToolStatus) ToolStatus {
	s := toolStatus(gate, t)
	if !reflect.DeepEqual(s, before) {
		r.tool(gate, t, s)
	}
	return s
}

func (r *Report) tool(gate *policy.Gate, t *policy.Tool, s ToolStatus) {
	cover := gate.Cover(t)
	attrs := []any{"tool", s.Name, "packages", strings.Join(s.Packages, ", "), "deny_rules", s.DenyRules, "warn_rules", s.WarnRules, "schema", s.Schema}
	if message, detail := cover.Pin.Differs(t); message != "" && gate.Options().Pins == policy.PinsWarn {
		r.log.Warn("tool: not as it is pinned, and called all the same", "tool", s.Name, "why", message, "detail", oneLine(detail), "tools.pins", "warn")
	}
	if s.RefusedAs == "" {
		r.log.Info("tool", attrs...)
		return
	}
	r.log.Warn("tool: every call is refused", append(attrs, "code", string(s.RefusedAs), "why", s.Why)...)
}

// refusesAll says with which code every call of t is refused, "" when none is known to be.
func refusesAll(o policy.Options, t *policy.Tool, cover policy.Coverage) (policy.Code, string) {
	if message, detail := cover.Pin.Differs(t); message != "" && o.Pins == policy.PinsEnforce {
		return policy.ToolChanged, message + ": " + oneLine(detail)
	}
	switch err := t.SchemaErr(); {
	case err != nil && !o.Schema.SkipEnforce:
		return policy.SchemaUnusable, oneLine(err)
	case cover.Err != nil:
		return policy.Undecided, oneLine(cover.Err)
	case cover.Deny == nil && o.Unmapped != "allow":
		return policy.Unmapped, "no package covers it, and tools.unmapped is refuse"
	case !cover.Own && o.OwnPackage == "require":
		return policy.Unmapped, "only common packages cover it, and tools.own_package is require"
	}
	return "", ""
}

// Record implements policy.Recorder: it logs what was refused, and what went wrong.
func (r *Report) Record(ctx context.Context, rec policy.Record) {
	d := rec.Decision
	if d.Allowed && d.WarnErr == nil {
		return
	}
	r.told.add(d.ID)
	level, what := slog.LevelWarn, "refused"
	switch {
	case d.Allowed:
		what = "allowed, but its warnings could not be evaluated"
	case d.Effective:
		what = "would be refused, forwarded in shadow mode"
	case d.Code() == policy.Undecided:
		level = slog.LevelError // the policy's fault, and not the agent's
	}
	attrs := []slog.Attr{slog.String("tool", toolOf(rec)), slog.String("decision_id", d.ID), slog.String("revision", d.Revision)}
	if !d.Allowed {
		attrs = append(attrs, slog.String("code", string(d.Code())), slog.Any("reasons", reasons(rec)))
	}
	if d.Err != nil {
		attrs = append(attrs, slog.String("err", oneLine(d.Err)))
	}
	if d.WarnErr != nil {
		attrs = append(attrs, slog.String("warn_err", oneLine(d.WarnErr)))
	}
	r.log.LogAttrs(ctx, level, what, append(attrs, slog.Float64("elapsed_ms", float64(rec.Elapsed.Microseconds())/1000))...)
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// oneLine keeps an error on one line, without the stack of a panic.
func oneLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\ngoroutine ")
	return cut(strings.Join(strings.Fields(s), " "), 1024)
}
