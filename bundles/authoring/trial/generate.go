package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/regoeval/generate"
)

// GenerateOptions say which calls to make up.
type GenerateOptions struct {
	Bundles bundles.Options
	// Tools to call; none means those that the bundle pins.
	Tools []policy.ToolSpec
	// N is how many calls are made up for each tool, before the search for rules that
	// none of them met.
	N    int
	Seed uint64
}

// ErrNoTools says that there is no tool to call.
var ErrNoTools = errors.New("no tools to call: the bundle pins none, and none were given")

const (
	maxHints      = 150 // of the rules' literals, for one tool
	maxVariations = 300 // of one call, and not many more than calls were asked for
	searchRounds  = 4   // from the call that came nearest
)

// Generated is what made-up calls showed.
type Generated struct {
	Seed  uint64      `json:"seed"`
	Calls int         `json:"calls"`
	Tools []ToolCalls `json:"tools"`
	Rules []RuleCalls `json:"rules"` // of deny and warn sets, in the order of files and lines
}

// ToolCalls says how the calls of one tool came out.
type ToolCalls struct {
	Server  string              `json:"server,omitempty"`
	Tool    string              `json:"tool"`
	Calls   int                 `json:"calls"`
	Allowed int                 `json:"allowed"`
	Codes   map[policy.Code]int `json:"codes"` // of the refused
	// Undecided is a call that satisfies the schema and that the rules can't decide, and
	// Why what the operator is told.
	Undecided json.RawMessage `json:"undecided,omitempty"`
	Why       string          `json:"why,omitempty"`
}

// RuleCalls says which calls one rule held for.
type RuleCalls struct {
	regoeval.Rule
	Hits int `json:"hits"`
	// Refused is the first call that the rule held for, and Nearest the one that differs
	// from it least and that it doesn't hold for.
	Refused *Call `json:"refused,omitempty"`
	Nearest *Call `json:"nearest,omitempty"`
	// FailedAt is, for a rule that never held, the line of the condition that never did.
	FailedAt int `json:"failed_at,omitempty"`

	best    int // conditions that Closest passed
	closest *Call
	others  []Call
	target  *callee
}

// A Call is one that was made up.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Undecided returns how many calls the rules couldn't decide.
func (g Generated) Undecided() int {
	n := 0
	for _, t := range g.Tools {
		n += t.Codes[policy.Undecided]
	}
	return n
}

// Never returns the rules that held for no call.
func (g Generated) Never() []RuleCalls {
	return slices.DeleteFunc(slices.Clone(g.Rules), func(r RuleCalls) bool { return r.Hits > 0 })
}

// Generate makes up calls of tools and lets a gate decide them. The same options give
// the same calls and the same answer.
func Generate(ctx context.Context, o GenerateOptions) (Generated, error) {
	rules, err := bundles.Load(ctx, o.Bundles)
	if err != nil {
		return Generated{}, err
	}
	tools := o.Tools
	if len(tools) == 0 {
		tools = rules.PinnedTools()
	}
	if len(tools) == 0 {
		return Generated{}, ErrNoTools
	}
	e := &explorer{ctx: ctx, rules: rules, variations: min(maxVariations, 20+10*o.N), out: Generated{Seed: o.Seed, Tools: []ToolCalls{}}, byPlace: map[regoeval.Rule]*RuleCalls{}}
	// A gate as any other, but for the clock: how busy this machine is must not decide.
	// Pins are off, since it is about the rules and not about which tools these are.
	if e.gate, err = policy.NewGate(policy.Options{Timeout: time.Minute, Pins: policy.PinsOff}); err != nil {
		return Generated{}, err
	}
	e.gate.Use(tracing{rules, e})
	for _, spec := range tools {
		if err := e.explore(spec, o); err != nil {
			return e.out, err
		}
	}
	e.search()
	return e.finish(), ctx.Err()
}

// A callee is a tool that calls are made up for.
type callee struct {
	spec  policy.ToolSpec
	tool  *policy.Tool
	hints []any
	calls *ToolCalls
}

// An explorer makes calls and notes what the rules make of them.
type explorer struct {
	ctx     context.Context
	rules   *regoeval.Ruleset
	gate    *policy.Gate
	traced  []regoeval.Traced // of the call that is being decided
	byPlace map[regoeval.Rule]*RuleCalls
	callees []*callee
	out     Generated
	// variations is how many calls around one are tried.
	variations int
}

// tracing is the ruleset with an eye on its rules.
type tracing struct {
	*regoeval.Ruleset
	to *explorer
}

// Cover implements policy.Ruleset.
func (t tracing) Cover(tool *policy.Tool) policy.Coverage {
	c := t.Ruleset.Cover(tool)
	if deny := c.Deny; deny != nil {
		c.Deny = policy.ValidatorFunc(func(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
			// What can't be evaluated shows in the decision; how far rules got is of use all the same.
			t.to.traced, _ = t.Ruleset.Trace(ctx, tool, in)
			return deny.Validate(ctx, in)
		})
	}
	return c
}

// explore makes the calls of one tool.
func (e *explorer) explore(spec policy.ToolSpec, o GenerateOptions) error {
	c := &callee{spec: spec, tool: e.gate.Tool(spec), calls: &ToolCalls{Server: spec.Server, Tool: spec.Name, Codes: map[policy.Code]int{}}}
	e.callees = append(e.callees, c)
	if err := c.tool.SchemaErr(); err != nil {
		c.calls.Why = firstLine(err.Error())
		return nil
	}
	var packages []string
	for _, p := range e.rules.Cover(c.tool).Packages {
		packages = append(packages, p.Path)
	}
	c.hints = e.rules.Literals(packages, maxHints)
	cases, err := generate.Arguments(spec.InputSchema, o.N, generate.Options{Seed: o.Seed, Hints: c.hints})
	if err != nil {
		return fmt.Errorf("tool %q: %w", spec.Name, err)
	}
	for _, k := range cases {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		e.call(c, k.Arguments)
	}
	return nil
}

// call lets the gate decide one call, and notes how far each rule got.
func (e *explorer) call(c *callee, arguments []byte) {
	e.traced = nil
	d := e.gate.Decide(e.ctx, policy.Call{Tool: c.tool, Arguments: arguments, Transport: "go"})
	c.calls.Calls++
	e.out.Calls++
	if d.Allowed {
		c.calls.Allowed++
	} else {
		c.calls.Codes[d.Code()]++
	}
	if d.Err != nil && c.calls.Undecided == nil && d.Code() == policy.Undecided {
		c.calls.Undecided, c.calls.Why = arguments, firstLine(d.Err.Error())
	}
	call := Call{c.spec.Name, arguments}
	for _, t := range e.traced {
		r, ok := e.byPlace[t.Rule]
		if !ok {
			r = &RuleCalls{Rule: t.Rule, best: -1}
			e.byPlace[t.Rule] = r
		}
		if t.Fired {
			if r.Hits++; r.Refused == nil {
				r.Refused, r.target = &call, c
			}
			continue
		}
		const kept = 2000
		if len(r.others) < kept {
			r.others = append(r.others, call)
		}
		if r.Hits == 0 && t.Passed > r.best {
			r.best, r.closest, r.FailedAt, r.target = t.Passed, &call, t.FailedAt, c
		}
	}
}

// search goes on from the calls that came nearest to the rules which none has met, and
// looks around each refused call for one that isn't.
func (e *explorer) search() {
	stuck := map[*RuleCalls]bool{} // nothing around the nearest call comes nearer
	for range searchRounds {
		for _, r := range e.inOrder() {
			if r.Hits > 0 || r.closest == nil || stuck[r] {
				continue
			}
			before := r.best
			e.vary(r.target, r.closest.Arguments, func() bool { return r.Hits > 0 })
			stuck[r] = r.best == before
		}
	}
	for _, r := range e.inOrder() {
		if r.Hits > 0 {
			e.vary(r.target, r.Refused.Arguments, func() bool { return false })
			r.choose()
		}
	}
}

func (e *explorer) vary(c *callee, base []byte, enough func() bool) {
	cases, err := generate.Variations(c.spec.InputSchema, base, e.variations, generate.Options{Hints: c.hints})
	if err != nil {
		return // the schema was read before, and base is an object of ours
	}
	for _, k := range cases {
		if enough() || e.ctx.Err() != nil {
			return
		}
		e.call(c, k.Arguments)
	}
}

func (e *explorer) inOrder() []*RuleCalls {
	var all []*RuleCalls
	for _, r := range e.byPlace {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *RuleCalls) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Name, b.Name))
	})
	return all
}

// finish brings the answer together. Rules of packages that no tool has are in it too.
func (e *explorer) finish() Generated {
	for _, info := range e.rules.Rules(e.rules.Compiled()) {
		if _, asked := e.byPlace[info]; info.Decides && !asked {
			e.byPlace[info] = &RuleCalls{Rule: info}
		}
	}
	e.out.Rules = []RuleCalls{}
	for _, r := range e.inOrder() {
		if r.Hits > 0 {
			r.FailedAt = 0
		}
		e.out.Rules = append(e.out.Rules, *r)
	}
	for _, c := range e.callees {
		e.out.Tools = append(e.out.Tools, *c.calls)
	}
	return e.out
}
