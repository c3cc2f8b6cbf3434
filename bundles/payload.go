package bundles

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/regogate/regogate/regoeval"
)

// A payload is what a source held at one moment, whole. Settings are a payload, too.
type payload struct {
	label  string // begins the positions of findings
	files  []file
	raw    []byte // the archive as it came; nil when the files were in none
	digest string // of the files' names and contents, whatever holds them
	etag   string
	dir    string // the directory that it is, absolute; "" for an archive

	// What judging the payload adds.
	bundle   bundle.Bundle
	revision string
	sequence *int64
	keyID    string // of the key that signed it, "" when no key is configured
	max      int64

	settings       map[string]any
	settingsDigest string
}

func (c *collector) payload(raw []byte) *payload {
	return &payload{label: c.source, files: c.files, raw: raw, digest: digestOf(c.files), max: c.max}
}

// digestOf is the same for the same files, so that a new modification time or another
// archive of the same content is not a new revision.
func digestOf(files []file) string {
	ordered := slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.path, b.path) })
	h := sha256.New()
	for _, f := range ordered {
		fmt.Fprintf(h, "%d %s %d\n", len(f.path), f.path, len(f.content))
		h.Write(f.content)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// archive returns the payload as a .tar.gz: as it came, or made of the files.
func (p *payload) archive() ([]byte, error) {
	if p.raw != nil {
		return p.raw, nil
	}
	var buf bytes.Buffer
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for _, f := range p.files {
		h := tar.Header{Name: f.path, Mode: 0o600, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if err := tw.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := tw.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// judge verifies the signature of p, when k asks for one, and lets OPA parse it. What
// it adds to p is all that is needed to compile it.
func (p *payload) judge(k keyring) (err error) {
	if p.settings != nil {
		return nil
	}
	defer func() {
		if r := recover(); r != nil { // the content is somebody else's, and OPA's parsers panic on some
			err = fmt.Errorf("bundle %s: OPA panicked while reading it: %v\n%s", p.label, r, debug.Stack())
		}
	}()
	if !slices.ContainsFunc(p.files, func(f file) bool { return strings.HasSuffix(f.path, bundle.RegoExt) }) {
		return fmt.Errorf("bundle %s: no .rego file in it: name the directory that holds the policy", p.label)
	}
	if p.label != Starter { // which is part of the program
		if p.keyID, err = k.verify(p); err != nil {
			return err
		}
	}
	if err = p.checkManifest(); err != nil {
		return err
	}
	if p.bundle, err = parse(p, len(k) > 0); err != nil {
		return err
	}
	p.revision = regoeval.RevisionOf(p.bundle)
	if p.sequence, err = regoeval.SequenceOf(p.bundle.Manifest); err != nil {
		return regoeval.ParseError(p.label+"/.manifest", err)
	}
	return nil
}

// manifestMembers are what OPA's manifest has. A member that isn't one of them is a slip:
// without its roots, say, a bundle would claim everything.
var manifestMembers = []string{"revision", "roots", "rego_version", "file_rego_versions", "wasm", "metadata"}

// checkManifest refuses what OPA would pass over in the manifest.
func (p *payload) checkManifest() error {
	i := slices.IndexFunc(p.files, func(f file) bool { return f.path == "/"+bundle.ManifestExt })
	if i < 0 {
		return nil
	}
	where, raw := p.label+p.files[i].path, p.files[i].content
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return fmt.Errorf("%s:1:1: the manifest is not a JSON object", where)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(manifestMembers, name) {
			line, col := position(raw, int64(bytes.Index(raw, []byte(`"`+name+`"`))))
			return fmt.Errorf("%s:%d:%d: the manifest has the unknown member %q: what is for the gate goes into metadata.regogate, what is for others into metadata", where, line, col, name)
		}
	}
	return nil
}

// isJSON reports whether OPA reads a file as data or as instructions, so that it has
// to be read strictly before.
func isJSON(name string) bool {
	switch base := path.Base(name); {
	case base == "data.json", strings.HasSuffix(base, bundle.ManifestExt), bundle.IsSignaturesFile(base):
		return true
	}
	return false
}
