package otlp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/regogate/regogate/policy/internal/outbound"
)

// A client sends batches. What goes wrong it tells and counts itself and doesn't return:
// OpenTelemetry would write it to standard error by its own global logger.
type client struct {
	post       *outbound.Client
	log        *slog.Logger
	down       bool // of the goroutine that sends
	sent, lost atomic.Int64

	patient context.Context // ends when what still waits is given up
	giveUp  context.CancelFunc
	stopped chan struct{}
}

func newClient(post *outbound.Client, log *slog.Logger) *client {
	c := &client{post: post, log: log, stopped: make(chan struct{})}
	c.patient, c.giveUp = context.WithCancel(context.Background())
	return c
}

var _ otlptrace.Client = (*client)(nil)

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client: nothing more will come.
func (c *client) Stop(context.Context) error {
	close(c.stopped)
	return nil
}

// retried are the answers that ask for another try, by OTLP's specification.
var retried = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// UploadTraces implements otlptrace.Client.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.patient, cancel)()
	count := spansIn(spans)
	if err := c.upload(ctx, spans); err != nil {
		c.lost.Add(count)
		if !c.down {
			c.down = true
			c.log.Error("spans: the server doesn't take them, they are lost", "url", c.post.Name(), "lost_spans", c.lost.Load(), "why", err.Error())
		}
		return nil
	}
	c.sent.Add(count)
	if c.down {
		c.down = false
		c.log.Info("spans: the server takes them again", "url", c.post.Name(), "lost_spans", c.lost.Load())
	}
	return nil
}

func (c *client) upload(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	if c.patient.Err() != nil {
		return errors.New("given up")
	}
	// On the wire this is an ExportTraceServiceRequest, whose Go type needs gRPC.
	raw, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return errors.New("they can't be written down")
	}
	return c.send(ctx, outbound.Gzipped(func(w io.Writer) { _, _ = w.Write(raw) }))
}

// send tries until the server takes a body, says that it never will, or ctx ends.
func (c *client) send(ctx context.Context, body []byte) error {
	const shortest, longest = 200 * time.Millisecond, 5 * time.Second
	for try := 0; ; try++ {
		answer, err := c.post.Post(ctx, body)
		switch {
		case err == nil && answer.OK():
			return nil
		case err == nil && !slices.Contains(retried, answer.Code):
			return errors.New(answer.Status)
		case err == nil:
			err = errors.New(answer.Status)
		}
		pause := min(shortest<<min(try, 10), longest)
		timer := time.NewTimer(max(answer.Wait, pause/2+rand.N(pause)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func spansIn(all []*tracepb.ResourceSpans) (n int64) {
	for _, r := range all {
		for _, s := range r.GetScopeSpans() {
			n += int64(len(s.GetSpans()))
		}
	}
	return n
}
