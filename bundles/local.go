package bundles

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long nothing may happen before what was changed is read.
	quiet = 100 * time.Millisecond
	// restless is how long a change is waited out at most.
	restless = 2 * time.Second
	// lookAgain is how often a place is looked at without being told: for file systems
	// that tell nothing, and for links far above the place.
	lookAgain = 2 * time.Second
)

// A localSource is a directory, a .tar.gz or a settings file on disk. It sees editors
// that write beside and rename, and links that are swapped.
type localSource struct {
	path     string
	max      int64
	settings bool

	reread time.Duration // at the latest after that, whatever it looks like; 0 means a minute

	seen    traces // at the last fetch; nil when it changed meanwhile
	watcher *fsnotify.Watcher
}

// fetch reads until nothing has changed meanwhile.
func (s *localSource) fetch(ctx context.Context, _ string, _ bool) (*payload, error) {
	const tries = 20
	var p *payload
	var err error
	for range tries {
		before := traceOf(s.path)
		p, err = s.read()
		if after := traceOf(s.path); before.same(after) {
			s.seen = before
			return p, err
		}
		s.seen = nil
		if e := sleep(ctx, quiet); e != nil {
			return nil, e
		}
	}
	if err == nil {
		err = fmt.Errorf("bundle %s: it is being changed all the time: publish a new directory or file and rename it", s.path)
	}
	return nil, err
}

func (s *localSource) read() (*payload, error) {
	if s.settings {
		return settingsPayload(s.path)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w: name a directory, a .tar.gz, an http(s) URL or the word starter", s.path, reason(err))
	}
	c := newCollector(s.path, s.max)
	switch {
	case info.IsDir():
		if err := c.fromDir(s.path); err != nil {
			return nil, err
		}
		p := c.payload(nil)
		p.dir, err = filepath.Abs(s.path)
		return p, err
	case info.Mode().IsRegular():
		raw, err := readRaw(s.path, s.max)
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", s.path, err)
		}
		if err := c.fromArchive(bytes.NewReader(raw)); err != nil {
			return nil, err
		}
		return c.payload(raw), nil
	default:
		return nil, fmt.Errorf("bundle %s: neither a directory nor a file", s.path)
	}
}

// readRaw reads an archive, which isn't larger packed than it may be unpacked.
func readRaw(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	return readAtMost(f, max)
}

func readAtMost(r io.Reader, max int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, max+1))
	if err != nil {
		return nil, reason(err)
	}
	if int64(len(raw)) > max {
		return nil, fmt.Errorf("larger than %d bytes: raise limits.bundle_bytes or make the bundle smaller", max)
	}
	return raw, nil
}

// wait returns when the place looks different from when it was fetched, or something
// in it was written to.
func (s *localSource) wait(ctx context.Context, _ outcome) error {
	if s.watcher == nil {
		s.watcher, _ = fsnotify.NewWatcher() // without one, looking again has to do
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	until := time.Now().Add(cmp.Or(s.reread, time.Minute))
	for {
		written, err := s.pause(ctx, tick.C)
		if err != nil {
			return err
		}
		if written || time.Now().After(until) || !traceOf(s.path).same(s.seen) {
			return nil
		}
	}
}

// pause returns when something may have happened and nothing happens any more. written
// says that it was in the place itself.
func (s *localSource) pause(ctx context.Context, tick <-chan time.Time) (written bool, err error) {
	s.watch()
	if !traceOf(s.path).same(s.seen) { // before the watch began
		return false, sleep(ctx, quiet)
	}
	events, failures := s.channels()
	calm := time.NewTimer(time.Hour)
	defer calm.Stop()
	var enough <-chan time.Time
	for {
		select {
		case e := <-events:
			written = written || s.concerns(e)
			calm.Reset(quiet)
			if enough == nil {
				t := time.NewTimer(restless)
				defer t.Stop()
				enough = t.C
			}
		case <-failures: // events may be lost
			return true, nil
		case <-calm.C:
			return written, nil
		case <-enough:
			return written, nil
		case <-tick:
			if enough == nil {
				return written, nil
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func (s *localSource) channels() (<-chan fsnotify.Event, <-chan error) {
	if s.watcher == nil {
		return nil, nil
	}
	return s.watcher.Events, s.watcher.Errors
}

// concerns reports whether an event is about the content and not about a neighbour.
func (s *localSource) concerns(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false // what is read is the same, and traces have the mode
	}
	if filepath.Clean(e.Name) == filepath.Clean(s.path) {
		return true
	}
	root, err := resolve(s.path)
	if err != nil {
		return true
	}
	rel, err := filepath.Rel(root, e.Name)
	return err == nil && filepath.IsLocal(rel)
}

// watch watches the place, the directory that it is in, and those of all links on the
// way to it. What can't be watched is looked at again now and then.
func (s *localSource) watch() {
	if s.watcher == nil {
		return
	}
	wanted := map[string]bool{}
	own := filepath.Clean(s.path)
	for dir := own; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); dir == own || err == nil && info.Mode()&fs.ModeSymlink != 0 {
			wanted[filepath.Dir(dir)] = true
		}
	}
	if real, err := filepath.EvalSymlinks(own); err == nil && real != own {
		wanted[filepath.Dir(real)] = true // of a file that is linked to
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			wanted[real] = true // where ..data is swapped
		}
	}
	if root, err := resolve(own); err == nil {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				wanted[path] = true
			}
			return nil
		})
	}
	for _, path := range s.watcher.WatchList() {
		if !wanted[path] {
			_ = s.watcher.Remove(path)
		}
	}
	for path := range wanted {
		_ = s.watcher.Add(path)
	}
}

func (s *localSource) close() {
	if s.watcher != nil {
		_ = s.watcher.Close()
		s.watcher = nil
	}
}

// traces are how a place looks from outside: every file with its size and times.
type traces []trace

type trace struct {
	path string
	info fs.FileInfo // nil when it can't be seen
	link string
}

// traceOf looks at a place.
func traceOf(path string) traces {
	root, err := resolve(path)
	if err != nil {
		if root, err = filepath.EvalSymlinks(path); err != nil {
			return traces{{path: "gone"}}
		}
	}
	var out traces
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		t := trace{path: path}
		if err == nil {
			t.info, err = d.Info()
		}
		if err != nil {
			t.info = nil
		} else if t.info.Mode()&fs.ModeSymlink != 0 {
			t.link, _ = os.Readlink(path)
		}
		out = append(out, t)
		return nil
	})
	return out
}

func (t traces) same(other traces) bool {
	if len(t) != len(other) || other == nil {
		return false
	}
	for i, a := range t {
		b := other[i]
		if a.path != b.path || a.link != b.link || (a.info == nil) != (b.info == nil) {
			return false
		}
		if a.info != nil && (!os.SameFile(a.info, b.info) || a.info.Size() != b.info.Size() || a.info.Mode() != b.info.Mode() || !a.info.ModTime().Equal(b.info.ModTime())) {
			return false
		}
	}
	return true
}

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isGone reports whether an error only says that the context ended.
func isGone(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}
