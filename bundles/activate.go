package bundles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/regogate/regogate/regoeval"
)

// activate makes a ruleset of the newest of every source and puts it in force. When
// that can't be, because of another source's newest, it is tried beside what the
// others have in force.
func (w *Watcher) activate(ctx context.Context, began time.Time) error {
	newest := make([]*payload, len(w.slots))
	changed := 0
	for i, s := range w.slots {
		newest[i] = s.latest
		if s.latest == nil {
			newest[i] = s.active
		}
		if newest[i] == nil {
			return fmt.Errorf("nothing of %s was loaded yet", s.name)
		}
		if newest[i] != s.active {
			changed++
		}
	}
	if changed == 0 && w.rules != nil {
		return nil
	}
	rules, err := w.builder.build(ctx, newest)
	if err == nil {
		w.putInForce(newest, rules, began)
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	if w.rules != nil && changed > 1 && w.oneByOne(ctx, began) {
		return nil
	}
	w.refuseNewest(err)
	return err
}

// oneByOne tries each source's newest by itself beside what the others have in force.
func (w *Watcher) oneByOne(ctx context.Context, began time.Time) bool {
	moved := false
	for i, s := range w.slots {
		if s.latest == nil || s.latest == s.active {
			continue
		}
		mixed := make([]*payload, len(w.slots))
		for j, other := range w.slots {
			mixed[j] = other.active
		}
		mixed[i] = s.latest
		rules, err := w.builder.build(ctx, mixed)
		if err != nil {
			w.refuse(s, s.latest, err)
			continue
		}
		w.putInForce(mixed, rules, began)
		moved = true
	}
	return moved
}

// refuseNewest blames those whose newest isn't in force. They keep it: with something
// new of another source it may do.
func (w *Watcher) refuseNewest(err error) {
	for _, s := range w.slots {
		if s.latest != nil && s.latest != s.active {
			w.refuse(s, s.latest, err)
		}
	}
}

// putInForce keeps what the ruleset is made of, and swaps it in. It is kept before it
// counts, so that no restart goes back behind what once decided. When it can't be kept
// it decides nevertheless: a full disk is no reason to go on with an older policy.
func (w *Watcher) putInForce(of []*payload, rules *regoeval.Ruleset, began time.Time) {
	now := time.Now()
	var changed []*slot
	for i, s := range w.slots {
		if s.active == of[i] {
			continue
		}
		changed = append(changed, s)
		s.active = of[i]
		s.latest = of[i]
		if s.seen == s.active.digest { // and not what is last good beside what was refused
			s.refusal = nil
		}
		if s.active.sequence != nil {
			s.floor = s.active.sequence
		}
		s.status.Activated = now
		if s.asked && s.failure == nil && s.seen == s.active.digest {
			s.status.LastSuccess, s.status.LastGood = s.status.LastAttempt, false
		}
	}
	w.save()
	w.rules = rules
	w.totals.Activations++
	w.totals.Since = now
	w.apply()
	took := time.Since(began)
	for _, s := range changed {
		s.told = told{}
		attrs := []any{"bundle", s.name, "revision", s.active.revision, "ruleset", rules.Revision(), "took", took.Round(time.Millisecond).String()}
		if s.active.keyID != "" {
			attrs = append(attrs, "signed_by", s.active.keyID)
		}
		if s.active.sequence != nil {
			attrs = append(attrs, "sequence", *s.active.sequence)
		}
		if s.status.LastGood {
			attrs = append(attrs, "last_good", true)
		}
		w.say(slog.LevelInfo, "bundle in force", attrs...)
	}
	w.notify(Event{Kind: Activated, Took: took})
}

// apply gives Use the ruleset that ought to be in force, unless it has it already:
// none when a bundle is too old.
func (w *Watcher) apply() {
	old := w.tooOld(time.Now())
	want := w.rules
	if old != nil {
		want = nil
	}
	if want == w.using {
		return
	}
	w.using = want
	w.o.Use(want)
	w.totals.Expired = w.rules != nil && want == nil
	if w.totals.Expired {
		err := fmt.Errorf("bundle %s could not be refreshed for more than %s (bundles.max_age): every call is not_ready", old.name, w.o.MaxAge)
		w.say(slog.LevelError, "the policy is too old and not in force any more", "bundle", old.name, "reason", oneLine(err))
		w.notify(Event{Kind: Expired, Bundle: old.name, Err: err})
	}
}

// tooOld returns a source that hasn't confirmed what is in force for too long.
func (w *Watcher) tooOld(now time.Time) *slot {
	if w.o.MaxAge <= 0 {
		return nil
	}
	for _, s := range w.slots {
		if s.fixed || s.active == nil || s.active.settings != nil {
			continue
		}
		// A clock that was set back, and one that stood still while the machine slept, must
		// not make anything younger.
		if age := max(now.Sub(s.status.LastSuccess), now.Round(0).Sub(s.status.LastSuccess.Round(0))); age > w.o.MaxAge {
			return s
		}
	}
	return nil
}

// age looks at the age of what is in force.
func (w *Watcher) age(ctx context.Context) {
	const longest = time.Second
	for sleep(ctx, min(longest, max(w.o.MaxAge/10, time.Millisecond))) == nil {
		w.mu.Lock()
		before := w.using
		w.apply()
		if w.using != before {
			w.publish()
		}
		w.mu.Unlock()
	}
}

// hasLastGood reports whether everything that can be away is on disk.
func (w *Watcher) hasLastGood() bool {
	if w.store == nil {
		return false
	}
	for _, s := range w.slots {
		if s.remote && s.disk.blob == "" {
			return false
		}
	}
	return true
}

// fallBack puts what was last good in force, as a whole, after something newer could
// not be.
func (w *Watcher) fallBack(ctx context.Context, began time.Time, reason error) error {
	older := make([]*payload, len(w.slots))
	for i, s := range w.slots {
		older[i] = s.latest
		if s.disk.blob != "" && !s.status.LastGood {
			p, err := w.lastGood(s)
			if err != nil {
				return errors.Join(reason, err)
			}
			older[i] = p
		}
		if older[i] == nil {
			return reason
		}
	}
	rules, err := w.builder.build(ctx, older)
	if err != nil {
		return errors.Join(reason, err)
	}
	w.say(slog.LevelError, "the bundles as they are now can't be put in force: going on with the last good ones", "reason", oneLine(reason))
	for i, s := range w.slots {
		s.status.LastGood = s.status.LastGood || s.latest != older[i]
	}
	w.putInForce(older, rules, began)
	return nil
}
