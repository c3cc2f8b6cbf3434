package httpproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

type ctx = context.Context

const (
	learnBytes = mcpwire.DefaultListBytes // of an answer to the gate's own question
	errorBytes = 64 << 10                 // of one that is an error
)

// A statusError says that the server answered the gate's own question with an HTTP
// error, which may be for the client to see.
type statusError struct {
	status    int
	challenge []string // WWW-Authenticate
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answers tools/list with HTTP status %d", e.status)
}

// ask puts a question of the gate's own to the server, for one list.
func (p *Proxy) ask(c ctx, t *toolList, id json.RawMessage, request []byte, stateless bool) (mcpwire.ServerMessage, error) {
	if t.caller != nil {
		c = policy.WithCaller(c, *t.caller)
	}
	req, err := http.NewRequestWithContext(c, http.MethodPost, p.o.Upstream.String(), bytes.NewReader(request))
	if err != nil {
		return mcpwire.ServerMessage{}, err
	}
	t.mu.Lock()
	version := t.version
	t.mu.Unlock()
	req.Header = t.headers.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if version != "" {
		req.Header.Set(headerVersion, version)
	}
	if stateless {
		req.Header.Set(headerMethod, mcpwire.ListTools)
	}
	if t.key.scope == ofSession {
		req.Header.Set(headerSession, t.key.name)
	}
	res, err := p.transport.RoundTrip(req)
	if err != nil {
		return mcpwire.ServerMessage{}, fmt.Errorf("tools/list: %w", err)
	}
	defer res.Body.Close()
	return p.readAnswer(t, res, id)
}

// readAnswer finds the answer to the gate's question with that id.
func (p *Proxy) readAnswer(t *toolList, res *http.Response, id json.RawMessage) (mcpwire.ServerMessage, error) {
	if res.StatusCode/100 != 2 {
		body, err := io.ReadAll(io.LimitReader(res.Body, errorBytes))
		if m, ok := t.answerIn(body, id); err == nil && ok && m.ErrorCode() == mcpwire.CodeMethodNotFound {
			return m, nil
		}
		return mcpwire.ServerMessage{}, &statusError{res.StatusCode, res.Header.Values("Www-Authenticate")}
	}
	body := io.LimitReader(res.Body, learnBytes)
	if mediaType(res.Header) != eventStreamType {
		all, err := io.ReadAll(body)
		if err != nil {
			return mcpwire.ServerMessage{}, fmt.Errorf("tools/list: %w", err)
		}
		if m, ok := t.answerIn(all, id); ok {
			return m, nil
		}
		return mcpwire.ServerMessage{}, errors.New("the server's answer to tools/list is not one")
	}
	var found *mcpwire.ServerMessage
	events := newEvents(body, learnBytes)
	for found == nil {
		_, err := events.next(func(event []byte) {
			if m, ok := t.answerIn(eventData(event), id); ok {
				found = &m
			}
		})
		switch {
		case found != nil:
			return *found, nil
		case errors.Is(err, io.EOF):
			return mcpwire.ServerMessage{}, errors.New("the server ended its stream without answering tools/list")
		case err != nil:
			return mcpwire.ServerMessage{}, fmt.Errorf("tools/list: %w", err)
		}
	}
	return *found, nil
}

// answerIn finds the answer with that id in what the server says, and takes note of
// what else is there.
func (t *toolList) answerIn(text []byte, id json.RawMessage) (mcpwire.ServerMessage, bool) {
	messages, _ := mcpwire.ReadServer(bytes.Clone(text))
	for _, m := range messages {
		switch {
		case m.Method == mcpwire.ToolsListChanged:
			t.box.Changed()
		case m.IsResponse() && mcpwire.IDText(m.ID) == mcpwire.IDText(id):
			return m, true
		}
	}
	return mcpwire.ServerMessage{}, false
}
