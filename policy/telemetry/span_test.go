package telemetry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/telemetry"
	"github.com/regogate/regogate/policy/telemetry/scrape"
)

const (
	trace = "0af7651916cd43dd8448eb211c80319c"
	span  = "b7ad6b7169203331"
)

func attributes(s tracetest.SpanStub) map[string]string {
	out := map[string]string{}
	for _, a := range s.Attributes {
		out[string(a.Key)] = a.Value.String()
	}
	return out
}

func TestOneSpanPerDecisionThatContinuesTheTrace(t *testing.T) {
	b := newBench(t, policy.Options{}, telemetry.Options{})
	ctx := policy.WithTraceparent(t.Context(), "00-"+trace+"-"+span+"-01")
	d := b.decide(ctx, b.tool("read"), `{"path":"no"}`)
	spans := b.spans.GetSpans()
	require.Len(t, spans, 1)
	s := spans[0]
	require.Equal(t, "regogate.decide", s.Name)
	require.Equal(t, trace, s.SpanContext.TraceID().String())
	require.Equal(t, span, s.Parent.SpanID().String())
	require.True(t, s.Parent.IsRemote())
	require.False(t, s.EndTime.Before(s.StartTime))
	require.Equal(t, map[string]string{
		"regogate.decision_id": d.ID, "regogate.server": "files", "regogate.tool": "read", "regogate.code": "denied", "regogate.effective": "refused",
		"regogate.allowed": "false", "regogate.revision": "r1", "regogate.refusals": "1", "regogate.warnings": "0",
	}, attributes(s))
	require.Equal(t, codes.Unset, s.Status.Code, "a refusal is no failure of the gate")

	b.spans.Reset()
	b.decide(ctx, b.tool("read"), `{"path":"panic"}`)
	s = b.spans.GetSpans()[0]
	require.Equal(t, codes.Error, s.Status.Code)
	require.Equal(t, "undecided", s.Status.Description)

	b.spans.Reset()
	b.decide(t.Context(), b.tool("read"), `{"path":"a"}`)
	s = b.spans.GetSpans()[0]
	require.False(t, s.Parent.IsValid(), "a trace of its own")
}

// The caller's flag says whether the trace is sampled, as far as the application's sampler follows it.
func TestATraceThatIsNotSampledStaysSo(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	r, err := telemetry.New(telemetry.Options{Tracers: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))})
	require.NoError(t, err)
	r.Record(policy.WithTraceparent(t.Context(), "00-"+trace+"-"+span+"-00"), policy.Record{})
	require.Empty(t, exporter.GetSpans())
	r.Record(policy.WithTraceparent(t.Context(), "00-"+trace+"-"+span+"-01"), policy.Record{})
	require.Len(t, exporter.GetSpans(), 1)
}

// An application's own span is nearer than what the message says, which is linked when
// it is about another trace.
func TestTheApplicationsSpanComesFirst(t *testing.T) {
	b := newBench(t, policy.Options{}, telemetry.Options{})
	ctx, own := b.tracer.Tracer("test").Start(t.Context(), "request")
	b.decide(policy.WithTraceparent(ctx, "00-"+trace+"-"+span+"-01"), b.tool("read"), `{"path":"a"}`)
	b.decide(policy.WithTraceparent(ctx, "00-"+own.SpanContext().TraceID().String()+"-"+span+"-01"), b.tool("read"), `{"path":"a"}`)
	spans := b.spans.GetSpans()
	require.Len(t, spans, 2)
	for i, links := range []int{1, 0} {
		require.Equal(t, own.SpanContext().SpanID(), spans[i].Parent.SpanID())
		require.Len(t, spans[i].Links, links)
	}
	require.Equal(t, trace, spans[0].Links[0].SpanContext.TraceID().String())
}

// leaky repeats the arguments wherever it can.
type leaky struct{}

func (leaky) Revision() string { return "r1" }

func (leaky) Cover(*policy.Tool) policy.Coverage {
	leak := policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		raw := string(in.Arguments().Raw())
		return []policy.Refusal{{Message: raw, Rule: raw, Location: raw}}, fmt.Errorf("about %s", raw)
	})
	return policy.Coverage{Own: true, Deny: leak, Warn: leak}
}

// Whatever is planted into a call, nothing of it comes out in a measurement or a span.
func TestNothingOfACallIsTold(t *testing.T) {
	const secret = "AKIAIOSFODNN7EXAMPLE"
	exporter, err := scrape.New()
	require.NoError(t, err)
	t.Cleanup(func() { _ = exporter.Shutdown(context.Background()) })
	spans := tracetest.NewInMemoryExporter()
	r, err := telemetry.New(telemetry.Options{Meters: exporter.Meters(), Tracers: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))})
	require.NoError(t, err)
	gate, err := policy.NewGate(policy.Options{Recorder: r})
	require.NoError(t, err)
	gate.Use(leaky{})
	ctx := policy.WithCaller(t.Context(), policy.Caller{Subject: secret, Tenant: secret, Scopes: []string{secret}, Claims: map[string]any{secret: secret}})
	ctx = policy.WithTraceparent(ctx, secret)
	read := gate.Tool(policy.ToolSpec{Server: "files", Name: "read", InputSchema: []byte(schema)})
	n := 0
	for _, tool := range []*policy.Tool{read, policy.UndeclaredTool("files", secret), policy.UnlearnedTool("files", secret, fmt.Errorf("%s", secret))} {
		for _, arguments := range []string{`{"path":"` + secret + `"}`, `{"` + secret + `":1}`, `{"path":1,"` + secret + `":[]}`, `["` + secret, secret} {
			gate.Decide(ctx, policy.Call{Tool: tool, Arguments: []byte(arguments), ID: secret, Session: secret, Transport: secret, Responses: []byte(`{"` + secret + `":"` + secret + `"}`), Unfaithful: fmt.Errorf("%s", secret)})
			gate.Decide(ctx, policy.Call{Tool: tool, Arguments: []byte(arguments), ID: secret, Responses: []byte(secret)})
			gate.Decide(ctx, policy.Call{Tool: tool, Arguments: []byte(arguments)})
			n += 3
		}
	}
	w := httptest.NewRecorder()
	exporter.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `regogate_decisions_total{code="undecided",effective="refused",server="files",tool="read"}`)
	require.NotContains(t, w.Body.String(), secret)
	require.Len(t, spans.GetSpans(), n)
	require.NotContains(t, fmt.Sprintf("%+v", spans.GetSpans()), secret)
}
