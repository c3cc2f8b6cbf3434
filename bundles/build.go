package bundles

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/regogate/regogate/regoeval"
)

// A builder makes rulesets of payloads.
type builder struct {
	o    Options
	keys keyring
}

// prepare reads the keys and finds the sources. The error is a *ConfigError.
func (o Options) prepare() (builder, []place, error) {
	if len(o.Bundles) == 0 {
		return builder{}, nil, &ConfigError{errors.New("bundle: no bundle: name a directory, a .tar.gz, an http(s) URL or the word starter")}
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	keys, keysErr := newKeyring(o.Keys)
	places, err := o.places()
	if err := errors.Join(keysErr, err); err != nil {
		return builder{}, nil, &ConfigError{err}
	}
	return builder{o, keys}, places, nil
}

// build compiles what the payloads hold together, checks the contract and, when that is
// asked for, runs the bundles' own tests.
func (b builder) build(ctx context.Context, all []*payload) (*regoeval.Ruleset, error) {
	src, names := b.source(all)
	rs, err := regoeval.New(ctx, src, regoeval.Options{Steps: b.o.Steps, Engine: b.o.Engine, Sample: b.o.Sample})
	if err == nil && b.o.SelfTest {
		err = selfTest(ctx, src)
	}
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", list(names), err)
	}
	return rs, nil
}

// source is what the payloads hold together, and what their bundles are called.
func (b builder) source(all []*payload) (src regoeval.Source, names []string) {
	src = regoeval.Source{Common: b.o.Common, Map: b.o.Map}
	for _, p := range all {
		if p.settings != nil {
			src.Settings, src.SettingsDigest = p.settings, p.settingsDigest
			continue
		}
		src.Bundles = append(src.Bundles, regoeval.NamedBundle{Name: p.label, Bundle: p.bundle})
		names = append(names, p.label)
	}
	return src, names
}

// selfTest runs the tests on the bundles as they were published, without the settings
// of this installation.
func selfTest(ctx context.Context, src regoeval.Source) error {
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	src.Settings, src.SettingsDigest = nil, ""
	return regoeval.SelfTest(ctx, src)
}

func list(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprint(names)
}
