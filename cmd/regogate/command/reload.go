package command

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/report"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
)

// A reloader reads the configuration again on SIGHUP, for the mode: so that a policy
// which stops everybody's work can be switched to shadow mode without a restart.
// Everything else that was changed waits for the next start.
type reloader struct {
	c *cobra.Command
	f *gateFlags
	s *setup.Setup
	r *report.Report
}

// run handles SIGHUP until the end of ctx, and tells when shadow mode ends by itself.
// Without a configuration file there is nothing to read again, and SIGHUP is left to
// others. When it returns, no SIGHUP is lost any more; stop ends it.
func (l reloader) run(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	hups := make(chan os.Signal, 1)
	if l.reloads() {
		signal.Notify(hups, syscall.SIGHUP)
	}
	var running sync.WaitGroup
	running.Go(func() { l.loop(ctx, hups) })
	return func() {
		signal.Stop(hups)
		cancel()
		running.Wait()
	}
}

// reloads reports whether SIGHUP is the gate's own.
func (l reloader) reloads() bool { return l.f.config != "" }

func (l reloader) loop(ctx context.Context, hups <-chan os.Signal) {
	look := time.NewTicker(time.Second) // by the clock of shadow.until, which may be set
	defer look.Stop()
	before, _ := l.s.Gate.Mode()
	for {
		select {
		case <-hups:
			l.reload()
		case <-look.C:
			if now, _ := l.s.Gate.Mode(); now != before {
				l.r.Mode(l.s, "shadow.until has passed")
			}
		case <-ctx.Done():
			return
		}
		before, _ = l.s.Gate.Mode()
	}
}

// reload reads the configuration and changes the mode. When anything is wrong with it,
// everything stays as it is.
func (l reloader) reload() {
	log := l.r.Logger()
	cfg, err := l.f.load(l.c)
	if err == nil {
		mode, until, wrong := setup.Mode(cfg)
		if err = wrong; err == nil {
			err = l.s.Gate.SetMode(mode, until)
		}
	}
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			log.Error("the configuration was not read again: everything stays as it was", "reason", oneLine(line))
		}
		return
	}
	l.r.Mode(l.s, "configuration read again")
	if waiting := differ(l.s.Config, cfg); len(waiting) > 0 {
		log.Warn("these keys have changed and wait for the next start", "keys", strings.Join(waiting, ", "))
	}
}

// differ lists the keys, other than those of the mode, that have another value now.
func differ(before, now config.Config) []string {
	var out []string
	old := map[string]string{}
	for _, s := range before.Settings() {
		old[s.Name] = s.Value
	}
	for _, s := range now.Settings() {
		if s.Name != "mode" && s.Name != "shadow.until" && s.Value != old[s.Name] {
			out = append(out, s.Name)
		}
	}
	return out
}
