package gosdk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// A knownTool is a tool as it was declared, and how its handler reads numbers.
type knownTool struct {
	tool *policy.Tool
	// inexact finds a number that the handler would not get as it was sent; nil when
	// it gets them all.
	inexact func(arguments []byte) error
}

// serverTools finds a server's tools by asking the server itself.
type serverTools struct {
	o            Options
	compiled     *adapter.Tools
	declarations *adapter.Declarations

	mu sync.RWMutex
	// byPointer has what was made of each declaration. The SDK forbids to modify a
	// tool once it was added, so the same pointer is the same declaration.
	byPointer map[*mcp.Tool]*policy.Tool
}

func newServerTools(d decorator.Decider, o Options) *serverTools {
	return &serverTools{
		o:            o,
		compiled:     adapter.NewTools(d, o.Server, o.Report),
		declarations: adapter.NewDeclarations(d, o.Server, func(note string) { o.report(errors.New(note)) }),
		byPointer:    map[*mcp.Tool]*policy.Tool{},
	}
}

// find returns the tool that a call names as the server declares it at this moment,
// to this caller: an undeclared tool when it doesn't. It looks through all pages, since
// a tool that is declared twice can't be relied on.
func (t *serverTools) find(ctx context.Context, next mcp.MethodHandler, call *mcp.CallToolRequest) (knownTool, error) {
	name := call.Params.Name
	var declared *mcp.Tool
	var unseen []*mcp.Tool
	listed, twice := 0, false
	err := eachPage(func(cursor string) (*mcp.ListToolsResult, error) {
		// A request of its own for each page: middleware may keep or change what it gets.
		req := &mcp.ListToolsRequest{Session: call.Session, Extra: call.Extra, Params: &mcp.ListToolsParams{Meta: listMeta(call.Params.Meta), Cursor: cursor}}
		return listPage(next(ctx, mcpwire.ListTools, req))
	}, func(tool *mcp.Tool) {
		if listed++; tool != nil && tool.Name == name {
			twice = declared != nil
			declared = tool
		}
		if tool != nil && !t.declarations.Has(tool.Name) {
			unseen = append(unseen, tool)
		}
	})
	if err != nil {
		return knownTool{}, fmt.Errorf("the server's tools can't be listed: %w", err)
	}
	t.declare(unseen, listed)
	switch {
	case declared == nil:
		return knownTool{tool: policy.UndeclaredTool(t.o.Server, name)}, nil
	case twice:
		return knownTool{tool: t.compiled.Twice(name)}, nil
	}
	return knownTool{tool: t.of(declared, listed), inexact: t.inexact(declared)}, nil
}

// declare makes ready what the server declares and was not seen before, so that what
// can't be used is reported by the first call, whatever that is to.
func (t *serverTools) declare(unseen []*mcp.Tool, listed int) {
	ready := make([]*policy.Tool, 0, len(unseen))
	for _, tool := range unseen {
		ready = append(ready, t.of(tool, listed))
	}
	t.declarations.Also(ready)
}

// of returns what a declaration was, or is now, made into.
func (t *serverTools) of(declared *mcp.Tool, listed int) *policy.Tool {
	t.mu.RLock()
	tool := t.byPointer[declared]
	t.mu.RUnlock()
	if tool != nil {
		return tool
	}
	tool = t.compiled.Declared(declared.Name, declared)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byPointer) > 2*listed+100 { // most of them are gone from the server
		clear(t.byPointer)
	}
	t.byPointer[declared] = tool
	return tool
}

func (t *serverTools) inexact(declared *mcp.Tool) func([]byte) error {
	if s, ok := declared.InputSchema.(exactSchema); ok {
		return s.inexact
	}
	if t.o.Exact != nil && t.o.Exact(declared.Name) {
		return nil
	}
	return roundedByAddTool
}

// roundedByAddTool finds a number that mcp.AddTool would round.
func roundedByAddTool(arguments []byte) error {
	if err := adapter.Inexact(arguments); err != nil {
		return fmt.Errorf("%w, and a handler added with mcp.AddTool would get another one: add the tool with gosdk.AddTool, or say with gosdk.Exact or Options.Exact that its handler decodes the bytes itself", err)
	}
	return nil
}

// listMeta is what a request of the stateless era has to say for itself, taken from
// the call on whose behalf the tools are listed.
func listMeta(of mcp.Meta) mcp.Meta {
	var meta mcp.Meta
	for _, key := range []string{mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities} {
		if v, ok := of[key]; ok {
			if meta == nil {
				meta = mcp.Meta{}
			}
			meta[key] = v
		}
	}
	return meta
}

// Bounds of one list, as for the proxies.
const (
	maxPages = mcpwire.DefaultPages
	maxTools = mcpwire.DefaultTools
)

// eachPage lists all pages and hands over their tools.
func eachPage(page func(cursor string) (*mcp.ListToolsResult, error), add func(*mcp.Tool)) error {
	cursor, tools := "", 0
	for range maxPages {
		result, err := page(cursor)
		if err != nil {
			return err
		}
		if tools += len(result.Tools); tools > maxTools {
			return fmt.Errorf("there are more than %d tools", maxTools)
		}
		for _, tool := range result.Tools {
			add(tool)
		}
		switch result.NextCursor {
		case "":
			return nil
		case cursor:
			return errors.New("a page names itself as the next one")
		}
		cursor = result.NextCursor
	}
	return fmt.Errorf("there are more than %d pages", maxPages)
}

// listPage makes a page of what a method handler returned.
func listPage(result mcp.Result, err error) (*mcp.ListToolsResult, error) {
	if err != nil {
		return nil, err
	}
	page, ok := result.(*mcp.ListToolsResult)
	if !ok || page == nil {
		return nil, fmt.Errorf("the answer to tools/list is a %T", result)
	}
	return page, nil
}
