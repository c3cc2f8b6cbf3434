package bundles

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// A store keeps the last good bundles in a directory: each as a file that is named
// after its digest, and one index that says which of them are good. The index is
// replaced as a whole after what it names has reached the disk, so that whenever the
// process or the machine stops, it names whole bundles of one moment. Processes that
// share a directory take turns.
type store struct{ dir string }

const (
	indexFile    = "index.json"
	lockFile     = "lock"
	indexVersion = 1
)

// An index is what a store knows of all bundles, by their names.
type index struct {
	Version int               `json:"version"`
	Bundles map[string]record `json:"bundles"`
}

// A record is the last good state of one bundle.
type record struct {
	Digest    string    `json:"digest"` // of the archive, SHA-256
	ETag      string    `json:"etag,omitempty"`
	Revision  string    `json:"revision"`
	Sequence  *int64    `json:"sequence,omitempty"` // the highest that was in force
	Confirmed time.Time `json:"confirmed"`          // when the source was last known to have it
}

// openStore makes the directory, or checks that nobody else may write to it: what is
// in it becomes policy.
func openStore(dir string) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("bundles.state: %s: %w", dir, reason(err))
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("bundles.state: %s: %w", dir, reason(err))
	case !info.IsDir():
		return nil, fmt.Errorf("bundles.state: %s: not a directory", dir)
	case info.Mode().Perm()&0o022 != 0 && os.PathSeparator == '/':
		return nil, fmt.Errorf("bundles.state: %s: others may write to it (%s): what is in it becomes policy: chmod go-w", dir, info.Mode().Perm())
	}
	s := &store{dir}
	unlock, err := s.lock()
	if err != nil {
		return nil, fmt.Errorf("bundles.state: %w", err)
	}
	defer unlock()
	return s, nil
}

func (s *store) lock() (unlock func(), err error) {
	unlock, err = lockedfile.MutexAt(filepath.Join(s.dir, lockFile)).Lock()
	if err != nil {
		return nil, fmt.Errorf("%s: can't be locked: %w", s.dir, reason(err))
	}
	return unlock, nil
}

// read returns the index; an empty one when there is none yet. An index that can't be
// read is an error and not an absence: with it, the sequences would be forgotten.
func (s *store) read() (index, error) {
	unlock, err := s.lock()
	if err != nil {
		return index{}, err
	}
	defer unlock()
	return s.readLocked()
}

func (s *store) readLocked() (index, error) {
	none := index{Version: indexVersion, Bundles: map[string]record{}}
	path := filepath.Join(s.dir, indexFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, reason(err))
	}
	const fix = "remove it if it is beyond repair: the sequences seen so far are then forgotten"
	if err := checkJSON(path, raw); err != nil {
		return none, fmt.Errorf("%w: %s", err, fix)
	}
	var i index
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&i); err != nil {
		return none, fmt.Errorf("%s: %w: %s", path, err, fix)
	}
	if i.Version != indexVersion {
		return none, fmt.Errorf("%s: version %d, and this program knows %d: %s", path, i.Version, indexVersion, fix)
	}
	if i.Bundles == nil {
		i.Bundles = map[string]record{}
	}
	return i, nil
}

// blob returns the archive of a record, unless it is not what it was.
func (s *store) blob(r record, max int64) ([]byte, error) {
	if !digestName.MatchString(r.Digest) {
		return nil, fmt.Errorf("%s: %q is no digest", filepath.Join(s.dir, indexFile), r.Digest)
	}
	path := s.path(r.Digest)
	raw, err := readRaw(path, max)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != r.Digest {
		return nil, fmt.Errorf("%s: its content is not what was written", path)
	}
	return raw, nil
}

var (
	digestName = regexp.MustCompile(`^[0-9a-f]{64}$`)
	ownName    = regexp.MustCompile(`^([0-9a-f]{64})\.tar\.gz$|^\.new-[0-9]+$`)
)

func (s *store) path(digest string) string { return filepath.Join(s.dir, digest+".tar.gz") }

// put writes an archive under its digest, unless it is there.
func (s *store) put(raw []byte) (digest string, err error) {
	sum := sha256.Sum256(raw)
	digest = hex.EncodeToString(sum[:])
	if _, err := s.blob(record{Digest: digest}, int64(len(raw))); err == nil {
		return digest, nil
	}
	return digest, s.write(s.path(digest), raw)
}

// commit writes archives and then the index that names them, and returns the digest of
// each record's archive. A record of another process that has a higher sequence stays,
// and so does one whose archive another process has replaced.
func (s *store) commit(records map[string]record, archives map[string][]byte) (map[string]string, error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	now, err := s.readLocked()
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for name, r := range records {
		if old, known := now.Bundles[name]; known && lower(r.Sequence, old.Sequence) {
			continue
		}
		if raw, ok := archives[name]; ok {
			if r.Digest, err = s.put(raw); err != nil {
				return nil, err
			}
		} else if _, err := os.Stat(s.path(r.Digest)); err != nil {
			continue
		}
		now.Bundles[name], digests[name] = r, r.Digest
	}
	raw, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := s.write(filepath.Join(s.dir, indexFile), append(raw, '\n')); err != nil {
		return nil, err
	}
	s.sweep(now)
	return digests, nil
}

// write replaces a file as a whole, and returns when that is on the disk.
func (s *store) write(path string, content []byte) (err error) {
	f, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return fmt.Errorf("%s: %w", path, reason(err))
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			err = fmt.Errorf("%s: %w", path, reason(err))
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return s.sync()
}

// sync makes the directory's entries durable.
func (s *store) sync() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// sweep removes what no record names: older bundles, and what a process that ended
// meanwhile left half written. What can't be removed is only in the way.
func (s *store) sweep(now index) {
	named := map[string]bool{}
	for r := range maps.Values(now.Bundles) {
		named[r.Digest] = true
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if m := ownName.FindStringSubmatch(e.Name()); m != nil && !named[m[1]] {
			_ = os.Remove(filepath.Join(s.dir, e.Name()))
		}
	}
}

// lower reports whether a sequence goes back, or is gone.
func lower(sequence, floor *int64) bool {
	return floor != nil && (sequence == nil || *sequence < *floor)
}
