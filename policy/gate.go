package policy

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/regogate/regogate/policy/internal/inputschema"
)

// A Gate decides calls against the ruleset in force. It is safe for concurrent use.
// Make one with [NewGate]; the zero Gate, and nil, refuse every call.
type Gate struct {
	options   Options
	schema    inputschema.Options
	ready     bool
	noop      bool
	ruleset   atomic.Pointer[inForce]
	mode      atomic.Pointer[modeInForce] // nil: enforce
	abandoned atomic.Int64
	goCode    registry
}

// inForce wraps the interface so that one pointer swap replaces it.
type inForce struct{ rules Ruleset }

// NewGate returns a gate without a ruleset: until [Gate.Use] every call is not_ready.
// The error names each option that has no meaning.
func NewGate(o Options) (*Gate, error) {
	filled, schema, err := o.filled()
	if err != nil {
		return nil, err
	}
	g := &Gate{options: filled, schema: schema, ready: true}
	g.goCode.inForce.Store(&registrations{list: filled.Validators})
	return g, g.SetMode(filled.Mode, time.Time{})
}

// NewNoopGate returns the explicit "no rules yet": it lets every call through as it
// is, looks at nothing and records nothing. It is for a program that is written
// against a Gate before there is a policy.
func NewNoopGate() *Gate { return &Gate{noop: true} }

// Noop reports whether g was made by [NewNoopGate].
func (g *Gate) Noop() bool { return g != nil && g.noop }

// Use puts rs in force with one pointer swap. Calls being decided keep the ruleset
// that they began with. nil takes the ruleset away: every call is not_ready.
func (g *Gate) Use(rs Ruleset) {
	if rs == nil {
		g.ruleset.Store(nil)
		return
	}
	g.ruleset.Store(&inForce{rs})
}

// Revision names the ruleset in force, "" when there is none.
func (g *Gate) Revision() string {
	if cur := g.ruleset.Load(); cur != nil {
		return cur.rules.Revision()
	}
	return ""
}

// Options returns the gate's options with the defaults filled in, as it was made with
// them; see [Gate.Mode] for the mode in force, and [Gate.Registrations] for the
// validators that are asked now.
func (g *Gate) Options() Options { return g.options }

// Tool makes a tool ready to be called through this gate. It never fails: a tool
// whose schema can't be used refuses its calls, and [Tool.SchemaErr] says why.
func (g *Gate) Tool(spec ToolSpec) *Tool {
	if g == nil || g.noop {
		return &Tool{known: true, spec: spec, annotations: map[string]any{}}
	}
	return newTool(spec, g.schema)
}

// Cover returns what the ruleset in force has for t, for reports.
func (g *Gate) Cover(t *Tool) Coverage {
	if cur := g.ruleset.Load(); cur != nil {
		return cur.rules.Cover(t)
	}
	return Coverage{}
}

// Decide answers one call. It always answers, and it answers once: the decision is
// made by exactly one ruleset, recorded, and never made again.
func (g *Gate) Decide(ctx context.Context, call Call) Decision {
	if g != nil && g.noop {
		return Decision{ID: uuid.NewString(), Allowed: true, Effective: true, Tool: call.Tool.Name(), Server: call.Tool.Server()}
	}
	started := time.Now()
	d := Decision{ID: uuid.NewString(), Tool: call.Tool.Name(), Server: call.Tool.Server()}
	if g == nil || !g.ready {
		d.Refusals = []Refusal{{Code: NotReady, Message: "no policy is in force"}}
		return d
	}
	in := Input{call: &call, caller: callerFrom(ctx), at: started.UTC()}
	if !call.Time.IsZero() {
		in.at = call.Time.UTC()
	}
	watch := stopwatch{on: g.options.Recorder != nil, last: started}
	parsed := g.decideSafely(ctx, &in, &d, &watch)
	mode, _ := g.modeAt(started)
	d.settle(g.options, mode)
	g.record(ctx, Record{Decision: d, Mode: mode, Rules: in.rules, Input: in, Parsed: parsed, Elapsed: time.Since(started), Phases: watch.took}, &d)
	return d
}

// settle makes the decision's parts agree with each other and with the mode.
func (d *Decision) settle(o Options, mode Mode) {
	d.Allowed = d.Allowed && len(d.Refusals) == 0 && d.Err == nil
	if !d.Allowed && len(d.Refusals) == 0 {
		d.Refusals = []Refusal{undecided}
	}
	d.Refusals = capRefusals(d.Refusals, o.MaxRefusals, o.MaxMessage)
	d.Warnings = capRefusals(d.Warnings, o.MaxRefusals, o.MaxMessage)
	if d.Refusals == nil {
		d.Refusals = []Refusal{} // [] and not null, for programs
	}
	if d.Warnings == nil {
		d.Warnings = []Refusal{}
	}
	d.Effective = d.Allowed
	if mode == Shadow && !d.Allowed {
		d.Effective = true
		for _, r := range d.Refusals {
			d.Effective = d.Effective && r.Code.shadowable()
		}
	}
}
