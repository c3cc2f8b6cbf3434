package policy

import (
	"context"
	"regexp"
	"strings"
)

type traceparentKey struct{}

// traceparent is what a W3C trace context looks like.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// WithTraceparent returns a context whose decisions belong to the trace that value says:
// the W3C traceparent of a message's _meta or of an HTTP header. It comes from whoever
// calls, so that what is not exactly one (version 00) leaves ctx as it is. A tracestate
// isn't kept: anybody may write anything into it.
func WithTraceparent(ctx context.Context, value string) context.Context {
	if !traceparent.MatchString(value) || !means(value) {
		return ctx
	}
	return context.WithValue(ctx, traceparentKey{}, value)
}

// means reports whether a traceparent names a trace and a span: only zeros name neither.
func means(value string) bool {
	parts := strings.Split(value, "-")
	return parts[0] == "00" && strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}

// TraceparentFrom returns the traceparent of ctx, "" when there is none.
func TraceparentFrom(ctx context.Context) string {
	value, _ := ctx.Value(traceparentKey{}).(string)
	return value
}
