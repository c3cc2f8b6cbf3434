package setup

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// Watch loads the bundles, puts them in force, and keeps them up to date until ctx
// ends; stop returns when that is over. Without an error there may be no ruleset yet,
// and no Rules: when a server is needed for one that doesn't answer. log and observer
// are told what happens; observer may be nil.
func (s *Setup) Watch(ctx context.Context, log *slog.Logger, observer bundles.Observer) (stop func(), err error) {
	w, err := bundles.NewWatcher(watchOptions(s.Config, bundles.WatchOptions{Use: s.use, Logger: log, Observer: observer}))
	if err == nil {
		err = quickly(func() error { return w.Start(ctx) })
	}
	if err != nil {
		return nil, locate(s.Config, attributeBundles(s.Config, err))
	}
	s.Bundles = w
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	return func() { cancel(); running.Wait() }, nil
}

// use puts a ruleset in force, or takes it away.
func (s *Setup) use(rules *regoeval.Ruleset) {
	s.inForce.Store(rules)
	if rules == nil {
		s.Gate.Use(nil) // and not an interface around a nil pointer
		return
	}
	if s.Rules == nil {
		s.Rules = rules
	}
	s.Gate.Use(rules)
}

func watchOptions(c config.Config, o bundles.WatchOptions) bundles.WatchOptions {
	o.Options = BundleOptions(c)
	o.State = c.Bundles.State
	o.MaxAge = c.Bundles.MaxAge
	o.StatusURL = c.Bundles.StatusURL
	return o
}

// trust adds what c says of keys, servers and tests.
func trust(c config.Config, o *bundles.Options) {
	o.AllowSettings = c.Bundles.UnsignedSettings == "allow"
	o.SelfTest = c.Bundles.SelfTest
	o.Timeout = c.Bundles.Poll.Timeout
	o.Poll = bundles.Poll{Interval: c.Bundles.Poll.Interval, Backoff: c.Bundles.Poll.Backoff, Hold: c.Bundles.Poll.Hold}
	for _, k := range c.Bundles.Keys {
		o.Keys = append(o.Keys, bundles.Key(k))
	}
	for _, s := range c.Services {
		o.Services = append(o.Services, bundles.Service(s))
	}
}

// attributeBundles says where what bundles can't use was configured.
func attributeBundles(c config.Config, err error) error {
	var wrong *bundles.ConfigError
	if errors.As(err, &wrong) {
		return Attribute(c, wrong.Err)
	}
	return err
}

// Mode returns the mode that c asks for and when it ends; zero for never. Shadow mode
// that has ended is enforce.
func Mode(c config.Config) (policy.Mode, time.Time, error) {
	mode := policy.Mode(c.Mode)
	if c.Shadow.Until == "" {
		return mode, time.Time{}, nil
	}
	until, err := time.Parse(time.RFC3339, c.Shadow.Until)
	if err != nil {
		where := c.Where("shadow.until")
		return policy.Enforce, time.Time{}, &config.Error{Problems: []config.Problem{{File: where, Key: "shadow.until",
			What: "not a time", Fix: "write it like 2026-12-01T18:00:00Z"}}}
	}
	return mode, until, nil
}
