package decisionlog

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/regogate/regogate/policy"
)

// An Event is one record as it is written: OPA's decision-log event and what is known
// beyond it.
type Event struct {
	DecisionID string            `json:"decision_id"`
	Timestamp  time.Time         `json:"timestamp"` // when the decision began, UTC
	TraceID    string            `json:"trace_id,omitempty"`
	SpanID     string            `json:"span_id,omitempty"` // of whoever called
	Labels     map[string]string `json:"labels"`
	Bundles    map[string]Bundle `json:"bundles,omitempty"`
	Path       string            `json:"path"` // of the tool's own deny set, with slashes
	Input      any               `json:"input,omitempty"`
	Result     any               `json:"result,omitempty"`
	Erased     []string          `json:"erased,omitempty"` // paths that are not there
	Masked     []string          `json:"masked,omitempty"` // paths whose values are not what they were
	Metrics    map[string]any    `json:"metrics,omitempty"`

	Tool       string      `json:"tool"`
	Server     string      `json:"server,omitempty"`
	ToolDigest string      `json:"tool_digest,omitempty"`
	Revision   string      `json:"revision,omitempty"` // of policy and data together
	Allowed    bool        `json:"allowed"`
	Effective  bool        `json:"effective"`
	Code       policy.Code `json:"code,omitempty"` // of the first refusal
	Mode       policy.Mode `json:"mode"`
	// Error is what went wrong, for the operator.
	Error string `json:"error,omitempty"`

	Arguments       Arguments `json:"arguments"` // how they are recorded
	ArgumentBytes   int       `json:"argument_bytes"`
	ArgumentsDigest string    `json:"arguments_digest,omitempty"`
	RawArguments    []byte    `json:"raw_arguments,omitempty"` // of malformed ones, base64; only with Full
	Defaults        []string  `json:"defaults,omitempty"`      // JSON Pointers into the arguments
}

// A Bundle is one of the bundles that decided.
type Bundle struct {
	Revision string `json:"revision,omitempty"`
}

// Revisions is what a policy.Ruleset implements that knows the revisions of its bundles
// by their names.
type Revisions interface {
	BundleRevisions() map[string]string
}

// event makes the record of one decision, with everything left out that has to be.
func (l *Log) event(ctx context.Context, j job) (e *Event, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, err = nil, fmt.Errorf("panic while masking: %T", p) // its value may be an argument
		}
	}()
	r, d := j.record, j.record.Decision
	input := r.Input.Document()
	e = &Event{
		DecisionID: d.ID, Timestamp: r.Input.Call().Time, Labels: l.options.Labels, Bundles: bundlesOf(r),
		Path: "tools/" + d.Tool + "/deny", Tool: d.Tool, Server: d.Server, ToolDigest: r.Input.Tool().Digest,
		Revision: d.Revision, Allowed: d.Allowed, Effective: d.Effective, Code: d.Code(), Mode: r.Mode,
		Error: errorText(r), Arguments: l.options.Arguments, ArgumentBytes: r.Input.Arguments().Len(),
		Metrics: map[string]any{
			"timer_regogate_decide_ns": r.Elapsed.Nanoseconds(), "timer_regogate_parse_ns": r.Phases.Parse.Nanoseconds(),
			"timer_regogate_schema_ns": r.Phases.Schema.Nanoseconds(), "timer_regogate_rules_ns": r.Phases.Rules.Nanoseconds(),
		},
	}
	if t := strings.Split(j.trace, "-"); len(t) == 4 {
		e.TraceID, e.SpanID = t[1], t[2]
	}
	e.Input, e.Result = input, resultOf(d)
	if !r.Parsed {
		delete(input, "arguments")
		delete(input["call"].(map[string]any), "responses")
		if l.options.Arguments == Full {
			e.RawArguments = j.raw
		}
	} else {
		e.Defaults = r.Input.Arguments().Defaults()
		if l.options.Arguments == Masked || l.options.Arguments == Digest {
			if e.ArgumentsDigest, err = l.digest(input["arguments"]); err != nil {
				return nil, err
			}
		}
	}
	var ops []Op
	if m, ok := r.Rules.(Masker); ok {
		if ops, err = m.Mask(ctx, e.document()); err != nil {
			return nil, fmt.Errorf("data.system.log.mask: %w", err)
		}
	}
	return e, l.leaveOut(e, ops)
}

// leaveOut removes what the bundle says, and what must not be recorded.
func (l *Log) leaveOut(e *Event, ops []Op) error {
	var m mask
	for _, op := range ops {
		if err := op.apply(e, &m); err != nil {
			return err
		}
	}
	if l.options.Arguments == Full {
		m.asIs = true // only what the bundle takes away is a secret
		m.redactMessages(e)
		return nil
	}
	input, _ := e.Input.(map[string]any)
	l.hideSession(input)
	if l.options.Arguments != Masked {
		e.Erased = append(e.Erased, dropArguments(input, &m)...)
	}
	if e.Input != nil {
		e.Input = m.value("/input", e.Input)
		e.Input = m.repeated("/input", e.Input)
	}
	if m.overflow && l.options.Arguments == Masked && input != nil {
		e.Erased = append(e.Erased, dropArguments(input, &m)...)
	}
	m.redactMessages(e)
	e.Masked = append(e.Masked, unique(m.paths)...)
	return nil
}

// dropArguments removes the arguments and the answers of a retry. What they say is looked
// for elsewhere.
func dropArguments(input map[string]any, m *mask) (erased []string) {
	drop := func(from map[string]any, name, at string) {
		if v, ok := from[name]; ok {
			m.remember(v)
			delete(from, name)
			erased = append(erased, at)
		}
	}
	drop(input, "arguments", "/input/arguments")
	if call, ok := input["call"].(map[string]any); ok {
		drop(call, "responses", "/input/call/responses")
	}
	return erased
}

// hideSession replaces a session's id, which lets whoever knows it speak in its name, by
// a digest that still tells sessions apart.
func (l *Log) hideSession(input map[string]any) {
	call, _ := input["call"].(map[string]any)
	if s, ok := call["session"].(string); ok && s != "" {
		if d, err := l.digest(s); err == nil {
			call["session"] = d
		}
	}
}

// redactMessages leaves secrets out of everything that isn't the input.
func (m *mask) redactMessages(e *Event) {
	if r, ok := e.Result.(map[string]any); ok {
		for _, name := range []string{"refusals", "warnings"} {
			list, _ := r[name].([]any)
			for _, each := range list {
				refusal, _ := each.(map[string]any)
				for k, v := range refusal {
					if s, isText := v.(string); isText && k != "code" {
						refusal[k] = m.message(s)
					}
				}
			}
		}
	}
	e.Error, e.Tool = m.message(e.Error), m.text(e.Tool)
	e.Path = "tools/" + e.Tool + "/deny"
}

// digest is a keyed digest of a decoded value.
func (l *Log) digest(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", errors.New("the arguments can't be digested")
	}
	h := hmac.New(sha256.New, l.options.Key)
	h.Write(b)
	return "hmac-sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// bundlesOf names the bundles that decided, or all of them as one.
func bundlesOf(r policy.Record) map[string]Bundle {
	out := map[string]Bundle{}
	if rs, ok := r.Rules.(Revisions); ok {
		for name, revision := range rs.BundleRevisions() {
			out[name] = Bundle{revision}
		}
	} else if r.Decision.Revision != "" {
		out["regogate"] = Bundle{r.Decision.Revision}
	}
	return out
}

// resultOf is the decision as a JSON value.
func resultOf(d policy.Decision) map[string]any {
	list := func(rs []policy.Refusal) []any {
		out := make([]any, 0, len(rs))
		for _, r := range rs {
			m := map[string]any{"message": r.Message}
			for name, v := range map[string]string{"code": string(r.Code), "location": r.Location, "rule": r.Rule} {
				if v != "" {
					m[name] = v
				}
			}
			out = append(out, m)
		}
		return out
	}
	return map[string]any{"allowed": d.Allowed, "effective": d.Effective, "refusals": list(d.Refusals), "warnings": list(d.Warnings)}
}

// errorText is what went wrong. What is wrong with arguments that can't be read is not
// told, since it can't be known what of it is a secret.
func errorText(r policy.Record) string {
	const most = 4096
	var parts []string
	if r.Decision.Err != nil && (r.Parsed || r.Decision.Code() != policy.Malformed) {
		parts = append(parts, r.Decision.Err.Error())
	}
	if r.Decision.WarnErr != nil {
		parts = append(parts, "warnings: "+r.Decision.WarnErr.Error())
	}
	for i, p := range parts {
		p, _, _ = strings.Cut(p, "\ngoroutine ")
		if len(p) > most {
			p = p[:most]
		}
		parts[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(parts, "; ")
}

func unique(paths []string) []string {
	seen := map[string]bool{}
	out := paths[:0]
	for _, p := range paths {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}
