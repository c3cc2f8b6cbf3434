// Package otlp sends the spans of decisions to whoever speaks OTLP over HTTP: an
// OpenTelemetry collector, or a tracing service.
//
//	exporter, err := otlp.New(otlp.Options{URL: "https://collector.internal:4318"})
//	recorder, err := telemetry.New(telemetry.Options{Tracers: exporter.Tracers()})
//
// Spans wait in a bounded queue and are sent in batches, gzipped. Nothing waits for that:
// what finds no room, and what the server doesn't take within half a minute, is lost,
// counted and told to the logger. The trace of a caller keeps the caller's decision on
// whether it is sampled; of the others one in [Options.Sample] is kept.
//
// # Limits
//
// Only protobuf over HTTP is spoken, not gRPC: that would add five megabytes to a
// program. Of the environment variables of OpenTelemetry only OTEL_RESOURCE_ATTRIBUTES
// and OTEL_SERVICE_NAME have an effect: they describe the process, and send nothing
// anywhere. When a server says that it has taken only a part of what it was sent, that
// isn't noticed.
package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/regogate/regogate/policy/internal/outbound"
)

// Options say where spans go. URL is required.
type Options struct {
	// URL of the server; /v1/traces is appended unless it ends so.
	URL string
	// TokenFile holds a bearer token. It is read for each request, so that it may change.
	TokenFile string
	// CAFile holds the certificates that the server is trusted by, "" for the system's.
	CAFile string
	// Sample says of how many traces that begin here one is kept. 0 and 1 keep all.
	Sample int
	// Version is that of the program, for service.version.
	Version string
	// Delay is how long spans are collected. 0 means 2 s.
	Delay time.Duration
	// Timeout bounds one request. 0 means 10 s.
	Timeout time.Duration
	// Logger is told when the server can't be reached, and when it can again. nil is silent.
	Logger *slog.Logger
}

// Bounds of what waits, in spans: one takes about a kilobyte.
const (
	queued  = 4096
	batched = 512
	// patience is how long one batch is tried for.
	patience = 30 * time.Second
)

// An Exporter is a tracer provider whose spans are sent. Make it with [New], and shut it
// down.
type Exporter struct {
	provider *sdktrace.TracerProvider
	client   *client
	ended    *counter
}

// Stats count what became of spans.
type Stats struct {
	Ended int64 // of traces that are kept
	Sent  int64 // the server has taken
	Lost  int64 // the server didn't take; what found no room in the queue is in neither
}

// New returns an Exporter, or an error that names the key that is wrong. It asks nothing
// of the server.
func New(o Options) (*Exporter, error) {
	if o.Sample < 0 {
		return nil, errors.New("telemetry.otlp.sample: negative")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	post, err := outbound.New(outbound.Options{Key: "telemetry.otlp", URL: o.URL, Path: "v1/traces", ContentType: "application/x-protobuf",
		TokenFile: o.TokenFile, CAFile: o.CAFile, Timeout: cmp.Or(o.Timeout, 10*time.Second)})
	if err != nil {
		return nil, err
	}
	e := &Exporter{client: newClient(post, o.Logger)}
	spans, err := otlptrace.New(context.Background(), e.client)
	if err != nil {
		return nil, fmt.Errorf("telemetry.otlp: %w", err)
	}
	e.ended = &counter{SpanProcessor: sdktrace.NewBatchSpanProcessor(spans,
		sdktrace.WithMaxQueueSize(queued), sdktrace.WithMaxExportBatchSize(batched),
		sdktrace.WithBatchTimeout(cmp.Or(o.Delay, 2*time.Second)), sdktrace.WithExportTimeout(patience))}
	e.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(e.ended),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(1/float64(max(o.Sample, 1))))),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "regogate"), attribute.String("service.version", o.Version))),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{AttributeValueLengthLimit: 256, AttributeCountLimit: 32, LinkCountLimit: 4, AttributePerLinkCountLimit: 4}),
	)
	return e, nil
}

// Tracers returns where spans go.
func (e *Exporter) Tracers() trace.TracerProvider { return e.provider }

// Name tells operators where spans go: the URL without its query.
func (e *Exporter) Name() string { return e.client.post.Name() }

// Stats returns what became of spans so far.
func (e *Exporter) Stats() Stats {
	return Stats{Ended: e.ended.n.Load(), Sent: e.client.sent.Load(), Lost: e.client.lost.Load()}
}

// Shutdown sends what waits, for as long as ctx allows. The error says how much was lost.
func (e *Exporter) Shutdown(ctx context.Context) error {
	err := e.provider.Shutdown(ctx)
	e.client.giveUp()
	select { // what is being sent ends at once now
	case <-e.client.stopped:
	case <-time.After(time.Second):
	}
	e.client.post.Close()
	s := e.Stats()
	if lost := s.Ended - s.Sent; lost > 0 {
		return fmt.Errorf("%s: %d of %d spans were not taken", e.Name(), lost, s.Ended)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil // and nothing was lost
	}
	return err
}

// A counter counts the spans that a processor gets.
type counter struct {
	sdktrace.SpanProcessor
	n atomic.Int64
}

// OnEnd implements sdktrace.SpanProcessor.
func (c *counter) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		c.n.Add(1)
	}
	c.SpanProcessor.OnEnd(s)
}
