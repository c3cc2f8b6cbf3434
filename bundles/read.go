package bundles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/loader/filter"

	"github.com/regogate/regogate/regoeval"
)

// Starter is the name of the bundle that is built into the program.
const Starter = "starter"

// reason drops the operation and the path, which the message has already.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// parse lets OPA make a bundle of the files, with positions that name the source.
// verified says that the signature was looked at; without a key to look at it with, a
// signed bundle is refused by OPA.
func parse(p *payload, verified bool) (bundle.Bundle, error) {
	b, err := bundle.NewCustomReader(&memoryLoader{source: p.label, files: p.files}).
		WithBaseDir(p.label).
		WithSizeLimitBytes(p.max + 1). // the total is within max already
		WithProcessAnnotations(true).
		WithRegoVersion(ast.RegoV1).
		WithSkipBundleVerification(verified).
		Read()
	if err != nil {
		return bundle.Bundle{}, regoeval.ParseError(p.label, err)
	}
	if b.Type() != bundle.SnapshotBundleType { // can't be: the collector takes no patch
		return bundle.Bundle{}, fmt.Errorf("bundle %s: a delta bundle: only whole bundles are accepted", p.label)
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
