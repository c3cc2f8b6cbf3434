package adapter

import (
	"context"
	"net/http"

	"github.com/regogate/regogate/policy"
)

// WithTrace returns a context whose decisions belong to the trace that a call continues:
// the one in the message's _meta, and otherwise the one in the headers of the request
// that the message came in. meta is what _meta has for traceparent, nil when nothing.
func WithTrace(ctx context.Context, meta any, header http.Header) context.Context {
	if values := header.Values("Traceparent"); len(values) == 1 { // of two, nobody knows which is meant
		ctx = policy.WithTraceparent(ctx, values[0])
	}
	value, _ := meta.(string)
	return policy.WithTraceparent(ctx, value)
}
