package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/regogate/regogate/policy"
)

// span makes the span of a decision that has been made. It returns a context in which
// measurements belong to it.
func (r *Recorder) span(ctx context.Context, rec policy.Record, l *label) context.Context {
	ended := time.Now()
	ctx, links := continued(ctx)
	ctx, span := r.tracer.Start(ctx, "regogate.decide", links, trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(ended.Add(-rec.Elapsed)))
	defer span.End(trace.WithTimestamp(ended))
	if !span.IsRecording() {
		return ctx
	}
	d := rec.Decision
	o := outcome{d.Code(), d.Effective}
	span.SetAttributes(
		attribute.String("regogate.decision_id", d.ID),
		attribute.String("regogate.server", l.server),
		attribute.String("regogate.tool", l.tool),
		attribute.String("regogate.code", o.codeText()),
		attribute.String("regogate.effective", o.effectiveText()),
		attribute.Bool("regogate.allowed", d.Allowed),
		attribute.String("regogate.revision", printable(d.Revision)),
		attribute.Int("regogate.refusals", len(d.Refusals)),
		attribute.Int("regogate.warnings", len(d.Warnings)),
	)
	if d.Err != nil && ours(d.Code()) {
		span.SetStatus(codes.Error, string(d.Code())) // what went wrong may repeat an argument: it is in the log
	}
	return ctx
}

// ours reports whether a code says that the gate couldn't do its work, and not that the
// call was a bad one.
func ours(c policy.Code) bool {
	return c == policy.Undecided || c == policy.NotReady || c == policy.SchemaUnusable
}

// continued returns the context whose span a decision continues: the application's own,
// if there is one, and otherwise the one that the message names. A message's trace that
// isn't the parent is linked.
func continued(ctx context.Context) (context.Context, trace.SpanStartOption) {
	remote := trace.SpanContext{}
	if text := policy.TraceparentFrom(ctx); text != "" {
		carrier := propagation.MapCarrier{"traceparent": text}
		remote = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	}
	local := trace.SpanContextFromContext(ctx)
	switch {
	case !remote.IsValid():
		return ctx, trace.WithLinks()
	case !local.IsValid():
		return trace.ContextWithRemoteSpanContext(ctx, remote), trace.WithLinks()
	case local.TraceID() == remote.TraceID():
		return ctx, trace.WithLinks()
	}
	return ctx, trace.WithLinks(trace.Link{SpanContext: remote})
}
