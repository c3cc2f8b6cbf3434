package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/regogate/regogate/policy"
)

// observe registers what is asked for whenever measurements are read.
func observe(m metric.Meter, o Options) (all []metric.Registration, err error) {
	var errs []error
	add := func(r metric.Registration, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		all = append(all, r)
	}
	if o.Policy != nil {
		add(observePolicy(m, o.Policy))
	}
	if o.DecisionLog != nil {
		add(observeLog(m, o.DecisionLog))
	}
	return all, errors.Join(errs...)
}

// policyInstruments are what is measured of a policy.
type policyInstruments struct {
	ready, shadow, info   metric.Int64ObservableGauge
	age, unconfirmed      metric.Float64ObservableGauge
	activations, failures metric.Int64ObservableCounter
}

func newPolicyInstruments(m metric.Meter) (i policyInstruments, err error) {
	var errs [7]error
	i.ready, errs[0] = m.Int64ObservableGauge("regogate.policy.ready",
		metric.WithDescription("1 when a ruleset is in force, 0 when every call is not_ready."))
	i.shadow, errs[1] = m.Int64ObservableGauge("regogate.policy.shadow",
		metric.WithDescription("1 in shadow mode: calls that the rules refuse are forwarded."))
	i.info, errs[2] = m.Int64ObservableGauge("regogate.bundle.info",
		metric.WithDescription("1, for the revision of the policy in force."))
	i.age, errs[3] = m.Float64ObservableGauge("regogate.bundle.age", metric.WithUnit("s"),
		metric.WithDescription("Time since the revision in force was put in force."))
	i.unconfirmed, errs[4] = m.Float64ObservableGauge("regogate.bundle.unconfirmed", metric.WithUnit("s"),
		metric.WithDescription("Time since the sources last had the revision in force."))
	i.activations, errs[5] = m.Int64ObservableCounter("regogate.bundle.activations", metric.WithUnit("{activation}"),
		metric.WithDescription("Rulesets that were put in force."))
	i.failures, errs[6] = m.Int64ObservableCounter("regogate.bundle.activation.failures", metric.WithUnit("{failure}"),
		metric.WithDescription("Bundles that were not accepted, and attempts that fetched none."))
	return i, errors.Join(errs[:]...)
}

func observePolicy(m metric.Meter, status func() PolicyStatus) (metric.Registration, error) {
	i, err := newPolicyInstruments(m)
	if err != nil {
		return nil, err
	}
	refused, unreachable := reason("refused"), reason("unreachable")
	return m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s, now := status(), time.Now()
		o.ObserveInt64(i.ready, one(s.Ready))
		o.ObserveInt64(i.shadow, one(s.Mode == policy.Shadow))
		if s.Revision != "" {
			o.ObserveInt64(i.info, 1, with(attribute.String("revision", printable(s.Revision))))
		}
		if !s.Activated.IsZero() {
			o.ObserveFloat64(i.age, max(0, now.Sub(s.Activated).Seconds()))
		}
		if !s.Confirmed.IsZero() {
			o.ObserveFloat64(i.unconfirmed, max(0, now.Sub(s.Confirmed).Seconds()))
		}
		o.ObserveInt64(i.activations, s.Activations)
		o.ObserveInt64(i.failures, s.Refused, refused)
		o.ObserveInt64(i.failures, s.Unreachable, unreachable)
		return nil
	}, i.ready, i.shadow, i.info, i.age, i.unconfirmed, i.activations, i.failures)
}

func observeLog(m metric.Meter, status func() LogStatus) (metric.Registration, error) {
	dropped, err := m.Int64ObservableCounter("regogate.decision_log.dropped", metric.WithUnit("{record}"),
		metric.WithDescription("Decisions that the decision log has lost."))
	if err != nil {
		return nil, err
	}
	noRoom, notMasked, sink := reason("no_room"), reason("not_masked"), reason("sink")
	return m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := status()
		o.ObserveInt64(dropped, s.Dropped, noRoom)
		o.ObserveInt64(dropped, s.Unmasked, notMasked)
		o.ObserveInt64(dropped, s.Sink, sink)
		return nil
	}, dropped)
}

func reason(why string) metric.MeasurementOption { return with(attribute.String("reason", why)) }

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
