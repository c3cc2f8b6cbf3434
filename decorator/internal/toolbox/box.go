package toolbox

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/regogate/regogate/policy"
)

// minFresh is how long a list of tools is relied on in the stateless era, whatever
// the server says: many say "not at all", which would double the cost of each call.
const minFresh = 10 * time.Second

// A Box holds what is known of the server's tools, and who needs to know more.
// Asking the server is a run; runs are counted from 1, and one is under way at most.
// Make it with [New]; it is safe for concurrent use.
type Box struct {
	lifetime time.Duration

	mu     sync.Mutex
	tools  map[string]*policy.Tool
	public bool // the server says that everybody has the same list

	enabled   bool            // the server may be asked
	ended     bool            // the client will say nothing more that could enable it
	stateless json.RawMessage // _meta to ask with; nil in the era of sessions

	changes int       // how often the server said that its tools changed
	known   int       // value of changes when the list in force was asked for; -1 before the first
	expires time.Time // of the list in force; zero if it doesn't

	wanted, begun, done int   // runs
	begunAt             int   // value of changes when the latest run began
	failure             error // of the latest run that is done

	news chan struct{} // closed at the next change of any of this
}

// New returns a box that knows nothing. Where the server doesn't say for how long its
// list may be relied on, and nothing would say that it changed, lifetime does; 0 is for
// ever.
func New(lifetime time.Duration) *Box {
	return &Box{lifetime: lifetime, known: -1, news: make(chan struct{})}
}

// tell wakes everybody who waits for news. The lock is held.
func (b *Box) tell() {
	close(b.news)
	b.news = make(chan struct{})
}

// Enable allows to ask the server, with that _meta.
func (b *Box) Enable(stateless json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.enabled || stateless == nil && b.stateless != nil // a session after all
	b.enabled, b.stateless = true, stateless
	if first {
		b.wanted = b.begun + 1
		b.tell()
	}
}

// End says that the client has said all.
func (b *Box) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.tell()
}

// Changed says that the list in force is no longer the server's.
func (b *Box) Changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	b.wanted = b.begun + 1
	b.tell()
}

// Outdated says the same, but has the server asked only when somebody needs to know.
func (b *Box) Outdated() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	b.tell()
}

// fresh reports whether the list in force may be relied on. The lock is held.
func (b *Box) fresh() bool {
	return b.known == b.changes && (b.expires.IsZero() || time.Now().Before(b.expires))
}

// Lookup returns a tool of a list that may be relied on.
func (b *Box) Lookup(name string) (*policy.Tool, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fresh() {
		return nil, false
	}
	t, ok := b.tools[name]
	return t, ok
}

// Public reports whether there is a list that may be relied on, and that the server
// gives to everybody alike.
func (b *Box) Public() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.public && b.fresh()
}

var errNoHandshake = errors.New("the client ended its input before it had said what is needed to ask for the tools")

// A Question is what a call that Lookup has no answer for wants to know.
type Question struct {
	name string
	run  int // the run whose outcome answers it
}

// Ask makes a question of a call, and has the server asked if that is needed.
func (b *Box) Ask(name string) *Question {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.tools[name]; ok && b.fresh() && b.failure == nil {
		return &Question{name: name, run: b.done} // learned since Lookup had no answer
	}
	q := &Question{name: name, run: b.begun + 1}
	if underWay := b.begun > b.done; underWay && !b.fresh() && b.begunAt == b.changes {
		q.run = b.begun // it began after all that makes the list in force unreliable
	}
	b.want(q.run)
	return q
}

func (b *Box) want(run int) {
	if run > b.wanted {
		b.wanted = run
		b.tell()
	}
}

// Answer returns the tool that q asks for: nil if the server has no such tool. The
// error says that the tools couldn't be learned. Otherwise pending is closed when it
// is time to ask again.
func (b *Box) Answer(q *Question) (t *policy.Tool, pending <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.enabled && b.ended:
		return nil, nil, errNoHandshake
	case b.done < q.run:
		return nil, b.news, nil
	case b.failure != nil:
		return nil, nil, b.failure
	case !b.fresh(): // the server said so since the run began
		q.run = b.begun + 1
		b.want(q.run)
		return nil, b.news, nil
	}
	return b.tools[q.name], nil, nil
}

// begin returns a run to be made, or what to wait for until there is one.
func (b *Box) begin() (stateless json.RawMessage, ok bool, pending <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.enabled || b.wanted <= b.begun {
		return nil, false, b.news
	}
	b.begun++
	b.begunAt = b.changes
	return b.stateless, true, nil
}

// wants reports whether there is a run to be made.
func (b *Box) wants() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.enabled && b.wanted > b.begun
}

// A list is the outcome of a run that did not fail.
type list struct {
	tools  []*policy.Tool
	fresh  time.Duration // how long it may be relied on in the stateless era
	public bool
}

// finish ends the run under way. again reports that its list is already outdated.
func (b *Box) finish(l list, failure error) (again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = b.begun
	b.failure = failure
	if failure == nil {
		b.take(l)
	}
	b.tell()
	return b.changes != b.begunAt
}

// take puts a list in force. The lock is held.
func (b *Box) take(l list) {
	b.tools = make(map[string]*policy.Tool, len(l.tools))
	for _, t := range l.tools {
		b.tools[t.Name()] = t
	}
	b.public = l.public
	b.known = b.begunAt
	switch {
	case b.stateless != nil:
		b.expires = time.Now().Add(max(l.fresh, minFresh))
	case b.lifetime > 0:
		b.expires = time.Now().Add(b.lifetime)
	default:
		b.expires = time.Time{}
	}
}
