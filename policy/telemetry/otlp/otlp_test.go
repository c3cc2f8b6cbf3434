package otlp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/telemetry"
	"github.com/regogate/regogate/policy/telemetry/otlp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
)

// A collector takes spans, or answers what it was told to.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*tracepb.Span
	service map[string]string
	header  http.Header
	asked   int
	answer  func(n int) int
}

func collect(t *testing.T, answer func(n int) int) *collector {
	t.Helper()
	c := &collector{answer: answer, service: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	c.header = r.Header.Clone()
	var data tracepb.TracesData
	zr, err := gzip.NewReader(r.Body)
	if err == nil {
		var raw []byte
		if raw, err = io.ReadAll(zr); err == nil {
			err = proto.Unmarshal(raw, &data)
		}
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	code := http.StatusOK
	if c.answer != nil {
		code = c.answer(c.asked)
	}
	if code == http.StatusFound {
		w.Header().Set("Location", "/v1/traces")
	}
	w.WriteHeader(code)
	if code != http.StatusOK {
		return
	}
	for _, rs := range data.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			c.service[a.Key] = a.Value.GetStringValue()
		}
		for _, s := range rs.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
}

func (c *collector) got() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*tracepb.Span{}, c.spans...)
}

type rules struct{}

func (rules) Revision() string { return "r1" }

func (rules) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		path, _ := in.Arguments().Lookup("/path")
		return []policy.Refusal{{Message: fmt.Sprint(path)}}, nil
	})}
}

// traced is a gate whose spans o says where to send.
func traced(t *testing.T, o otlp.Options) (*policy.Gate, *otlp.Exporter) {
	t.Helper()
	e, err := otlp.New(o)
	require.NoError(t, err)
	r, err := telemetry.New(telemetry.Options{Tracers: e.Tracers()})
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{Recorder: r})
	require.NoError(t, err)
	g.Use(rules{})
	return g, e
}

func decide(ctx context.Context, g *policy.Gate) policy.Decision {
	return g.Decide(ctx, policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "t", Server: "s", NoSchema: true}), Arguments: []byte(`{"path":"hunter2"}`)})
}

func shutdown(t *testing.T, e *otlp.Exporter, patience time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return e.Shutdown(ctx)
}

func TestSpansArrive(t *testing.T) {
	c := collect(t, nil)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("t0ken\n"), 0o600))
	g, e := traced(t, otlp.Options{URL: c.URL, TokenFile: token, Version: "v7"})
	d := decide(policy.WithTraceparent(t.Context(), "00-"+traceID+"-"+spanID+"-01"), g)
	decide(t.Context(), g)
	require.NoError(t, shutdown(t, e, time.Minute))
	spans := c.got()
	require.Len(t, spans, 2)
	require.Equal(t, otlp.Stats{Ended: 2, Sent: 2}, e.Stats())
	s := spans[0]
	require.Equal(t, "regogate.decide", s.Name)
	require.Equal(t, traceID, fmt.Sprintf("%x", s.TraceId))
	require.Equal(t, spanID, fmt.Sprintf("%x", s.ParentSpanId))
	require.Empty(t, spans[1].ParentSpanId)
	got := map[string]string{}
	for _, a := range s.Attributes {
		got[a.Key] = a.Value.GetStringValue()
	}
	require.Equal(t, d.ID, got["regogate.decision_id"])
	require.Equal(t, "denied", got["regogate.code"])
	require.Equal(t, "Bearer t0ken", c.header.Get("Authorization"))
	require.Equal(t, "regogate", c.service["service.name"])
	require.Equal(t, "v7", c.service["service.version"])
	require.NotContains(t, fmt.Sprint(spans), "hunter2")
}

// A server that asks for patience gets the spans later, and one that refuses them isn't
// asked again.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		codes []int
		sent  int64
	}{
		{[]int{503, 429, 502, 504, 200}, 1}, {[]int{400, 200}, 0}, {[]int{302, 200}, 0}, {[]int{500, 200}, 0}, {[]int{401, 200}, 0}, {[]int{202}, 1},
	} {
		c := collect(t, func(n int) int { return tt.codes[n-1] })
		var log bytes.Buffer
		g, e := traced(t, otlp.Options{URL: c.URL + "/v1/traces?key=hunter2", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		decide(t.Context(), g)
		err := shutdown(t, e, time.Minute)
		require.Equal(t, otlp.Stats{Ended: 1, Sent: tt.sent, Lost: 1 - tt.sent}, e.Stats(), "%v", tt.codes)
		if tt.sent == 0 {
			require.ErrorContains(t, err, "1 of 1 spans")
			require.NotContains(t, err.Error(), "hunter2")
			require.Contains(t, log.String(), fmt.Sprint(tt.codes[0]))
			require.Equal(t, 1, c.asked)
		} else {
			require.NoError(t, err)
		}
		require.NotContains(t, log.String(), "hunter2")
	}
}

// A server that isn't there, or never answers, delays no decision and no end.
func TestDeadCollector(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	for name, address := range map[string]string{"silent": silent.Addr().String(), "nobody": "127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			g, e := traced(t, otlp.Options{URL: "http://" + address, Delay: time.Millisecond})
			slowest := time.Duration(0)
			for range 10_000 { // more than the queue has room for
				began := time.Now()
				decide(t.Context(), g)
				slowest = max(slowest, time.Since(began))
			}
			require.Less(t, slowest, time.Second)
			began := time.Now()
			require.ErrorContains(t, shutdown(t, e, 50*time.Millisecond), "10000 of 10000 spans were not taken")
			require.Less(t, time.Since(began), 5*time.Second)
			require.Zero(t, e.Stats().Sent)
		})
	}
}

// One in so many of the traces that begin here is kept; those of callers are as they say.
func TestSample(t *testing.T) {
	c := collect(t, nil)
	g, e := traced(t, otlp.Options{URL: c.URL, Sample: 4})
	for range 1000 {
		decide(t.Context(), g)
	}
	kept := e.Stats().Ended
	require.InDelta(t, 250, kept, 100)
	decide(policy.WithTraceparent(t.Context(), "00-"+traceID+"-"+spanID+"-00"), g)
	require.Equal(t, kept, e.Stats().Ended)
	decide(policy.WithTraceparent(t.Context(), "00-"+traceID+"-"+spanID+"-01"), g)
	require.Equal(t, kept+1, e.Stats().Ended)
	require.NoError(t, shutdown(t, e, time.Minute))
}

// The environment doesn't say where spans go, or whether.
func TestEnvironmentDecidesNothing(t *testing.T) {
	other := collect(t, nil)
	for name, value := range map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": other.URL, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": other.URL + "/v1/traces",
		"OTEL_EXPORTER_OTLP_HEADERS": "x=y", "OTEL_TRACES_SAMPLER": "always_off", "OTEL_TRACES_EXPORTER": "console", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "0"} {
		t.Setenv(name, value)
	}
	c := collect(t, nil)
	g, e := traced(t, otlp.Options{URL: c.URL})
	decide(t.Context(), g)
	require.NoError(t, shutdown(t, e, time.Minute))
	require.Len(t, c.got(), 1)
	require.Len(t, c.got()[0].Attributes, 9)
	require.Empty(t, other.got())
}

func TestBadOptions(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for want, o := range map[string]otlp.Options{
		"telemetry.otlp.url: not an http":            {URL: "grpc://x:4317"},
		"telemetry.otlp.url: not":                    {URL: "collector:4318"},
		"telemetry.otlp.url: it has credentials":     {URL: "https://a:b@x"},
		"telemetry.otlp.url: a token":                {URL: "http://example.com", TokenFile: empty},
		"telemetry.otlp.token_file: ":                {URL: "https://example.com", TokenFile: empty},
		"telemetry.otlp.ca_file: " + empty + "x: no": {URL: "https://example.com", CAFile: empty + "x"},
		"telemetry.otlp.ca_file: " + empty + ": no":  {URL: "https://example.com", CAFile: empty},
		"telemetry.otlp.sample":                      {URL: "https://example.com", Sample: -1},
	} {
		_, err := otlp.New(o)
		require.ErrorContains(t, err, want)
	}
}
