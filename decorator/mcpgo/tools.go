package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// tools finds a server's tools where the server itself looks for them.
type tools struct {
	server       string
	compiled     *adapter.Tools
	declarations *adapter.Declarations
	report       func(error)
	first        sync.Once // guards the list that tells the decider which tools there are
	ids          *mcpwire.OwnIDs
}

func newTools(d decorator.Decider, o Options) *tools {
	return &tools{
		server:       o.Server,
		compiled:     adapter.NewTools(d, o.Server, o.Report),
		declarations: adapter.NewDeclarations(d, o.Server, func(note string) { o.report(errors.New(note)) }),
		report:       o.report,
		ids:          mcpwire.NewOwnIDs(),
	}
}

// find returns the tool of that name as it is declared at this moment, an undeclared
// one when there is none. A tool without a handler of the ordinary kind is looked for
// in the server's answer to tools/list: mcp-go shows task tools nowhere else.
func (t *tools) find(ctx context.Context, name string) (*policy.Tool, error) {
	t.first.Do(func() { t.declareAll(ctx) })
	var found *policy.Tool
	if tool, ok := declared(ctx, name); ok {
		found = t.compiled.Declared(name, tool)
	} else if listed, err := t.listed(ctx, name); err != nil || !listed.Known() {
		return listed, err
	} else {
		found = listed
	}
	if !t.declarations.Has(name) {
		t.declarations.Also([]*policy.Tool{found})
	}
	return found, nil
}

// declareAll tells the decider which tools the server has: those that it has for
// everybody, whoever may see them, and those that a list shows.
func (t *tools) declareAll(ctx context.Context) {
	if !t.declarations.Wanted() { // nobody wants to know
		return
	}
	specs, err := t.list(ctx)
	if err != nil {
		t.report(fmt.Errorf("it can't be said which validators will never run: %w", err))
		return
	}
	var all []*policy.Tool
	for name, tool := range server.ServerFromContext(ctx).ListTools() {
		all = append(all, t.compiled.Declared(name, tool.Tool))
	}
	for _, spec := range specs {
		all = append(all, t.compiled.Of(spec))
	}
	t.declarations.Also(all)
}

// hasHandler reports whether a tool has a handler of the ordinary kind, which is run
// with middleware.
func (t *tools) hasHandler(ctx context.Context, name string) bool {
	_, ok := declared(ctx, name)
	return ok
}

// declared looks among the session's tools and then among the server's, as mcp-go does.
func declared(ctx context.Context, name string) (mcp.Tool, bool) {
	if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithTools); ok {
		if tool, ok := session.GetSessionTools()[name]; ok {
			return tool.Tool, true
		}
	}
	if s := server.ServerFromContext(ctx); s != nil {
		if tool := s.GetTool(name); tool != nil {
			return tool.Tool, true
		}
	}
	return mcp.Tool{}, false
}

var errNoServer = errors.New("the context of the call has no mcp-go server, so its tools can't be listed")

// listed returns the tool of that name in the server's list, an undeclared one when
// there is none.
func (t *tools) listed(ctx context.Context, name string) (*policy.Tool, error) {
	specs, err := t.list(ctx)
	for _, spec := range specs {
		if spec.Name == name {
			return t.compiled.Of(spec), nil
		}
	}
	if err != nil {
		return nil, err
	}
	return policy.UndeclaredTool(t.server, name), nil
}

// list asks the server for all of its tools, as a client of this session would. An
// error may come with those that could be read.
func (t *tools) list(ctx context.Context) ([]policy.ToolSpec, error) {
	s := server.ServerFromContext(ctx)
	if s == nil {
		return nil, errNoServer
	}
	pages := mcpwire.NewToolPages(nil, mcpwire.PageLimits{})
	for more := true; more; {
		page, err := ask(ctx, s, pages.Request(t.ids.Next()))
		if err == nil && page == nil { // a server without tools
			return nil, nil
		}
		if err == nil {
			more, err = pages.Add(page)
		}
		if err != nil {
			return nil, fmt.Errorf("the server's tools can't be listed: %w", err)
		}
	}
	specs, err := pages.Specs(t.server)
	if err != nil {
		err = fmt.Errorf("the server's tools can't be listed: %w", err)
	}
	return specs, err
}

// ask returns the result of a request to the server, nil when it has no such method.
func ask(ctx context.Context, s *server.MCPServer, request json.RawMessage) (json.RawMessage, error) {
	raw, err := json.Marshal(s.HandleMessage(ctx, request))
	if err != nil {
		return nil, err
	}
	messages, _ := mcpwire.ReadServer(raw)
	switch {
	case len(messages) != 1:
		return nil, errors.New("the server's answer is no message")
	case messages[0].ErrorCode() == mcpwire.CodeMethodNotFound:
		return nil, nil
	case messages[0].Result == nil:
		return nil, fmt.Errorf("the server answers with error %d", messages[0].ErrorCode())
	}
	return messages[0].Result, nil
}
