package bundles

import (
	"context"
	"errors"
	"fmt"

	"github.com/regogate/regogate/regoeval"
)

// DefaultMaxBytes is how large a source may be unpacked, all files together.
const DefaultMaxBytes = 64 << 20

// Options say what to load.
type Options struct {
	// Bundles are directories, .tar.gz files or "starter". At least one.
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
}

// Load reads the bundles and builds their ruleset. Errors that concern the content
// are a *regoeval.LoadError with file, line and remedy.
func Load(ctx context.Context, o Options) (*regoeval.Ruleset, error) {
	src, err := gather(o)
	if err != nil {
		return nil, err
	}
	rs, err := regoeval.New(ctx, src, regoeval.Options{Steps: o.Steps})
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", display(o.Bundles), err)
	}
	return rs, nil
}

// LoadTrial loads the bundles as [Load] does, and their tests beside them.
func LoadTrial(ctx context.Context, o Options) (*regoeval.Ruleset, *regoeval.Trial, error) {
	src, err := gather(o)
	if err != nil {
		return nil, nil, err
	}
	rs, trial, err := regoeval.NewTrial(ctx, src, regoeval.Options{Steps: o.Steps})
	if err != nil {
		return nil, nil, fmt.Errorf("bundle %s: %w", display(o.Bundles), err)
	}
	return rs, trial, nil
}

// gather reads everything that a ruleset is made of.
func gather(o Options) (src regoeval.Source, err error) {
	if len(o.Bundles) == 0 {
		return src, errors.New("no bundle: name a directory, a .tar.gz or the word starter")
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	src = regoeval.Source{Common: o.Common, Map: o.Map}
	for _, name := range o.Bundles {
		b, err := read(name, o.MaxBytes)
		if err != nil {
			return src, err
		}
		src.Bundles = append(src.Bundles, regoeval.NamedBundle{Name: name, Bundle: b})
	}
	if o.SettingsFile != "" {
		if src.Settings, src.SettingsDigest, err = readSettings(o.SettingsFile); err != nil {
			return src, err
		}
	}
	return src, nil
}

func display(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprint(names)
}
