package bundles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regogate/regogate/regoeval"
)

// WatchOptions say how bundles are kept up to date.
type WatchOptions struct {
	Options
	// State is a directory in which the last good bundles are kept, with the highest
	// sequences seen. "" keeps nothing: at the next start a source that is down leaves the
	// gate without a policy, and an older bundle can't be told from a newer one.
	State string
	// MaxAge takes the ruleset out of force when a bundle could not be refreshed for that
	// long. 0 never does.
	MaxAge time.Duration
	// StatusURL is where OPA's status API takes updates; "" for nowhere.
	StatusURL string
	// Use puts a ruleset in force; nil takes it away. It is called with one at a time.
	Use func(*regoeval.Ruleset)
	// Logger is told what happens. nil is silent.
	Logger *slog.Logger
	// Observer is told as well. It may be nil.
	Observer Observer
}

// startPatience is how long a start waits for a server when there is nothing on disk
// that decides meanwhile.
const startPatience = 5 * time.Second

// A Watcher keeps a ruleset in force that is made of the newest bundles that can be
// trusted. Make it with [NewWatcher], then Start, then Run.
type Watcher struct {
	o       WatchOptions
	builder builder
	store   *store
	log     *slog.Logger
	tell    observers
	status  atomic.Pointer[Status]
	posts   *statusPoster

	mu     sync.Mutex
	slots  []*slot
	rules  *regoeval.Ruleset // made last; nil before
	using  *regoeval.Ruleset // given to Use last
	totals Status            // all of it but for what slots know
	held   *[]func()         // what Start has to say, until it is known whether it says it by an error
}

// A slot is one source, with what was last fetched of it and what is in force.
type slot struct {
	place
	latest *payload // the newest that was accepted by itself
	active *payload // part of the ruleset in force
	floor  *int64   // the highest sequence that was in force
	seen   string   // the digest of what the source had last, accepted or not
	etag   string   // of the same
	asked  bool     // since the start
	disk   saved

	status           BundleStatus
	failure, refusal error // of the last attempt to read; of what was read
	told             told
}

// NewWatcher checks everything that can be checked before a bundle is read. The error
// is a *[ConfigError].
func NewWatcher(o WatchOptions) (*Watcher, error) {
	if o.Use == nil {
		return nil, errors.New("bundles: WatchOptions.Use is missing")
	}
	b, places, err := o.prepare()
	if err != nil {
		return nil, err
	}
	w := &Watcher{o: o, builder: b, log: o.Logger}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	for _, p := range places {
		if l, ok := p.source.(*localSource); ok && o.MaxAge > 0 {
			l.reread = min(time.Minute, o.MaxAge/3)
		}
		w.slots = append(w.slots, &slot{place: p, status: BundleStatus{Name: p.name}})
	}
	if o.Observer != nil {
		w.tell = append(w.tell, o.Observer)
	}
	if o.StatusURL != "" {
		if w.posts, err = newStatusPoster(o.StatusURL, o.Options, w.log); err != nil {
			return nil, &ConfigError{err}
		}
		w.tell = append(w.tell, w.posts)
	}
	if o.State != "" {
		if err := w.openState(); err != nil {
			return nil, &ConfigError{err}
		}
	}
	w.publish()
	return w, nil
}

// Status says how things stand. It never waits.
func (w *Watcher) Status() Status {
	s := *w.status.Load()
	s.Bundles = append([]BundleStatus(nil), s.Bundles...)
	return s
}

// Start loads the bundles and puts them in force: from their sources or, where those
// can't be read or trusted, the last good ones. Without an error there may still be no
// ruleset, when a server is needed for one: then Run goes on trying.
func (w *Watcher) Start(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = &[]func(){}
	err := w.start(ctx)
	held := *w.held
	if w.held = nil; err == nil {
		for _, say := range held {
			say()
		}
	}
	w.publish()
	return err
}

func (w *Watcher) start(ctx context.Context) error {
	began := time.Now()
	var errs []error
	for _, s := range w.slots {
		if !s.remote || !w.hasLastGood() {
			errs = append(errs, w.first(ctx, s))
		}
	}
	w.fillFromState()
	err := w.activate(ctx, began)
	if err != nil && w.hasLastGood() {
		err = w.fallBack(ctx, began, err)
	}
	if err == nil {
		return nil
	}
	if joined := errors.Join(errs...); joined != nil {
		err = joined // and not that something is missing because of it
	}
	for _, s := range w.slots {
		if s.remote && ctx.Err() == nil {
			w.say(slog.LevelError, "no policy is in force: every call is not_ready until there is one", "reason", oneLine(err))
			return nil
		}
	}
	return err
}

// first fetches what a source has at the start.
func (w *Watcher) first(ctx context.Context, s *slot) error {
	if s.remote {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("no answer within %s", startPatience))
		defer cancel()
	}
	p, err := s.fetch(ctx, "", false)
	return w.take(s, p, err)
}

// Run keeps the ruleset up to date until ctx ends. It is called once, after Start.
func (w *Watcher) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, s := range w.slots {
		if !s.fixed {
			running.Go(func() { w.follow(ctx, s) })
		}
	}
	if w.o.MaxAge > 0 {
		running.Go(func() { w.age(ctx) })
	}
	if w.posts != nil {
		running.Go(func() { w.posts.run(ctx) })
	}
	running.Wait()
}

// follow fetches from one source whenever that is worth while.
func (w *Watcher) follow(ctx context.Context, s *slot) {
	defer s.close()
	last := outcome{}
	w.mu.Lock()
	asked, etag := s.asked, s.etag
	if s.failure != nil {
		last.failures = 1
	}
	w.mu.Unlock()
	for {
		if asked && s.wait(ctx, last) != nil {
			return
		}
		asked = true
		began := time.Now()
		p, err := s.fetch(ctx, etag, true)
		if isGone(ctx, err) || ctx.Err() != nil {
			return
		}
		last.took = time.Since(began)
		last.failures, last.unchanged, etag = w.offer(ctx, s, p, err, began)
	}
}

// offer judges what a source has, and puts it in force if it is good.
func (w *Watcher) offer(ctx context.Context, s *slot, p *payload, err error, began time.Time) (failures int, unchanged bool, etag string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.publish()
	unchanged = p == nil || p.digest == s.seen
	if taken := w.take(s, p, err); taken == nil && !unchanged {
		_ = w.activate(ctx, began) // which tells of its errors itself
	}
	return s.status.Failures, unchanged, s.etag
}

// take looks at what was fetched, by itself.
func (w *Watcher) take(s *slot, p *payload, err error) error {
	s.asked = true
	s.status.LastAttempt = time.Now()
	if err != nil {
		s.failure = err
		s.status.Failures++
		w.totals.Failures++
		w.failed(Unreachable, s, err)
		return err
	}
	s.failure, s.status.Failures = nil, 0
	if p != nil {
		s.etag = p.etag
		if s.active != nil && p.digest == s.active.digest {
			s.active.etag = p.etag
		}
	}
	if p == nil || p.digest == s.seen {
		w.confirm(s)
		return s.refusal
	}
	s.seen = p.digest
	if s.active != nil && p.digest == s.active.digest { // it has gone back to what is in force
		s.latest, s.refusal = s.active, nil
		w.confirm(s)
		return nil
	}
	if err = p.judge(w.builder.keys); err == nil {
		err = s.inSequence(p)
	}
	if err != nil {
		s.latest = s.active
		w.refuse(s, p, err)
		return err
	}
	if w.store == nil || !s.kept {
		p.raw, p.files = nil, nil // only keeping it on disk needs them
	}
	s.latest, s.refusal = p, nil
	return nil
}

// inSequence refuses a bundle that is older than one that was in force.
func (s *slot) inSequence(p *payload) error {
	switch {
	case !lower(p.sequence, s.floor):
		return nil
	case p.sequence == nil:
		return fmt.Errorf("bundle %s/.manifest: metadata.regogate.sequence is gone, and it was %d: publish with a higher one", p.label, *s.floor)
	default:
		return fmt.Errorf("bundle %s/.manifest: metadata.regogate.sequence is %d, and %d was in force: to go back, publish the old content with a sequence above that", p.label, *p.sequence, *s.floor)
	}
}

// confirm notes that a source still has what is in force.
func (w *Watcher) confirm(s *slot) {
	if s.active == nil || s.seen != s.active.digest {
		return
	}
	s.status.LastSuccess, s.status.LastGood = time.Now(), false
	if w.o.MaxAge > 0 && time.Since(s.disk.confirmed) > max(time.Second, w.o.MaxAge/10) {
		w.save()
	}
	w.apply()
	w.notify(Event{Kind: Confirmed, Bundle: s.name})
}
