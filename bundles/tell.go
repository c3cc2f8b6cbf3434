package bundles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/regogate/regogate/regoeval"
)

// told is what was last logged of a source, so that a server that is down for a day is
// not a line a second.
type told struct {
	text string
	at   time.Time
}

// tellAgain is when the same is told again.
const tellAgain = 10 * time.Minute

// again reports whether text is worth a line, and remembers it.
func (t *told) again(text string) bool {
	if t.text == text && time.Since(t.at) < tellAgain {
		return false
	}
	t.text, t.at = text, time.Now()
	return true
}

// say writes a line to the log, during a start only if that succeeds: otherwise its
// error says it.
func (w *Watcher) say(level slog.Level, what string, attrs ...any) {
	w.publish() // the status is never behind the log
	say := func() { w.log.Log(context.Background(), level, what, attrs...) }
	if w.held != nil {
		*w.held = append(*w.held, say)
		return
	}
	say()
}

// failed tells that a source could not be read.
func (w *Watcher) failed(kind EventKind, s *slot, err error) {
	if s.told.again(err.Error()) {
		w.say(slog.LevelWarn, "a bundle could not be fetched: "+w.still(), "bundle", s.name, "reason", oneLine(err))
	}
	w.notify(Event{Kind: kind, Bundle: s.name, Err: err})
}

// mostFindings bounds the lines that one bundle can make in the log.
const mostFindings = 20

// refuse tells why what a source has is not put in force, each finding with its place.
func (w *Watcher) refuse(s *slot, p *payload, err error) {
	s.refusal = err
	s.status.Refused = p.revision
	if p.revision == "" {
		s.status.Refused = "sha256:" + p.digest
	}
	w.totals.Refusals++
	if s.told.again(err.Error()) {
		what := "a bundle is refused: " + w.still()
		attrs := []any{"bundle", s.name, "revision", s.status.Refused}
		var load *regoeval.LoadError
		if !errors.As(err, &load) {
			w.say(slog.LevelError, what, append(attrs, "reason", oneLine(err))...)
		} else {
			for i, f := range load.Findings {
				if i == mostFindings {
					w.say(slog.LevelError, what, append(attrs, "reason", fmt.Sprintf("and %d findings more", len(load.Findings)-i))...)
					break
				}
				w.say(slog.LevelError, what, append(attrs, "reason", oneLine(errors.New(f.String())))...)
			}
		}
	}
	w.notify(Event{Kind: Refused, Bundle: s.name, Err: err})
}

func (w *Watcher) still() string {
	if w.using == nil {
		return "there is no policy, and every call is not_ready"
	}
	return "revision " + w.using.Revision() + " stays in force"
}

// notify tells the observers, with the status as it is now.
func (w *Watcher) notify(e Event) {
	if len(w.tell) == 0 {
		return
	}
	e.At = time.Now()
	if w.using != nil {
		e.Revision = w.using.Revision()
	}
	w.publish()
	w.tell.BundleEvent(e, w.Status())
}

// publish makes the status that others see.
func (w *Watcher) publish() {
	now := w.totals
	if w.using != nil {
		now.Ready, now.Revision = true, w.using.Revision()
	} else {
		now.Since = time.Time{}
	}
	for _, s := range w.slots {
		b := s.status
		if a := s.active; a != nil {
			b.Revision, b.ETag, b.Digest, b.Sequence, b.KeyID = a.revision, a.etag, a.digest, a.sequence, a.keyID
		}
		if s.refusal == nil {
			b.Refused = ""
		}
		switch {
		case s.failure != nil:
			b.Error = oneLine(s.failure)
		case s.refusal != nil:
			b.Error = oneLine(s.refusal)
		}
		now.Bundles = append(now.Bundles, b)
	}
	w.status.Store(&now)
}

// oneLine keeps an error on one line of bounded length, without the stack of a panic.
func oneLine(err error) string {
	const most = 2048
	s, _, _ := strings.Cut(err.Error(), "\ngoroutine ")
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
