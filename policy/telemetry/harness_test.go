package telemetry_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/telemetry"
)

// rules deny what says so.
type rules struct{}

func (rules) Revision() string { return "r1" }

func (rules) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(deny), Warn: policy.ValidatorFunc(warn)}
}

func deny(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	switch path, _ := in.Arguments().Lookup("/path"); path {
	case "no":
		return []policy.Refusal{{Message: "no"}}, nil
	case "panic":
		panic(path)
	}
	return nil, nil
}

func warn(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	if path, _ := in.Arguments().Lookup("/path"); path == "hm" {
		return []policy.Refusal{{Message: "hm"}}, nil
	}
	return nil, nil
}

// A bench is a gate that is measured.
type bench struct {
	t      testing.TB
	gate   *policy.Gate
	reader *sdkmetric.ManualReader
	spans  *tracetest.InMemoryExporter
	tracer *sdktrace.TracerProvider
}

func newBench(t testing.TB, g policy.Options, o telemetry.Options) *bench {
	t.Helper()
	b := &bench{t: t, reader: sdkmetric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	b.tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(b.spans))
	o.Meters, o.Tracers = sdkmetric.NewMeterProvider(sdkmetric.WithReader(b.reader)), b.tracer
	r, err := telemetry.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	g.Recorder = r
	b.gate, err = policy.NewGate(g)
	require.NoError(t, err)
	b.gate.Use(rules{})
	return b
}

const schema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`

func (b *bench) tool(name string) *policy.Tool {
	return b.gate.Tool(policy.ToolSpec{Server: "files", Name: name, InputSchema: []byte(schema)})
}

func (b *bench) decide(ctx context.Context, t *policy.Tool, arguments string) policy.Decision {
	return b.gate.Decide(ctx, policy.Call{Tool: t, Arguments: []byte(arguments)})
}

// read returns what an instrument has measured.
func (b *bench) read(name string) metricdata.Aggregation {
	b.t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(b.t, b.reader.Collect(context.Background(), &all))
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Name == name {
				return m.Data
			}
		}
	}
	return nil
}

// text writes attributes as "a=1 b=2".
func text(s attribute.Set) string { return s.Encoded(attribute.DefaultEncoder()) }

// sums returns a counter's or a gauge's values by their attributes.
func (b *bench) sums(name string) map[string]int64 {
	out := map[string]int64{}
	switch data := b.read(name).(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			out[text(p.Attributes)] = p.Value
		}
	case metricdata.Gauge[int64]:
		for _, p := range data.DataPoints {
			out[text(p.Attributes)] = p.Value
		}
	}
	return out
}

// counts returns how many values a histogram has by their attributes.
func (b *bench) counts(name string) map[string]uint64 {
	out := map[string]uint64{}
	if data, ok := b.read(name).(metricdata.Histogram[float64]); ok {
		for _, p := range data.DataPoints {
			out[text(p.Attributes)] = p.Count
		}
	}
	return out
}

// gauge returns the only value of a gauge of floats, -1 when there is none.
func (b *bench) gauge(name string) float64 {
	data, ok := b.read(name).(metricdata.Gauge[float64])
	if !ok || len(data.DataPoints) != 1 {
		return -1
	}
	return data.DataPoints[0].Value
}
