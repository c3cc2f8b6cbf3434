package httpproxy

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/decorator/internal/toolbox"
	"github.com/regogate/regogate/policy"
)

// A scope is what a list of tools is good for.
type scope int

const (
	ofSession   scope = iota + 1 // one Mcp-Session-Id
	ofVersion                    // requests of the older era that belong to no session
	ofStateless                  // requests with the same _meta
)

// unannounced is how long a list counts where nothing would say that it changed.
const unannounced = time.Minute

// A listKey tells lists apart.
type listKey struct {
	scope scope
	name  string            // the session's id, the version, or a digest of the _meta
	who   [sha256.Size]byte // of what may tell the server who asks
}

// A toolList is what is known of the server's tools within one scope, for one
// Authorization.
type toolList struct {
	key     listKey
	box     *toolbox.Box
	learner *toolbox.Learner
	headers http.Header    // that say who asks
	caller  *policy.Caller // who asks, nil when nobody knows

	mu      sync.Mutex
	version string // to ask in
	held    []*held
	bytes   int

	place *list.Element
	used  time.Time
}

// lists are the tool lists in use, the least recently used last.
type lists struct {
	max  int
	idle time.Duration

	mu     sync.Mutex
	byKey  map[listKey]*toolList
	order  *list.List
	public map[string]*toolList // by the name of their key: those that are everybody's
}

func newLists(max int, idle time.Duration) *lists {
	return &lists{max: max, idle: idle, byKey: map[listKey]*toolList{}, order: list.New(), public: map[string]*toolList{}}
}

// find returns the list with that key, nil when there is none.
func (l *lists) find(key listKey) *toolList {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.byKey[key]
	if t != nil {
		l.touch(t)
	}
	return t
}

func (l *lists) touch(t *toolList) {
	t.used = time.Now()
	l.order.MoveToFront(t.place)
}

// add adds the list that create makes unless there is one with that key, and lets go of
// those that are one too many or were not used for long.
func (l *lists) add(key listKey, create func() *toolList) (t *toolList, added bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t = l.byKey[key]; t != nil {
		l.touch(t)
		return t, false
	}
	t = create()
	t.place = l.order.PushFront(t)
	t.used = time.Now()
	l.byKey[key] = t
	for last := l.order.Back(); last != nil; last = l.order.Back() {
		old, ok := last.Value.(*toolList)
		if ok && l.order.Len() <= l.max && time.Since(old.used) < l.idle {
			break
		}
		l.order.Remove(last)
		if ok {
			l.forget(old)
		}
	}
	return t, true
}

// drop lets go of a list, if there is one with that key.
func (l *lists) drop(key listKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.byKey[key]; t != nil {
		l.order.Remove(t.place)
		l.forget(t)
	}
}

func (l *lists) forget(t *toolList) {
	delete(l.byKey, t.key)
	if l.public[t.key.name] == t {
		delete(l.public, t.key.name)
	}
}

// share makes t the list for everybody whose requests have the same _meta.
func (l *lists) share(t *toolList) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey[t.key] == t {
		l.public[t.key.name] = t
	}
}

// shared returns the list that is everybody's, nil when there is none.
func (l *lists) shared(name string) *toolList {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.public[name]
}

// outdated says that no list of the stateless era is the server's any longer.
func (l *lists) outdated() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, t := range l.byKey {
		if key.scope == ofStateless {
			t.box.Outdated()
		}
	}
}

// key returns which list a message with these headers is decided on.
func (x *exchange) listKey() listKey {
	_, who := identity(x.r.Header)
	if c := x.caller; c != nil && (c.Subject != "" || c.Tenant != "") {
		who = sha256.Sum256(fmt.Appendf(nil, "%x %q %q", who, c.Subject, c.Tenant))
	}
	session := x.session()
	switch {
	case x.stateless:
		meta := sha256.Sum256(mcpwire.StatelessMeta(x.m))
		return listKey{ofStateless, string(meta[:]), who}
	case session != "":
		return listKey{ofSession, session, who}
	default:
		return listKey{ofVersion, x.r.Header.Get(headerVersion), who}
	}
}

// toolList returns the list that a message is decided on, and has one made if there is
// none, which begins to learn.
func (x *exchange) toolList() *toolList {
	p, version := x.p, x.r.Header.Get(headerVersion)
	key := x.listKey()
	t := p.lists.find(key)
	if t == nil {
		var added bool
		t, added = p.lists.add(key, func() *toolList { return p.newList(key, x.r.Header, x.caller) })
		if added {
			var meta json.RawMessage
			if x.stateless {
				meta = slices.Clone(mcpwire.StatelessMeta(x.m))
			}
			t.box.Enable(meta)
		}
	}
	t.mu.Lock()
	t.version = version
	t.mu.Unlock()
	p.learn(t)
	return t
}

func (p *Proxy) newList(key listKey, h http.Header, caller *policy.Caller) *toolList {
	who, _ := identity(h)
	t := &toolList{key: key, headers: http.Header{}, caller: caller}
	maps.Copy(t.headers, who.Clone())
	p.outgoing(t.headers, false)
	lifetime := time.Duration(0)
	if key.scope == ofVersion {
		lifetime = unannounced
	}
	t.box = toolbox.New(lifetime)
	t.learner = &toolbox.Learner{
		Box: t.box,
		IDs: p.ids,
		Ask: func(c ctx, id json.RawMessage, request []byte, stateless bool) (mcpwire.ServerMessage, error) {
			return p.ask(c, t, id, request, stateless)
		},
		Tools:   p.tools,
		Server:  p.o.Server,
		Timeout: p.o.LearnTimeout,
		Logger:  p.o.Logger,
		OnTools: func(tools []*policy.Tool) {
			if key.scope == ofStateless && t.box.Public() {
				p.lists.share(t)
			}
			p.told.tell(tools)
		},
	}
	return t
}

// learn has the server asked, if a list wants to know anything.
func (p *Proxy) learn(t *toolList) { t.learner.Start(p.ctx, &p.learning) }

// A teller tells lists of tools to whoever wants to know them.
type teller struct {
	declarations *adapter.Declarations
	onTools      func([]*policy.Tool)

	mu   sync.Mutex
	last []*policy.Tool
	once bool
}

func (t *teller) tell(tools []*policy.Tool) {
	t.declarations.Also(tools)
	if t.onTools == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.once && slices.Equal(t.last, tools) {
		return
	}
	t.last, t.once = tools, true
	t.onTools(tools)
}
