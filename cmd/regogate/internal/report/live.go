package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/telemetry"
)

// A Live keeps what a [Status] is made of. It is safe for concurrent use. Make it with
// [NewLive].
type Live struct {
	version string
	started time.Time

	allowed, refused, forwarded atomic.Int64

	mu      sync.Mutex
	setup   *setup.Setup // nil until Follow
	passes  []string
	sources func() bundles.Status // nil until they are followed
	ready   func() error          // nil when there is no more to ask than the gate
	serving *Serving
	tools   []*policy.Tool // nil until the server declared some
}

// NewLive returns a Live of a gate that isn't set up yet.
func NewLive(version string) *Live { return &Live{version: version, started: time.Now().UTC()} }

// Version is that of the program.
func (l *Live) Version() string { return l.version }

// Follow says which gate it is about, and which methods reach the server undecided.
func (l *Live) Follow(s *setup.Setup, passes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setup, l.passes = s, passes
}

// Sources says who knows how things stand with the bundles.
func (l *Live) Sources(status func() bundles.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sources = status
}

var errNotServing = errors.New("the gate doesn't listen yet")

// WillServe says that the gate isn't ready before Serving is told.
func (l *Live) WillServe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = func() error { return errNotServing }
}

// Serving says how the gate can be reached, and what says why it can't serve now.
func (l *Live) Serving(facts Serving, ready func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	facts.Server = withoutSecrets(facts.Server)
	l.serving, l.ready = &facts, ready
}

// Tools says which tools the server declares.
func (l *Live) Tools(tools []*policy.Tool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools = append([]*policy.Tool{}, tools...)
}

// Record implements policy.Recorder: it counts.
func (l *Live) Record(_ context.Context, r policy.Record) {
	switch d := r.Decision; {
	case d.Allowed:
		l.allowed.Add(1)
	case d.Effective:
		l.forwarded.Add(1)
	default:
		l.refused.Add(1)
	}
}

var errNothingInForce = errors.New("no policy is in force: every call is refused as not_ready")

// Ready says why calls can't be decided, nil when they can.
func (l *Live) Ready() error {
	l.mu.Lock()
	of, ready := l.setup, l.ready
	l.mu.Unlock()
	if of == nil || of.Gate.Revision() == "" {
		return errNothingInForce
	}
	if ready == nil {
		return nil
	}
	if err := ready(); err != nil { // of keys that can't be fetched, say, by their URL
		return errors.New(scrub(oneLine(err)))
	}
	return nil
}

// Policy says how things stand with the policy, for the measurements.
func (l *Live) Policy() telemetry.PolicyStatus {
	l.mu.Lock()
	of, sources := l.setup, l.sources
	l.mu.Unlock()
	if of == nil {
		return telemetry.PolicyStatus{}
	}
	s := telemetry.PolicyStatus{Revision: of.Gate.Revision()}
	s.Ready = s.Revision != ""
	s.Mode, _ = of.Gate.Mode()
	if sources == nil {
		return s
	}
	now := sources()
	s.Activations, s.Refused, s.Unreachable = now.Activations, now.Refusals, now.Failures
	if s.Ready {
		s.Activated, s.Confirmed = now.Since, confirmed(now.Bundles)
	}
	return s
}

// confirmed is when all sources last had what is in force: the time of the one that was
// asked the longest ago; zero when one never had it.
func confirmed(all []bundles.BundleStatus) (oldest time.Time) {
	for i, b := range all {
		if i == 0 || b.LastSuccess.Before(oldest) {
			oldest = b.LastSuccess
		}
	}
	return oldest
}

// DecisionLog says what the decision log has lost, for the measurements.
func (l *Live) DecisionLog() telemetry.LogStatus {
	l.mu.Lock()
	of := l.setup
	l.mu.Unlock()
	if of == nil || of.Decisions == nil {
		return telemetry.LogStatus{}
	}
	s := of.Decisions.Stats()
	return telemetry.LogStatus{Dropped: s.Dropped, Unmasked: s.Unmasked, Sink: s.Discarded}
}

// Status returns how things stand.
func (l *Live) Status() Status {
	s := Status{Version: l.version, Started: l.started, Mode: string(policy.Enforce), Problems: []string{}, Bundles: []string{},
		On: []Difference{}, Off: []Difference{}, Limits: []Difference{}, Require: []string{}, Undecided: []string{},
		Decisions: Counts{Allowed: l.allowed.Load(), Refused: l.refused.Load(), Forwarded: l.forwarded.Load()}}
	err := l.Ready()
	s.Ready = err == nil
	if err != nil {
		s.Problems = append(s.Problems, "not ready: "+oneLine(err))
	}
	l.mu.Lock()
	of, sources, tools := l.setup, l.sources, l.tools
	s.Undecided = append(s.Undecided, l.passes...)
	if l.serving != nil {
		facts := *l.serving
		s.Serving = &facts
	}
	l.mu.Unlock()
	if of == nil {
		return s
	}
	if sources != nil {
		now := sources()
		s.Sources = &now
	}
	s.fill(of)
	if tools != nil {
		s.Tools = []ToolStatus{}
	}
	for _, t := range tools {
		s.Tools = append(s.Tools, toolStatus(of.Gate, t))
	}
	s.Problems = slices.Concat(s.Problems, s.shortfalls())
	return s
}

// fill adds what the setup says.
func (s *Status) fill(of *setup.Setup) {
	mode, until := of.Gate.Mode()
	s.Mode = string(mode)
	if !until.IsZero() {
		s.Until = &until
	}
	if rules := of.InForce(); rules != nil {
		p := policyStatus(rules)
		s.Policy = &p
	}
	c := of.Config
	s.Server, s.Bundles = c.Server.Name, bundleNames(c)
	s.On, s.Off, s.Limits = sections(c.Settings())
	s.Require = append(s.Require, c.Caller.Require...)
	if of.Decisions != nil {
		d, n := c.DecisionLog, of.Decisions.Stats()
		s.Log = &LogStatus{File: d.File, Stderr: d.Stderr, URL: withoutSecrets(d.URL), Arguments: d.Arguments, Required: d.Required,
			Recorded: n.Recorded, Dropped: n.Dropped, Unmasked: n.Unmasked, Discarded: n.Discarded}
	}
}

// shortfalls are the problems of a gate that may be ready all the same.
func (s *Status) shortfalls() (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if s.Mode == string(policy.Shadow) {
		add("shadow mode: calls that the rules refuse are forwarded")
	}
	if from := s.Sources; from != nil {
		if from.Expired {
			add("the bundles could not be refreshed for bundles.max_age")
		}
		if from.StateError != "" {
			add("the last good bundles are not kept: %s", oneLine(errors.New(from.StateError)))
		}
		for _, b := range from.Bundles {
			if b.LastGood {
				add("bundle %s: the last good one from disk is in force, its source hasn't confirmed it", b.Name)
			}
			if b.Error != "" {
				add("bundle %s: %s", b.Name, oneLine(errors.New(b.Error)))
			}
		}
	}
	if d := s.Log; d != nil && d.Dropped+d.Unmasked+d.Discarded > 0 {
		add("the decision log has lost records: %d for want of room, %d that could not be masked, %d that a sink gave up on", d.Dropped, d.Unmasked, d.Discarded)
	}
	for _, t := range s.Tools {
		if t.faulty() {
			add("tool %s: every call is refused as %s: %s", t.Name, t.RefusedAs, t.Why)
		}
	}
	return all
}
