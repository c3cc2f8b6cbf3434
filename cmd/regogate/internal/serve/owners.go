package serve

import (
	"net/http"
	"sync"

	"github.com/regogate/regogate/policy"
)

// maxSessions is of how many sessions it is remembered whose they are.
const maxSessions = 100_000

// An owner is who uses a session.
type owner struct{ subject, tenant string }

// owners keep a session to the caller who used it first, which is right after the server
// made it up: to know its id is not enough for anybody else. Its zero value is ready.
type owners struct {
	mu sync.Mutex
	of map[string]owner
}

// errNotTheirs is what a server says of a session that isn't there.
var errNotTheirs = notTheirs{}

type notTheirs struct{}

func (notTheirs) Error() string { return "the session is another caller's" }

// StatusCode is for the proxy.
func (notTheirs) StatusCode() int { return http.StatusNotFound }

// guard returns a caller function that refuses another caller's session.
func (o *owners) guard(caller func(*http.Request) (policy.Caller, error)) func(*http.Request) (policy.Caller, error) {
	return func(r *http.Request) (policy.Caller, error) {
		c, err := caller(r)
		if err != nil {
			return c, err
		}
		for _, session := range r.Header.Values("Mcp-Session-Id") {
			if !o.uses(session, owner{c.Subject, c.Tenant}) {
				return policy.Caller{}, errNotTheirs
			}
		}
		return c, nil
	}
}

func (o *owners) uses(session string, who owner) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if first, known := o.of[session]; known {
		return first == who
	}
	if o.of == nil {
		o.of = map[string]owner{}
	}
	if len(o.of) >= maxSessions {
		for any := range o.of { // some old one, whose next user is then its first
			delete(o.of, any)
			break
		}
	}
	o.of[session] = who
	return true
}
