package telemetry_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/telemetry"
)

func TestDecisionsAreCountedByToolCodeAndEffect(t *testing.T) {
	for mode, denied := range map[policy.Mode]string{policy.Enforce: "refused", policy.Shadow: "forwarded"} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBench(t, policy.Options{Mode: mode}, telemetry.Options{})
			read := b.tool("read")
			for _, a := range []string{`{"path":"a"}`, `{"path":"hm"}`, `{"path":"no"}`, `{"path":"panic"}`, `{}`, `[]`, `[]`} {
				b.decide(t.Context(), read, a)
			}
			b.decide(t.Context(), policy.UndeclaredTool("files", "made up"), `{}`)
			b.decide(t.Context(), policy.UnlearnedTool("files", "made up"+" too", nil), `{}`)
			b.decide(t.Context(), nil, `{}`)
			require.Equal(t, map[string]int64{
				"code=allowed,effective=forwarded,server=files,tool=read":               2,
				"code=denied,effective=" + denied + ",server=files,tool=read":           1,
				"code=undecided,effective=" + denied + ",server=files,tool=read":        1,
				"code=schema_violation,effective=" + denied + ",server=files,tool=read": 1,
				"code=malformed,effective=refused,server=files,tool=read":               2,
				"code=unknown_tool,effective=refused,server=files,tool=(unknown)":       1,
				"code=not_ready,effective=refused,server=files,tool=(unknown)":          1,
				"code=unknown_tool,effective=refused,server=,tool=(unknown)":            1,
			}, b.sums("regogate.decisions"))
			require.Equal(t, map[string]int64{"server=files,tool=read": 1}, b.sums("regogate.decision.warnings"))
			total := uint64(0)
			for _, n := range b.counts("regogate.decision.duration") {
				total += n
			}
			require.EqualValues(t, 10, total)
			require.Equal(t, map[string]uint64{"phase=parse": 10, "phase=schema": 8, "phase=policy": 4}, b.counts("regogate.decision.phase.duration"))
		})
	}
}

// However many tools there are, and whatever callers call, the series are bounded.
func TestToolsAreToldApartUpToABound(t *testing.T) {
	b := newBench(t, policy.Options{}, telemetry.Options{MaxTools: 3})
	for i := range 50 {
		b.decide(t.Context(), b.tool(fmt.Sprintf("tool%d", i)), `{"path":"a"}`)
		b.decide(t.Context(), policy.UndeclaredTool("files", fmt.Sprintf("made up %d", i)), `{}`)
	}
	require.Equal(t, map[string]int64{
		"code=allowed,effective=forwarded,server=files,tool=tool0":        1,
		"code=allowed,effective=forwarded,server=files,tool=tool1":        1,
		"code=unknown_tool,effective=refused,server=files,tool=(unknown)": 50,
		"code=allowed,effective=forwarded,server=,tool=(other)":           48,
	}, b.sums("regogate.decisions"))
	b = newBench(t, policy.Options{}, telemetry.Options{})
	for i := range 1000 {
		b.decide(t.Context(), b.tool(strings.Repeat("é", 100)+fmt.Sprint(i)), `{"path":"a"}`)
		b.decide(t.Context(), b.tool(fmt.Sprint(i)), `{"path":"a"}`)
	}
	require.LessOrEqual(t, len(b.sums("regogate.decisions")), 201)
	for attributes := range b.sums("regogate.decisions") {
		require.LessOrEqual(t, len(attributes), 300)
	}
}

func TestWhatIsAskedForWhenMeasurementsAreRead(t *testing.T) {
	activated := time.Now().Add(-time.Minute)
	var s telemetry.PolicyStatus
	var l telemetry.LogStatus
	b := newBench(t, policy.Options{}, telemetry.Options{
		Policy:      func() telemetry.PolicyStatus { return s },
		DecisionLog: func() telemetry.LogStatus { return l },
	})
	require.Equal(t, map[string]int64{"": 0}, b.sums("regogate.policy.ready"))
	require.Equal(t, map[string]int64{"": 0}, b.sums("regogate.policy.shadow"))
	require.Empty(t, b.sums("regogate.bundle.info"))
	require.EqualValues(t, -1, b.gauge("regogate.bundle.age"))
	s = telemetry.PolicyStatus{Ready: true, Mode: policy.Shadow, Revision: "r1", Activated: activated, Confirmed: activated.Add(50 * time.Second), Activations: 2, Refused: 3, Unreachable: 4}
	l = telemetry.LogStatus{Dropped: 5, Unmasked: 6, Sink: 7}
	require.Equal(t, map[string]int64{"": 1}, b.sums("regogate.policy.ready"))
	require.Equal(t, map[string]int64{"": 1}, b.sums("regogate.policy.shadow"))
	require.Equal(t, map[string]int64{"revision=r1": 1}, b.sums("regogate.bundle.info"))
	require.InDelta(t, 60, b.gauge("regogate.bundle.age"), 30)
	require.InDelta(t, 10, b.gauge("regogate.bundle.unconfirmed"), 9.9)
	require.Equal(t, map[string]int64{"": 2}, b.sums("regogate.bundle.activations"))
	require.Equal(t, map[string]int64{"reason=refused": 3, "reason=unreachable": 4}, b.sums("regogate.bundle.activation.failures"))
	require.Equal(t, map[string]int64{"reason=no_room": 5, "reason=not_masked": 6, "reason=sink": 7}, b.sums("regogate.decision_log.dropped"))
	s.Revision, s.Activated = "r2", time.Now().Add(time.Hour) // a clock that was set back
	require.Equal(t, map[string]int64{"revision=r2": 1}, b.sums("regogate.bundle.info"), "the old revision is gone")
	require.Zero(t, b.gauge("regogate.bundle.age"))
}

func TestNothingIsAskedAfterClose(t *testing.T) {
	asked := 0
	reader := sdkmetric.NewManualReader()
	r, err := telemetry.New(telemetry.Options{
		Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		Policy: func() telemetry.PolicyStatus { asked++; return telemetry.PolicyStatus{} },
	})
	require.NoError(t, err)
	b := bench{t: t, reader: reader}
	b.read("")
	require.Equal(t, 1, asked)
	require.NoError(t, r.Close())
	b.read("")
	require.Equal(t, 1, asked)
}

func TestOptionsWithoutMeaning(t *testing.T) {
	_, err := telemetry.New(telemetry.Options{})
	require.ErrorContains(t, err, "Meters or Tracers")
	_, err = telemetry.New(telemetry.Options{Meters: sdkmetric.NewMeterProvider(), MaxTools: -1})
	require.ErrorContains(t, err, "MaxTools")
}

func TestConcurrentDecisions(t *testing.T) {
	b := newBench(t, policy.Options{}, telemetry.Options{MaxTools: 8, Policy: func() telemetry.PolicyStatus { return telemetry.PolicyStatus{} }})
	var tools []*policy.Tool
	for i := range 16 {
		tools = append(tools, b.tool(fmt.Sprint(i)))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 400 {
				b.decide(context.Background(), tools[i%len(tools)], `{"path":"a"}`)
			}
		})
	}
	wg.Go(func() {
		for range 10 {
			b.sums("regogate.decisions")
		}
	})
	wg.Wait()
	total := int64(0)
	for _, n := range b.sums("regogate.decisions") {
		total += n
	}
	require.EqualValues(t, 1600, total)
}

func BenchmarkRecord(b *testing.B) {
	r, err := telemetry.New(telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))})
	require.NoError(b, err)
	rec := policy.Record{Decision: policy.Decision{Allowed: true, Effective: true}, Elapsed: time.Millisecond, Phases: policy.Phases{Parse: 1, Schema: 1, Rules: 1}}
	b.ReportAllocs()
	for b.Loop() {
		r.Record(context.Background(), rec)
	}
}
