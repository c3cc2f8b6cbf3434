package bundles

import (
	"context"
	"fmt"
	"time"

	"github.com/regogate/regogate/regoeval"
)

// DefaultMaxBytes is how large a source may be unpacked, all files together.
const DefaultMaxBytes = 64 << 20

// Options say what to load, and what to trust.
type Options struct {
	// Bundles are directories, .tar.gz files, http(s) URLs or "starter". At least one.
	Bundles []string
	// SettingsFile is a JSON object to lay over data.settings; "" for none.
	SettingsFile string
	// Common and Map add to what the bundles' manifests say.
	Common []string
	Map    []regoeval.Mapping
	// MaxBytes bounds each source unpacked. 0 means [DefaultMaxBytes].
	MaxBytes int64
	// Steps bounds one evaluation. 0 means the default of regoeval.Options.
	Steps int64
	// Keys are those that bundles have to be signed with. Without any, bundles need no
	// signature, and one that has one is refused. "starter" needs none.
	Keys []Key
	// AllowSettings allows a SettingsFile beside Keys.
	AllowSettings bool
	// SelfTest also runs the bundles' own tests before they are put in force.
	SelfTest bool
	// Services say how to speak to servers that URLs are of.
	Services []Service
	// Timeout bounds one answer of a server, as a whole. 0 means 30 seconds.
	Timeout time.Duration
	// Poll says how often a [Watcher] asks servers.
	Poll Poll
	// Engine evaluates the rules, and Sample says how often two do: see regoeval.Options.
	Engine regoeval.Engine
	Sample int
}

// Load reads the bundles once and builds their ruleset. Errors that concern the content
// are a *regoeval.LoadError with file, line and remedy.
func Load(ctx context.Context, o Options) (*regoeval.Ruleset, error) {
	b, all, err := o.read(ctx)
	if err != nil {
		return nil, err
	}
	return b.build(ctx, all)
}

// LoadTrial loads the bundles as [Load] does, and their tests beside them.
func LoadTrial(ctx context.Context, o Options) (*regoeval.Ruleset, *regoeval.Trial, error) {
	b, all, err := o.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	src, names := b.source(all)
	rs, trial, err := regoeval.NewTrial(ctx, src, regoeval.Options{Steps: o.Steps, Engine: o.Engine, Sample: o.Sample})
	if err != nil {
		return nil, nil, fmt.Errorf("bundle %s: %w", list(names), err)
	}
	return rs, trial, nil
}

// Source reads the bundles once without building anything of them.
func Source(ctx context.Context, o Options) (regoeval.Source, error) {
	b, all, err := o.read(ctx)
	if err != nil {
		return regoeval.Source{}, err
	}
	src, _ := b.source(all)
	return src, nil
}

// read reads and judges everything that a ruleset is made of.
func (o Options) read(ctx context.Context) (builder, []*payload, error) {
	b, places, err := o.prepare()
	if err != nil {
		return b, nil, err
	}
	all := make([]*payload, len(places))
	for i, p := range places {
		all[i], err = p.fetch(ctx, "", false)
		p.close()
		if err == nil {
			err = all[i].judge(b.keys)
		}
		if err != nil {
			return b, nil, err
		}
	}
	return b, all, nil
}
