package bundles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/loader/filter"

	"github.com/regogate/regogate/bundles/starter"
	"github.com/regogate/regogate/regoeval"
)

// Starter is the name of the bundle that is built into the program.
const Starter = "starter"

// read returns the bundle called name.
func read(name string, maxBytes int64) (bundle.Bundle, error) {
	c := newCollector(name, maxBytes)
	if err := collect(c, name); err != nil {
		return bundle.Bundle{}, err
	}
	if !c.hasPolicy() {
		return bundle.Bundle{}, fmt.Errorf("bundle %s: no .rego file in it: name the directory that holds the policy", name)
	}
	return parse(c)
}

func collect(c *collector, name string) error {
	if name == Starter {
		return c.fromFS(starter.FS(), func(string) bool { return false })
	}
	if scheme, _, ok := strings.Cut(name, "://"); ok {
		return fmt.Errorf("bundle %s: a bundle can't be read over %s: name a directory, a .tar.gz or the word starter", name, scheme)
	}
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("bundle %s: %w: name a directory, a .tar.gz or the word starter", name, reason(err))
	}
	switch {
	case info.IsDir():
		return c.fromDir(name)
	case info.Mode().IsRegular():
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("bundle %s: %w", name, reason(err))
		}
		defer f.Close()
		return c.fromArchive(f)
	default:
		return fmt.Errorf("bundle %s: neither a directory nor a file", name)
	}
}

// reason drops the operation and the path, which the message has already.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// parse lets OPA make a bundle of the collected files, with positions that name the source.
func parse(c *collector) (bundle.Bundle, error) {
	b, err := bundle.NewCustomReader(&memoryLoader{source: c.source, files: c.files}).
		WithBaseDir(c.source).
		WithSizeLimitBytes(c.max + 1). // the total is within max already
		WithProcessAnnotations(true).
		WithRegoVersion(ast.RegoV1).
		Read()
	if err != nil {
		return bundle.Bundle{}, regoeval.ParseError(c.source, err)
	}
	if b.Type() != bundle.SnapshotBundleType { // can't be: the collector takes no patch
		return bundle.Bundle{}, fmt.Errorf("bundle %s: a delta bundle: only whole bundles are accepted", c.source)
	}
	return b, nil
}

// A memoryLoader hands files that were read and checked to OPA's bundle reader.
type memoryLoader struct {
	source string
	files  []file
}

// NextFile implements bundle.DirectoryLoader.
func (l *memoryLoader) NextFile() (*bundle.Descriptor, error) {
	if len(l.files) == 0 {
		return nil, io.EOF
	}
	f := l.files[0]
	l.files = l.files[1:]
	return bundle.NewDescriptor(l.source+f.path, f.path, f.reader()), nil
}

// The rest of bundle.DirectoryLoader configures reading, which is over.

// WithFilter implements bundle.DirectoryLoader.
func (l *memoryLoader) WithFilter(filter.LoaderFilter) bundle.DirectoryLoader { return l }

// WithPathFormat implements bundle.DirectoryLoader.
func (l *memoryLoader) WithPathFormat(bundle.PathFormat) bundle.DirectoryLoader { return l }

// WithSizeLimitBytes implements bundle.DirectoryLoader.
func (l *memoryLoader) WithSizeLimitBytes(int64) bundle.DirectoryLoader { return l }

// WithFollowSymlinks implements bundle.DirectoryLoader.
func (l *memoryLoader) WithFollowSymlinks(bool) bundle.DirectoryLoader { return l }
