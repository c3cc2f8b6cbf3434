package bundles

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"
)

// saved is what is on disk of one source.
type saved struct {
	blob      string // the archive's digest; "" for none
	content   string // the files' digest
	confirmed time.Time
}

// openState opens the directory of the last good bundles and reads which sequences
// were in force.
func (w *Watcher) openState() error {
	var err error
	if w.store, err = openStore(w.o.State); err != nil {
		return err
	}
	known, err := w.store.read()
	if err != nil {
		return fmt.Errorf("bundles.state: %w", err)
	}
	for _, s := range w.slots {
		r, ok := known.Bundles[s.key()]
		if !ok || !s.kept {
			continue
		}
		s.floor, s.disk.blob = r.Sequence, r.Digest
		s.status.LastSuccess = r.Confirmed
		if r.Confirmed.After(time.Now().Add(time.Minute)) {
			s.status.LastSuccess = time.Time{} // nobody knows how old it is: the oldest
		}
	}
	return nil
}

// key is what a bundle is called on disk, wherever the program is started.
func (s *slot) key() string {
	if s.remote {
		return s.name
	}
	if abs, err := filepath.Abs(s.name); err == nil {
		return abs
	}
	return s.name
}

// fillFromState takes the last good of each source that has nothing else to offer.
func (w *Watcher) fillFromState() {
	for _, s := range w.slots {
		if s.latest != nil || s.disk.blob == "" {
			continue
		}
		p, err := w.lastGood(s)
		if err != nil {
			w.stateFailed(s, err)
			s.disk = saved{}
			continue
		}
		s.latest, s.status.LastGood = p, true
		if s.seen == "" { // nothing else was seen at the source
			s.seen, s.etag = p.digest, p.etag
		}
		w.say(slog.LevelWarn, "using the last good bundle from disk", "bundle", s.name, "revision", p.revision, "confirmed", s.status.LastSuccess.UTC().Format(time.RFC3339))
	}
}

// lastGood reads the last good bundle of a source, and trusts it no more than one that
// was just fetched.
func (w *Watcher) lastGood(s *slot) (*payload, error) {
	known, err := w.store.read()
	if err != nil {
		return nil, err
	}
	r, ok := known.Bundles[s.key()]
	if !ok {
		return nil, fmt.Errorf("%s: nothing is known of %s any more", w.o.State, s.name)
	}
	raw, err := w.store.blob(r, w.builder.o.MaxBytes)
	if err != nil {
		return nil, err
	}
	label := s.name
	if h, ok := s.source.(*httpSource); ok {
		label = h.label()
	}
	c := newCollector(label, w.builder.o.MaxBytes)
	if err := c.fromArchive(bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	p := c.payload(raw)
	p.etag = r.ETag
	if !s.remote {
		p.dir = s.key()
	}
	if err := p.judge(w.builder.keys); err != nil {
		return nil, err
	}
	if err := s.inSequence(p); err != nil {
		return nil, err
	}
	s.disk.content, p.raw, p.files = p.digest, nil, nil
	return p, nil
}

// save writes what is in force to disk.
func (w *Watcher) save() {
	if w.store == nil {
		return
	}
	records, archives := map[string]record{}, map[string][]byte{}
	for _, s := range w.slots {
		if !s.kept || s.active == nil {
			continue
		}
		records[s.key()] = record{Digest: s.disk.blob, ETag: s.active.etag, Revision: s.active.revision, Sequence: s.floor, Confirmed: s.status.LastSuccess.UTC()}
		if s.disk.content != s.active.digest {
			raw, err := s.active.archive()
			if err != nil {
				w.stateFailed(s, err)
				return
			}
			archives[s.key()] = raw
		}
	}
	digests, err := w.store.commit(records, archives)
	if err != nil {
		w.stateFailed(nil, err)
		return
	}
	w.totals.StateError = ""
	for _, s := range w.slots {
		if d, ok := digests[s.key()]; ok && s.kept && s.active != nil {
			s.disk = saved{blob: d, content: s.active.digest, confirmed: time.Now()}
			s.active.raw, s.active.files = nil, nil
		}
	}
}

func (w *Watcher) stateFailed(s *slot, err error) {
	name := ""
	if s != nil {
		name = s.name
	}
	w.totals.StateError = oneLine(err)
	w.say(slog.LevelError, "the last good bundles can't be kept, or read", "bundle", name, "state", w.o.State, "reason", oneLine(err))
	w.notify(Event{Kind: StateFailed, Bundle: name, Err: err})
}
