package toolsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// DefaultTimeout is how long a server may take for everything.
const DefaultTimeout = 60 * time.Second

// maxMessage bounds one message of a server.
const maxMessage = 64 << 20

const (
	sessionVersion   = "2025-11-25"
	statelessVersion = "2026-07-28"
	clientInfo       = `{"name":"regogate","version":"0"}`
	initializeParams = `{"protocolVersion":"` + sessionVersion + `","capabilities":{},"clientInfo":` + clientInfo + `}`
	statelessMeta    = `{"` + mcpwire.MetaProtocolVersion + `":"` + statelessVersion + `","` +
		mcpwire.MetaClientInfo + `":` + clientInfo + `,"` + mcpwire.MetaClientCapabilities + `":{}}`
)

// A List is what a server lists.
type List struct {
	Tools []policy.ToolSpec // in the server's order
	// Unreadable names the elements of the list that are no tools; nil when all are.
	Unreadable error
}

// A refusedError is a JSON-RPC error, or an HTTP status, by which a server says no.
type refusedError struct{ what string }

// Error implements error.
func (e refusedError) Error() string { return e.what }

// A conn is one way to a server.
type conn interface {
	// ask sends a request and returns the result. The error is a refusedError when the
	// server answered otherwise.
	ask(ctx context.Context, id, method string, request []byte) (json.RawMessage, error)
	// tell sends a notification.
	tell(ctx context.Context, notification []byte) error
	// begun says in which version the server is spoken to from now on.
	begun(version string)
}

// list begins a session, or finds that there are none, and lists the tools.
func list(ctx context.Context, c conn, server string) (List, error) {
	meta, err := begin(ctx, c)
	if err != nil {
		return List{}, err
	}
	pages := mcpwire.NewToolPages(meta, mcpwire.PageLimits{})
	for n, more := 1, true; more; n++ {
		id := strconv.Quote("tools-" + strconv.Itoa(n))
		result, err := c.ask(ctx, id, mcpwire.ListTools, pages.Request(json.RawMessage(id)))
		if err != nil {
			return List{}, fmt.Errorf("tools/list: %w", err)
		}
		if more, err = pages.Add(result); err != nil {
			return List{}, fmt.Errorf("tools/list: %w", err)
		}
	}
	tools, unreadable := pages.Specs(server)
	if tools == nil && unreadable != nil {
		return List{}, fmt.Errorf("tools/list: %w", unreadable)
	}
	return List{tools, unreadable}, nil
}

// begin returns the _meta of every further request, nil in the era of sessions.
func begin(ctx context.Context, c conn) (json.RawMessage, error) {
	const id = `"initialize"`
	result, err := c.ask(ctx, id, mcpwire.Initialize, []byte(`{"jsonrpc":"2.0","id":`+id+`,"method":"initialize","params":`+initializeParams+`}`))
	if refused := (refusedError{}); errors.As(err, &refused) {
		c.begun(statelessVersion)
		return json.RawMessage(statelessMeta), nil
	}
	if err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	var answer struct {
		Version string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(result, &answer); err != nil || answer.Version == "" {
		return nil, errors.New("initialize: the server's answer has no protocolVersion: it doesn't speak MCP")
	}
	c.begun(answer.Version)
	if err := c.tell(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		return nil, fmt.Errorf("initialized: %w", err)
	}
	return nil, nil
}

// result returns the result of a response, or why there is none.
func result(m mcpwire.ServerMessage) (json.RawMessage, error) {
	if m.Error == nil {
		return m.Result, nil
	}
	var e struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(m.Error, &e) // the code alone says enough
	return nil, refusedError{fmt.Sprintf("the server answered with error %d: %s", m.ErrorCode(), brief(e.Message))}
}

// brief is a stranger's text, short and on one line.
func brief(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// reply answers what a server asks of its client: nothing but that it is there.
func reply(m mcpwire.ServerMessage) []byte {
	if m.ID == nil || m.Method == "" {
		return nil
	}
	if m.Method == mcpwire.Ping {
		return append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...), `,"result":{}}`...)
	}
	return mcpwire.ErrorResponse(m.ID, mcpwire.CodeMethodNotFound, "not supported", nil)
}
