// Package scrape serves measurements to Prometheus: an [Exporter] is the meter provider
// that they go to and the handler that a server of Prometheus reads.
//
//	exporter, err := scrape.New()
//	recorder, err := telemetry.New(telemetry.Options{Meters: exporter.Meters()})
//	http.Handle("GET /metrics", exporter)
//
// Beside what is measured with its meters it has the Go runtime's and the process's own
// figures. Everything is in a registry of its own.
//
// # Limits
//
// It answers whoever asks: where it listens is the application's affair. Resource
// attributes, such as those of OTEL_RESOURCE_ATTRIBUTES, are not shown.
package scrape

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// maxInFlight is how many may read at once: a scrape costs more than a decision.
const maxInFlight = 4

// An Exporter collects measurements. Make it with [New], and shut it down.
type Exporter struct {
	meters  *sdkmetric.MeterProvider
	handler http.Handler
}

// New returns an Exporter that has measured nothing yet.
func New() (*Exporter, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("scrape.New: %w", err)
		}
	}
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutTargetInfo(), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("scrape.New: %w", err)
	}
	return &Exporter{
		meters:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxInFlight}),
	}, nil
}

// Meters returns where to measure to.
func (e *Exporter) Meters() metric.MeterProvider { return e.meters }

// ServeHTTP answers with all measurements, in the format of Prometheus.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.handler.ServeHTTP(w, r) }

// Shutdown ends the collection.
func (e *Exporter) Shutdown(ctx context.Context) error { return e.meters.Shutdown(ctx) }
