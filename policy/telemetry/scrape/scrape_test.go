package scrape_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/telemetry"
	"github.com/regogate/regogate/policy/telemetry/scrape"
)

func read(t *testing.T, e *scrape.Exporter) string {
	t.Helper()
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Header().Get("Content-Type"), "text/plain")
	return w.Body.String()
}

// What a server of Prometheus reads: names and labels that dashboards rely on.
func TestWhatPrometheusReads(t *testing.T) {
	e, err := scrape.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Shutdown(context.Background())) })
	r, err := telemetry.New(telemetry.Options{
		Meters: e.Meters(),
		Policy: func() telemetry.PolicyStatus {
			return telemetry.PolicyStatus{Ready: true, Revision: "a \"b\"\n", Activated: time.Now(), Confirmed: time.Now(), Activations: 1}
		},
		DecisionLog: func() telemetry.LogStatus { return telemetry.LogStatus{Dropped: 3} },
	})
	require.NoError(t, err)
	r.Record(t.Context(), policy.Record{Decision: policy.Decision{Allowed: true, Effective: true, Warnings: []policy.Refusal{{}}}, Elapsed: time.Millisecond, Phases: policy.Phases{Parse: time.Microsecond, Schema: 1, Rules: 1}})
	body := read(t, e)
	for _, line := range []string{
		`regogate_decisions_total{code="allowed",effective="forwarded",server="",tool="(unknown)"} 1`,
		`regogate_decision_warnings_total{server="",tool="(unknown)"} 1`,
		`regogate_decision_duration_seconds_bucket{effective="forwarded",le="0.001"} 1`,
		`regogate_decision_phase_duration_seconds_count{phase="parse"} 1`,
		`regogate_policy_ready 1`, `regogate_policy_shadow 0`,
		`regogate_bundle_info{revision="a \"b\"\n"} 1`,
		`regogate_bundle_activations_total 1`,
		`regogate_bundle_activation_failures_total{reason="refused"} 0`,
		`regogate_decision_log_dropped_total{reason="no_room"} 3`,
		`# TYPE regogate_bundle_age_seconds gauge`, `# TYPE regogate_bundle_unconfirmed_seconds gauge`,
		`# TYPE go_goroutines gauge`,
	} {
		require.Contains(t, body, line+"\n")
	}
	require.NotContains(t, body, "otel_scope", "there is one scope only")
	require.NotContains(t, body, "target_info")
}

// Two exporters have nothing in common.
func TestExportersAreByThemselves(t *testing.T) {
	a, err := scrape.New()
	require.NoError(t, err)
	b, err := scrape.New()
	require.NoError(t, err)
	r, err := telemetry.New(telemetry.Options{Meters: a.Meters()})
	require.NoError(t, err)
	r.Record(t.Context(), policy.Record{})
	require.Contains(t, read(t, a), "regogate_decisions_total")
	require.NotContains(t, read(t, b), "regogate_decisions_total")
	require.NoError(t, a.Shutdown(t.Context()))
	require.NoError(t, b.Shutdown(t.Context()))
}
