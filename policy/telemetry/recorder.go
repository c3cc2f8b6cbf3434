package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/regogate/regogate/policy"
)

// A Recorder measures decisions. It is safe for concurrent use. Make it with [New].
type Recorder struct {
	labels    *labels
	tracer    trace.Tracer // nil when there are no spans
	decisions *decisions   // nil when there are no measurements
	observed  []metric.Registration
}

var _ policy.Recorder = (*Recorder)(nil)

// Record implements policy.Recorder.
func (r *Recorder) Record(ctx context.Context, rec policy.Record) {
	l := r.labels.of(rec)
	if r.tracer != nil {
		ctx = r.span(ctx, rec, l)
	}
	if r.decisions != nil {
		r.decisions.add(ctx, rec, l)
	}
}

// Close ends the calls to the functions of the options.
func (r *Recorder) Close() error {
	var errs []error
	for _, o := range r.observed {
		errs = append(errs, o.Unregister())
	}
	return errors.Join(errs...)
}

// bounds are of the histograms, in seconds: a decision takes tens of microseconds, and
// its backstop is a second.
var bounds = []float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.5, 10}

// decisions are the instruments that each decision is added to.
type decisions struct {
	count, warnings  metric.Int64Counter
	duration, phases metric.Float64Histogram

	forwarded, refused    metric.MeasurementOption
	parse, schema, policy metric.MeasurementOption
}

func newDecisions(m metric.Meter) (*decisions, error) {
	d := &decisions{
		forwarded: with(attribute.String("effective", effectiveForwarded)),
		refused:   with(attribute.String("effective", effectiveRefused)),
		parse:     with(attribute.String("phase", "parse")),
		schema:    with(attribute.String("phase", "schema")),
		policy:    with(attribute.String("phase", "policy")),
	}
	var errs [4]error
	d.count, errs[0] = m.Int64Counter("regogate.decisions", metric.WithUnit("{decision}"),
		metric.WithDescription("Calls that were decided, by tool, code and what happened to them."))
	d.warnings, errs[1] = m.Int64Counter("regogate.decision.warnings", metric.WithUnit("{decision}"),
		metric.WithDescription("Calls about which a warn set had something to say."))
	d.duration, errs[2] = m.Float64Histogram("regogate.decision.duration", metric.WithUnit("s"),
		metric.WithDescription("How long a decision took."), metric.WithExplicitBucketBoundaries(bounds...))
	d.phases, errs[3] = m.Float64Histogram("regogate.decision.phase.duration", metric.WithUnit("s"),
		metric.WithDescription("How long one phase of a decision took, of those that reached it."), metric.WithExplicitBucketBoundaries(bounds...))
	return d, errors.Join(errs[:]...)
}

func with(attrs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

func (d *decisions) add(ctx context.Context, rec policy.Record, l *label) {
	d.count.Add(ctx, 1, l.decision(rec.Decision))
	if len(rec.Decision.Warnings) > 0 {
		d.warnings.Add(ctx, 1, l.plain)
	}
	how := d.refused
	if rec.Decision.Effective {
		how = d.forwarded
	}
	d.duration.Record(ctx, rec.Elapsed.Seconds(), how)
	p := rec.Phases
	for _, phase := range []struct {
		seconds float64
		which   metric.MeasurementOption
	}{{p.Parse.Seconds(), d.parse}, {p.Schema.Seconds(), d.schema}, {p.Rules.Seconds(), d.policy}} {
		if phase.seconds > 0 { // it was reached
			d.phases.Record(ctx, phase.seconds, phase.which)
		}
	}
}
