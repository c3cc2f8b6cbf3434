package command

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/admin"
	"github.com/regogate/regogate/cmd/regogate/internal/report"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/telemetry"
	"github.com/regogate/regogate/policy/telemetry/scrape"
)

// registerAdmin adds the flag for the address of the admin listener.
func registerAdmin(c *cobra.Command, address *string) {
	c.Flags().StringVar(address, "admin", "", "answer GET /healthz, /readyz, /status and /metrics at `HOST:PORT` of this machine; port 0 takes a free one")
}

// An observation is a gate as operators see it, beside its log: its status and what was
// measured. Without an admin listener it only keeps the status, which costs nothing.
type observation struct {
	config   config.Config
	report   *report.Report
	live     *report.Live
	exporter *scrape.Exporter    // nil without an admin listener
	measured *telemetry.Recorder // likewise
}

// observe makes the observation that cfg asks for.
func observe(cfg config.Config, r *report.Report) (*observation, error) {
	o := &observation{config: cfg, report: r, live: report.NewLive(readVersion().String())}
	if cfg.Admin.Listen == "" {
		return o, nil
	}
	var err error
	if o.exporter, err = scrape.New(); err != nil {
		return nil, err
	}
	o.measured, err = telemetry.New(telemetry.Options{
		Meters: o.exporter.Meters(), Policy: o.live.Policy, DecisionLog: o.live.DecisionLog,
	})
	return o, err
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
	return func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := errors.Join(o.measured.Close(), o.exporter.Shutdown(ctx)); err != nil {
			o.report.Logger().Warn("the measurements did not end well", "error", oneLine(err.Error()))
		}
	}, nil
}

// watch follows the bundles of s, and keeps how things stand with them for the status.
func (o *observation) watch(ctx context.Context, s *setup.Setup) (stop func(), err error) {
	stop, err = s.Watch(ctx, o.report.Logger(), nil)
	if err == nil {
		o.live.Sources(s.Bundles.Status)
	}
	return stop, err
}

// tools returns what has to be told of the tools that the server declares: it reports on
// them and keeps them for the status.
func (o *observation) tools(gate *policy.Gate) func([]*policy.Tool) {
	tell := reportNew(gate, o.report)
	return func(tools []*policy.Tool) {
		o.live.Tools(tools)
		tell(tools)
	}
}
