package telemetry

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/regogate/regogate/policy"
)

// Options say where measurements and spans go, and what is measured beside decisions. At
// least one of Meters and Tracers is required.
type Options struct {
	// Meters gets the measurements; nil makes none.
	Meters metric.MeterProvider
	// Tracers gets a span for each decision; nil makes none.
	Tracers trace.TracerProvider
	// MaxTools is how many tools are told apart. 0 means 200.
	MaxTools int
	// Policy says how things stand with the policy. It is called whenever the
	// measurements are read, and must return at once. nil leaves its instruments out.
	Policy func() PolicyStatus
	// DecisionLog says what the decision log has lost, likewise.
	DecisionLog func() LogStatus
}

// A PolicyStatus says how things stand with the policy at one moment.
type PolicyStatus struct {
	// Ready says that a ruleset is in force.
	Ready bool
	// Mode is the mode in force.
	Mode policy.Mode
	// Revision is that of the ruleset in force, "" for none.
	Revision string
	// Activated is when the ruleset in force was put in force; zero when none is.
	Activated time.Time
	// Confirmed is when its sources last had it; zero when that isn't known.
	Confirmed time.Time
	// Activations counts rulesets put in force. Refused counts bundles that were fetched
	// and not accepted, Unreachable the attempts that fetched nothing.
	Activations, Refused, Unreachable int64
}

// A LogStatus counts the records that a decision log has lost.
type LogStatus struct {
	Dropped  int64 // for want of room
	Unmasked int64 // that could not be masked
	Sink     int64 // that a sink took and gave up on
}

const (
	scope           = "github.com/regogate/regogate/policy/telemetry"
	defaultMaxTools = 200
)

// New returns a recorder. The error says which options have no meaning, or what a meter
// provider has against an instrument.
func New(o Options) (*Recorder, error) {
	switch {
	case o.Meters == nil && o.Tracers == nil:
		return nil, errors.New("telemetry.New: there is nowhere to measure to: give Meters or Tracers")
	case o.MaxTools < 0:
		return nil, errors.New("telemetry.New: MaxTools is negative")
	case o.MaxTools == 0:
		o.MaxTools = defaultMaxTools
	}
	r := &Recorder{labels: newLabels(o.MaxTools)}
	if o.Tracers != nil {
		r.tracer = o.Tracers.Tracer(scope)
	}
	if o.Meters == nil {
		return r, nil
	}
	var err error
	if r.decisions, err = newDecisions(o.Meters.Meter(scope)); err != nil {
		return nil, fmt.Errorf("telemetry.New: %w", err)
	}
	if r.observed, err = observe(o.Meters.Meter(scope), o); err != nil {
		return nil, fmt.Errorf("telemetry.New: %w", err)
	}
	return r, nil
}
