package stdioproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/regogate/regogate/policy"
)

// minFresh is how long a list of tools is relied on in the stateless era, whatever
// the server says: many say "not at all", which would double the cost of each call.
const minFresh = 10 * time.Second

// A toolbox holds what is known of the server's tools, and who needs to know more.
// Asking the server is a run; runs are counted from 1, and one is under way at most.
type toolbox struct {
	mu    sync.Mutex
	tools map[string]*policy.Tool

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

func newToolbox() *toolbox { return &toolbox{known: -1, news: make(chan struct{})} }

// tell wakes everybody who waits for news. The lock is held.
func (b *toolbox) tell() {
	close(b.news)
	b.news = make(chan struct{})
}

// enable allows to ask the server, with that _meta.
func (b *toolbox) enable(stateless json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.enabled || stateless == nil && b.stateless != nil // a session after all
	b.enabled, b.stateless = true, stateless
	if first {
		b.wanted = b.begun + 1
		b.tell()
	}
}

// end says that the client has said all.
func (b *toolbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.tell()
}

// changed says that the list in force is no longer the server's.
func (b *toolbox) changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	b.wanted = b.begun + 1
	b.tell()
}

// fresh reports whether the list in force may be relied on. The lock is held.
func (b *toolbox) fresh() bool {
	return b.known == b.changes && (b.expires.IsZero() || time.Now().Before(b.expires))
}

// lookup returns a tool of a list that may be relied on.
func (b *toolbox) lookup(name string) (*policy.Tool, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fresh() {
		return nil, false
	}
	t, ok := b.tools[name]
	return t, ok
}

var errNoHandshake = errors.New("the client ended its input before it had said what is needed to ask for the tools")

// A question is what a call that lookup has no answer for wants to know.
type question struct {
	name string
	run  int // the run whose outcome answers it
}

// ask makes a question of a call, and has the server asked if that is needed.
func (b *toolbox) ask(name string) *question {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := &question{name: name, run: b.begun + 1}
	if underWay := b.begun > b.done; underWay && !b.fresh() && b.begunAt == b.changes {
		q.run = b.begun // it began after all that makes the list in force unreliable
	}
	b.want(q.run)
	return q
}

func (b *toolbox) want(run int) {
	if run > b.wanted {
		b.wanted = run
		b.tell()
	}
}

// answer returns the tool that q asks for: nil if the server has no such tool. The
// error says that the tools couldn't be learned. Otherwise pending is closed when it
// is time to ask again.
func (b *toolbox) answer(q *question) (t *policy.Tool, pending <-chan struct{}, err error) {
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
func (b *toolbox) begin() (stateless json.RawMessage, ok bool, pending <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.enabled || b.wanted <= b.begun {
		return nil, false, b.news
	}
	b.begun++
	b.begunAt = b.changes
	return b.stateless, true, nil
}

// finish ends the run under way. again reports that its list is already outdated.
func (b *toolbox) finish(tools []*policy.Tool, fresh time.Duration, failure error) (again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = b.begun
	b.failure = failure
	if failure == nil {
		b.tools = make(map[string]*policy.Tool, len(tools))
		for _, t := range tools {
			b.tools[t.Name()] = t
		}
		b.known = b.begunAt
		b.expires = time.Time{}
		if b.stateless != nil {
			b.expires = time.Now().Add(max(fresh, minFresh))
		}
	}
	b.tell()
	return b.changes != b.begunAt
}

// same returns the tool that is known for exactly this declaration, so that its
// schema needn't be compiled again.
func (b *toolbox) same(spec policy.ToolSpec) *policy.Tool {
	b.mu.Lock()
	t := b.tools[spec.Name]
	b.mu.Unlock()
	if t == nil {
		return nil
	}
	s := t.Spec()
	if s.Broken != nil || spec.Broken != nil || s.Server != spec.Server || s.Title != spec.Title || s.OutputSchema != spec.OutputSchema ||
		s.NoSchema != spec.NoSchema || !bytes.Equal(s.Annotations, spec.Annotations) || !bytes.Equal(s.InputSchema, spec.InputSchema) {
		return nil
	}
	return t
}
