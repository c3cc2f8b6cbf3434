package gosdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

const (
	// minFresh is how long a list is relied on in the stateless era, whatever the
	// server says: many say "not at all", which would double the cost of each call.
	minFresh = 10 * time.Second
	// listTimeout bounds one list, all pages together.
	listTimeout = 30 * time.Second
	// maxLists is how often one call has a list asked for again because the server
	// said meanwhile that its tools had changed.
	maxLists = 3
	// maxFresh keeps a number of milliseconds from overflowing a Duration.
	maxFresh = 365 * 24 * time.Hour
)

// sessions has what is known of the tools of each session's server, as long as the
// session is in use.
type sessions struct {
	o       ClientOptions
	decider decorator.Decider

	mu       sync.Mutex
	byID     map[weak.Pointer[mcp.ClientSession]]*sessionTools
	declared map[string]*adapter.Declarations // by the server's name, which several sessions may have
}

func newSessions(d decorator.Decider, o ClientOptions) *sessions {
	return &sessions{
		o:        o,
		decider:  d,
		byID:     map[weak.Pointer[mcp.ClientSession]]*sessionTools{},
		declared: map[string]*adapter.Declarations{},
	}
}

// changed says that the tools of a session's server are no longer what is known of
// them, if anything is.
func (s *sessions) changed(cs *mcp.ClientSession) {
	s.mu.Lock()
	t := s.byID[weak.Make(cs)]
	s.mu.Unlock()
	if t != nil {
		t.changed()
	}
}

// of returns what is known of a session's tools.
func (s *sessions) of(cs *mcp.ClientSession) *sessionTools {
	key := weak.Make(cs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.byID[key]; t != nil {
		return t
	}
	server := s.o.Server
	if s.o.ServerOf != nil {
		server = s.o.ServerOf(cs)
	}
	declared := s.declared[server]
	if declared == nil {
		declared = adapter.NewDeclarations(s.decider, server, func(note string) { adapter.Report(s.o.Report, errors.New(note)) })
		s.declared[server] = declared
	}
	t := &sessionTools{
		server:       server,
		compiled:     adapter.NewTools(s.decider, server, s.o.Report),
		declarations: declared,
		turn:         make(chan struct{}, 1),
		knownAt:      -1,
	}
	s.byID[key] = t
	runtime.AddCleanup(cs, s.forget, key)
	return t
}

func (s *sessions) forget(key weak.Pointer[mcp.ClientSession]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, key)
}

// sessionTools are the tools of one session's server.
type sessionTools struct {
	server       string
	compiled     *adapter.Tools
	declarations *adapter.Declarations
	turn         chan struct{} // holds one token while the server is being asked

	mu      sync.Mutex
	tools   map[string]*policy.Tool
	changes int       // how often the server said that its tools changed
	knownAt int       // value of changes when the list in force was asked for; -1 before the first
	expires time.Time // of the list in force; zero if it doesn't
	begun   int       // lists asked for so far
	inForce int       // which of them is in force
}

// changed says that the list in force is no longer the server's.
func (t *sessionTools) changed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
}

// fresh reports whether the list in force may be relied on. The lock is held.
func (t *sessionTools) fresh() bool {
	return t.knownAt == t.changes && (t.expires.IsZero() || time.Now().Before(t.expires))
}

// find returns the tool that a call names, an undeclared one when the server has
// none of that name. It asks the server where what is known isn't enough.
func (t *sessionTools) find(ctx context.Context, next mcp.MethodHandler, call outgoing) (*policy.Tool, error) {
	name := call.params.Name
	t.mu.Lock()
	tool, ok := t.tools[name]
	ok = ok && t.fresh()
	arrived := t.begun
	t.mu.Unlock()
	if ok {
		return tool, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for range maxLists {
		t.mu.Lock()
		tool, ok := t.tools[name]
		// A list that was asked for since the call came says whether there is the tool.
		answered := t.fresh() && (ok || t.inForce > arrived)
		t.mu.Unlock()
		switch {
		case answered && ok:
			return tool, nil
		case answered:
			return policy.UndeclaredTool(t.server, name), nil
		}
		if err := t.learn(ctx, next, call); err != nil {
			return nil, fmt.Errorf("the server's tools can't be listed: %w", err)
		}
	}
	return nil, errors.New("the server's tools can't be listed: they change each time they are")
}

// learn asks the server for its tools. The turn is held.
func (t *sessionTools) learn(ctx context.Context, next mcp.MethodHandler, call outgoing) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	t.mu.Lock()
	t.begun++
	changes, run := t.changes, t.begun
	t.mu.Unlock()
	tools := map[string]*policy.Tool{}
	ttl := maxFresh
	meta := listMeta(call.params.Meta)
	err := eachPage(func(cursor string) (*mcp.ListToolsResult, error) {
		req := &mcp.ClientRequest[mcp.Params]{Session: call.session, Params: &mcp.ListToolsParams{Meta: meta, Cursor: cursor}}
		page, err := listPage(next(ctx, mcpwire.ListTools, req))
		if failure := (*jsonrpc.Error)(nil); errors.As(err, &failure) && failure.Code == jsonrpc.CodeMethodNotFound {
			return &mcp.ListToolsResult{}, nil // a server without tools
		}
		if err == nil {
			ttl = min(ttl, time.Duration(min(max(page.TTLMs, 0), int(maxFresh.Milliseconds())))*time.Millisecond)
		}
		return page, err
	}, func(tool *mcp.Tool) {
		if tool == nil {
			return
		}
		if tools[tool.Name] != nil {
			tools[tool.Name] = t.compiled.Twice(tool.Name)
			return
		}
		tools[tool.Name] = t.declared(tool)
	})
	if err != nil {
		return err
	}
	t.declarations.Also(slices.Collect(maps.Values(tools)))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tools, t.knownAt, t.inForce = tools, changes, run
	t.expires = time.Time{}
	if _, stateless := meta[mcp.MetaKeyProtocolVersion]; stateless {
		t.expires = time.Now().Add(max(ttl, minFresh))
	}
	return nil
}

// declared makes a tool of what the SDK has decoded of a declaration, unless the SDK
// may have changed it by that.
func (t *sessionTools) declared(tool *mcp.Tool) *policy.Tool {
	if largeNumber(tool.InputSchema) {
		return t.compiled.Broken(tool.Name, errors.New("inputSchema: it has a number of 2^53 or more, which the SDK's client doesn't pass on exactly: gate this server with the proxy instead"))
	}
	return t.compiled.Declared(tool.Name, tool)
}

// largeNumber reports whether a decoded schema has a number that may be another one
// than the server sent.
func largeNumber(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.Abs(v) >= 1<<53
	case []any:
		for _, e := range v {
			if largeNumber(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if largeNumber(e) {
				return true
			}
		}
	}
	return false
}
