package bundles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/regogate/regogate/bundles/starter"
)

// A source is one place that a bundle, or the settings, come from. It is used by one
// goroutine at a time.
type source interface {
	// fetch reads what is there. have is the ETag of what the caller has already, "" for
	// nothing; a nil payload says that it is still that. hold says that a server may keep
	// the request until there is something new.
	fetch(ctx context.Context, have string, hold bool) (*payload, error)
	// wait returns when it is worth while to fetch again, or with the error of ctx.
	wait(ctx context.Context, last outcome) error
	// close lets go of what wait has opened.
	close()
}

// An outcome is what wait has to know of the fetches before.
type outcome struct {
	failures  int  // in a row
	unchanged bool // the last one brought nothing new
	took      time.Duration
}

// A place is a source with what it is called and how it is treated.
type place struct {
	name   string // for people: without a query, which may hold a signature
	remote bool   // may be away for a while
	fixed  bool   // never changes
	kept   bool   // on disk, when there is a place for it
	source
}

// places returns the sources that o names, the settings last. Each line of the error
// begins with the key of the configuration that it is about.
func (o Options) places() ([]place, error) {
	var out []place
	var errs []error
	ends, err := newEndpoints(o.Services, o.Timeout, len(o.Keys) > 0)
	errs = append(errs, err)
	for i, name := range o.Bundles {
		field := fmt.Sprintf("bundle[%d]", i)
		if len(o.Bundles) == 1 {
			field = "bundle"
		}
		p, err := o.place(ends, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
			continue
		}
		if slices.ContainsFunc(out, func(other place) bool { return other.name == p.name }) {
			errs = append(errs, fmt.Errorf("%s: %s is there twice", field, p.name))
			continue
		}
		out = append(out, p)
	}
	if o.SettingsFile != "" {
		if len(o.Keys) > 0 && !o.AllowSettings {
			errs = append(errs, fmt.Errorf("settings: %s would be laid over signed bundles: put the settings into a signed bundle, or allow it with bundles.unsigned_settings: allow", o.SettingsFile))
		}
		out = append(out, place{name: o.SettingsFile, source: &localSource{path: o.SettingsFile, settings: true}})
	}
	return out, errors.Join(errs...)
}

func (o Options) place(ends endpoints, name string) (place, error) {
	if name == Starter {
		return place{name: name, fixed: true, source: starterSource{o.MaxBytes}}, nil
	}
	scheme, _, isURL := strings.Cut(name, "://")
	if !isURL {
		return place{name: name, kept: true, source: &localSource{path: name, max: o.MaxBytes}}, nil
	}
	if !slices.Contains([]string{"http", "https"}, scheme) {
		return place{}, fmt.Errorf("%s: a bundle can't be read over %s: name a directory, a .tar.gz, an http(s) URL or the word starter", display(name), scheme)
	}
	u, err := parseURL(name)
	if err != nil {
		return place{}, err
	}
	end, err := ends.of(u)
	if err != nil {
		return place{}, err
	}
	return place{name: display(name), remote: true, kept: true, source: &httpSource{url: u, end: end, max: o.MaxBytes, poll: o.Poll}}, nil
}

// parseURL reads the URL of a bundle or a service. Its error doesn't repeat the URL,
// in which there may be a password.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	var where *url.Error
	switch {
	case errors.As(err, &where):
		return nil, fmt.Errorf("%s: not a URL: %w", display(text), where.Err)
	case err != nil:
		return nil, fmt.Errorf("%s: not a URL", display(text))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s: not an http(s) URL", display(text))
	case u.Hostname() == "":
		return nil, fmt.Errorf("%s: the URL names no host", display(text))
	case u.User != nil:
		return nil, fmt.Errorf("%s: a URL with a name or a password in it ends up in logs: put credentials into services", display(text))
	case u.Fragment != "":
		return nil, fmt.Errorf("%s: a URL of a bundle has no fragment", display(text))
	}
	return u, nil
}

// display is how a bundle is called in messages: a URL without user, query and
// fragment, in any of which there may be a secret.
func display(name string) string {
	scheme, rest, isURL := strings.Cut(name, "://")
	if !isURL {
		return name
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host, path, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	return scheme + "://" + host + "/" + path
}

// starterSource is the bundle that is part of the program.
type starterSource struct{ max int64 }

func (s starterSource) fetch(context.Context, string, bool) (*payload, error) {
	c := newCollector(Starter, s.max)
	if err := c.fromFS(starter.FS(), func(string) bool { return false }); err != nil {
		return nil, err
	}
	return c.payload(nil), nil
}

func (starterSource) wait(ctx context.Context, _ outcome) error {
	<-ctx.Done()
	return ctx.Err()
}

func (starterSource) close() {}

// settingsPayload reads a settings file as a payload.
func settingsPayload(file string) (*payload, error) {
	settings, digest, err := readSettings(file)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(digest))
	return &payload{label: file, settings: settings, settingsDigest: digest, digest: hex.EncodeToString(sum[:])}, nil
}
