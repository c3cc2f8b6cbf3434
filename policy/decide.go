package policy

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/regogate/regogate/policy/internal/inputschema"
	"github.com/regogate/regogate/policy/strictjson"
)

// undecided is what an agent learns of a call that could not be decided.
var undecided = Refusal{Code: Undecided, Message: "the policy could not be evaluated for this call"}

// decideSafely asks every question and turns a panic into a refusal. It reports
// whether the arguments were read.
func (g *Gate) decideSafely(ctx context.Context, in *Input, d *Decision, w *stopwatch) (parsed bool) {
	defer func() {
		if p := recover(); p != nil {
			d.Allowed, d.Refusals = false, []Refusal{undecided}
			d.Err = fmt.Errorf("panic while deciding: %v\n%s", p, debug.Stack())
		}
	}()
	cur := g.ruleset.Load()
	if cur == nil {
		d.refuse(NotReady, "no policy is in force")
		return false
	}
	in.rules = cur.rules
	d.Revision = cur.rules.Revision()
	args, ok := g.readArguments(in, d)
	w.lap(&w.took.Parse)
	if !ok {
		return false
	}
	in.given, in.view = args, args
	ok = g.checkTool(cur.rules, in, d)
	w.lap(&w.took.Schema)
	if !ok {
		return true
	}
	g.askRules(ctx, cur.rules, in, d)
	w.lap(&w.took.Rules)
	return true
}

func (d *Decision) refuse(c Code, message string) {
	d.Refusals = append(d.Refusals, Refusal{Code: c, Message: message})
}

// readArguments turns the bytes of the call into values, once.
func (g *Gate) readArguments(in *Input, d *Decision) (map[string]any, bool) {
	args, traits, err := strictjson.ReadObject(in.call.Arguments, g.options.Arguments)
	if err != nil {
		d.refuse(Malformed, agentText(err))
		d.Err = fmt.Errorf("arguments: %w", err)
		return nil, false
	}
	in.plain = !traits.Extreme
	in.answer = map[string]any{}
	if len(in.call.Responses) > 0 {
		in.answer, traits, err = strictjson.ReadObject(in.call.Responses, g.options.Arguments)
		in.plain = in.plain && !traits.Extreme
		if err != nil {
			d.refuse(Malformed, "the call's responses: "+agentText(err))
			d.Err = fmt.Errorf("responses: %w", err)
			return nil, false
		}
	}
	return args, true
}

func agentText(err error) string {
	var e *strictjson.Error
	if errors.As(err, &e) {
		return e.Message()
	}
	return "not one JSON object"
}

// checkTool asks whether the tool is known, as it was pinned, and what its schema says. On success
// in.view is what validators see.
func (g *Gate) checkTool(rules Ruleset, in *Input, d *Decision) bool {
	t := in.call.Tool
	if why := t.Unlearned(); why != nil {
		d.refuse(NotReady, "the server's tools are not known yet, so no call can be checked")
		d.Err = why
		return false
	}
	if !t.Known() {
		d.refuse(UnknownTool, "the server declares no such tool")
		return false
	}
	if !g.checkPin(rules, t, d) {
		return false
	}
	enforce := !g.options.Schema.SkipEnforce
	if t.schemaErr != nil && enforce {
		d.refuse(SchemaUnusable, "the tool's input schema can't be used, so no call to it can be checked")
		d.Err = t.schemaErr
		return false
	}
	if t.schema == nil {
		if enforce && !t.spec.NoSchema {
			d.refuse(SchemaUnusable, "the tool has no input schema, so no call to it can be checked")
			return false
		}
		return true
	}
	if !enforce {
		return viewOnly(in, d)
	}
	return checkSchema(in, d)
}

// viewOnly prepares the arguments for validators where the schema isn't enforced. What
// bytes mean is asked all the same.
func viewOnly(in *Input, d *Decision) bool {
	schema := in.call.Tool.schema
	if d.violations(Malformed, schema.FoldConflicts(in.view)); len(d.Refusals) > 0 {
		return false
	}
	if in.view = schema.View(in.view); in.view == nil {
		d.fail(errors.New("input schema: the arguments' defaults could not be filled in"))
		return false
	}
	return true
}

func checkSchema(in *Input, d *Decision) bool {
	out := in.call.Tool.schema.Check(in.view)
	d.violations(Malformed, out.Malformed)
	d.violations(SchemaViolation, out.Violations)
	if out.Err != nil {
		d.refuse(Undecided, "the arguments could not be checked against the tool's input schema")
		d.Err = fmt.Errorf("input schema: %w", out.Err)
	}
	if !out.OK || out.View == nil || len(d.Refusals) > 0 {
		return false
	}
	in.view = out.View
	return true
}

func (d *Decision) violations(c Code, vs []inputschema.Violation) {
	for _, v := range vs {
		d.Refusals = append(d.Refusals, Refusal{Code: c, Message: v.Message, Location: v.Pointer})
	}
}

// askRules asks the deny set and the Go validators, all of them, so that the agent
// learns every reason at once.
func (g *Gate) askRules(ctx context.Context, rules Ruleset, in *Input, d *Decision) {
	t := in.call.Tool
	cov := rules.Cover(t)
	own, covered := cov.Own, cov.Deny != nil
	var registered []Registration
	for _, r := range g.Registrations() {
		if r.covers(t) {
			registered = append(registered, r)
			covered = true
			own = own || r.Tool != ""
		}
	}
	switch {
	case cov.Err != nil:
		d.fail(fmt.Errorf("rules for tool %q: %w", t.Name(), cov.Err))
		return
	case !covered && g.options.Unmapped != "allow":
		d.refuse(Unmapped, "no policy covers this tool")
		return
	case !own && g.options.OwnPackage == "require":
		d.refuse(Unmapped, "no policy is written for this tool")
		return
	}
	if err := g.mayAsk(ctx, in); err != nil {
		d.fail(err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, g.options.Timeout)
	defer cancel()
	if cov.Deny != nil {
		shared := *in
		shared.shared = true
		d.take(ask(ctx, "deny set", cov.Deny, shared))
	}
	for _, r := range registered {
		d.take(g.askGo(ctx, r, *in))
	}
	d.Allowed = len(d.Refusals) == 0 && d.Err == nil
	if cov.Warn != nil {
		g.askWarn(ctx, cov.Warn, in, d)
	}
}

// mayAsk refuses a call whose context has ended or whose caller isn't known well enough.
func (g *Gate) mayAsk(ctx context.Context, in *Input) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the call's context had ended: %w", err)
	}
	if err := in.call.Unfaithful; err != nil {
		return fmt.Errorf("what would be decided is not what the handler would get: %w", err)
	}
	if in.caller.err != nil {
		return in.caller.err
	}
	for _, path := range g.options.CallerRequire {
		if !in.caller.has(path) {
			return fmt.Errorf("caller.require: the caller has no %s", path)
		}
	}
	return nil
}

// fail makes the decision undecided because of err.
func (d *Decision) fail(err error) {
	d.Err = errors.Join(d.Err, err)
	for _, r := range d.Refusals {
		if r.Code == Undecided {
			return
		}
	}
	d.Refusals = append(d.Refusals, undecided)
}

// take adds one validator's answer.
func (d *Decision) take(rs []Refusal, err error) {
	for _, r := range rs {
		if r.Message == "" {
			err = errors.Join(err, errors.New("a refusal has no message"))
			continue
		}
		r.Code = Denied
		d.Refusals = append(d.Refusals, r)
	}
	if err != nil {
		d.fail(err)
	}
}

// askWarn records what the warn set holds. Nothing that happens here refuses.
func (g *Gate) askWarn(ctx context.Context, warn Validator, in *Input, d *Decision) {
	shared := *in
	shared.shared = true
	rs, err := ask(ctx, "warn set", warn, shared)
	for _, r := range rs {
		r.Code = ""
		d.Warnings = append(d.Warnings, r)
	}
	if err != nil {
		d.Warnings = append(d.Warnings, Refusal{Code: Undecided, Message: "the warn set could not be evaluated"})
		d.WarnErr = errors.Join(d.WarnErr, err)
	}
}

// ask runs a validator that keeps to its context, and turns a panic into an error.
func ask(ctx context.Context, what string, v Validator, in Input) (rs []Refusal, err error) {
	defer func() {
		if p := recover(); p != nil {
			rs, err = nil, fmt.Errorf("%s: panic: %v\n%s", what, p, debug.Stack())
		}
	}()
	rs, err = v.Validate(ctx, in)
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return rs, err
}

// askGo runs a validator that somebody else wrote. It isn't trusted to come back.
func (g *Gate) askGo(ctx context.Context, r Registration, in Input) ([]Refusal, error) {
	what := "validator " + r.Name
	if g.abandoned.Load() >= int64(g.options.MaxAbandoned) {
		return nil, fmt.Errorf("%s: not asked: %d validators that outlived their deadline are still running", what, g.options.MaxAbandoned)
	}
	type answer struct {
		rs  []Refusal
		err error
	}
	done := make(chan answer, 1)
	var settled atomic.Bool // whoever sets it first says whether the validator came back or was given up
	go func() {
		rs, err := ask(ctx, what, r.Validator, in)
		done <- answer{rs, err}
		if !settled.CompareAndSwap(false, true) {
			g.abandoned.Add(-1)
		}
	}()
	select {
	case a := <-done:
		return a.rs, a.err
	case <-ctx.Done():
	}
	g.abandoned.Add(1)
	if !settled.CompareAndSwap(false, true) {
		g.abandoned.Add(-1) // it came back at the last moment, which is too late all the same
	}
	return nil, fmt.Errorf("%s: abandoned: %w", what, ctx.Err())
}
