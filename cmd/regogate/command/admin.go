package command

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/admin"
	"github.com/regogate/regogate/cmd/regogate/internal/report"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/telemetry"
	"github.com/regogate/regogate/policy/telemetry/otlp"
	"github.com/regogate/regogate/policy/telemetry/scrape"
)

// registerAdmin adds the flag for the address of the admin listener.
func registerAdmin(c *cobra.Command, address *string) {
	c.Flags().StringVar(address, "admin", "", "answer GET /healthz, /readyz, /status and /metrics at `HOST:PORT` of this machine; port 0 takes a free one")
}

// An observation is a gate as operators see it, beside its log: its status, what was
// measured, and spans. Without an admin listener, or a server for spans, it only keeps
// the status, which costs nothing.
type observation struct {
	config   config.Config
	report   *report.Report
	live     *report.Live
	tooling  *toolReport
	exporter *scrape.Exporter    // nil without an admin listener
	spans    *otlp.Exporter      // nil without a server that takes them
	measured *telemetry.Recorder // nil without both
}

// observe makes the observation that cfg asks for.
func observe(cfg config.Config, r *report.Report) (*observation, error) {
	o := &observation{config: cfg, report: r, live: report.NewLive(readVersion().String()), tooling: &toolReport{report: r}}
	if err := o.spansTo(cfg); err != nil {
		return nil, setup.Attribute(cfg, err)
	}
	if cfg.Admin.Listen == "" && o.spans == nil {
		return o, nil
	}
	measure := telemetry.Options{}
	var err error
	if cfg.Admin.Listen != "" {
		if o.exporter, err = scrape.New(); err != nil {
			return nil, err
		}
		measure.Meters, measure.Policy, measure.DecisionLog = o.exporter.Meters(), o.live.Policy, o.live.DecisionLog
	}
	if o.spans != nil {
		measure.Tracers = o.spans.Tracers()
	}
	o.measured, err = telemetry.New(measure)
	return o, err
}

// spansTo starts the exporter of spans that cfg asks for.
func (o *observation) spansTo(cfg config.Config) (err error) {
	to := cfg.Telemetry.OTLP
	if to.URL == "" {
		const alone = ": there is no telemetry.otlp.url that it is for"
		switch {
		case to.TokenFile != "":
			return errors.New("telemetry.otlp.token_file" + alone)
		case to.CAFile != "":
			return errors.New("telemetry.otlp.ca_file" + alone)
		}
		return nil
	}
	o.spans, err = otlp.New(otlp.Options{URL: to.URL, TokenFile: to.TokenFile, CAFile: to.CAFile, Sample: to.Sample, Version: o.live.Version(), Logger: o.report.Logger()})
	if err == nil {
		o.report.Logger().Info("spans are sent", "url", o.spans.Name(), "one_of", to.Sample)
	}
	return err
}

// close ends what is measured, and sends the last spans for as long as a second.
func (o *observation) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var errs []error
	if o.measured != nil {
		errs = append(errs, o.measured.Close())
	}
	if o.exporter != nil {
		errs = append(errs, o.exporter.Shutdown(ctx))
	}
	if o.spans != nil {
		errs = append(errs, o.spans.Shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		o.report.Logger().Warn("the measurements did not end well", "error", oneLine(err.Error()))
	}
}

// recorder returns what has to be told of decisions: the log, and what counts them.
func (o *observation) recorder() policy.Recorder {
	if o.measured == nil {
		return o.report
	}
	return recorder{policy.Recorders(o.report, o.live, o.measured), o.report}
}

// A recorder lends the report's logger as the report does.
type recorder struct {
	policy.Recorder
	report *report.Report
}

// Logger returns a logger for what goes wrong with records.
func (r recorder) Logger() *slog.Logger { return r.report.Logger() }

// listen starts the admin listener, if there is one, for the gate of s. It answers from
// before the policy is loaded until stop is called.
func (o *observation) listen(s *setup.Setup, passes []string) (stop func(), err error) {
	o.live.Follow(s, passes)
	if o.exporter == nil {
		return func() {}, nil
	}
	server, err := admin.Listen(admin.Options{
		Listen:   o.config.Admin.Listen,
		Anywhere: o.config.Admin.Access == "any",
		Ready:    o.live.Ready,
		Status:   func() any { return o.live.Status() },
		Metrics:  o.exporter,
	})
	if err != nil {
		return nil, setup.Attribute(o.config, err)
	}
	o.report.Logger().Info("the admin listener answers", "address", server.Addr(), "paths", "/healthz, /readyz, /status, /metrics")
	return server.Close, nil
}

// watch follows the bundles of s, and keeps how things stand with them for the status.
func (o *observation) watch(ctx context.Context, s *setup.Setup) (stop func(), err error) {
	swaps := make(swapObserver, 1)
	end, err := s.Watch(ctx, o.report.Logger(), swaps)
	if err != nil {
		return nil, err
	}
	o.live.Sources(s.Bundles.Status)
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { o.tooling.follow(ctx, swaps) })
	return func() { end(); cancel(); following.Wait() }, nil
}

// tools returns what has to be told of the tools that the server declares: it reports on
// them and keeps them for the status.
func (o *observation) tools(gate *policy.Gate) func([]*policy.Tool) {
	return func(tools []*policy.Tool) {
		o.live.Tools(tools)
		o.tooling.learned(gate, tools)
	}
}
