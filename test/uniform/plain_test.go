package uniform

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/policy"
)

func reader(s string) io.Reader { return strings.NewReader(s) }

// wrappable are the tools that a handler can be wrapped for.
func wrappable(r row) string {
	switch {
	case r.tool == "broken":
		return "a tool whose schema can't be used is an error when it is wrapped"
	case spec(r.tool).Name == "":
		return "there is no handler of an undeclared tool to be wrapped"
	}
	return ""
}

func fromError(t *testing.T, err error) wire {
	t.Helper()
	if err == nil {
		return wire{ran: true}
	}
	var refused *decorator.RefusedError
	require.ErrorAs(t, err, &refused)
	return wire{code: refused.Decision.Code(), text: err.Error()}
}

func ambient() context.Context { return policy.WithCaller(context.Background(), caller) }

func plain(t *testing.T, f *fixture) func(*testing.T, row) wire {
	handlers := map[string]decorator.Handler[int]{}
	for _, tool := range tools {
		h, err := decorator.Wrap(f.gate, spec(tool.name), func(_ context.Context, a json.RawMessage) (int, error) {
			f.ran(string(a))
			return 1, nil
		})
		require.Equal(t, tool.name == "broken", err != nil)
		handlers[tool.name] = h
	}
	return func(t *testing.T, r row) wire {
		_, err := handlers[r.tool](ambient(), json.RawMessage(r.arguments))
		return fromError(t, err)
	}
}

// readArguments are the arguments of the tool "read" as a Go type.
type readArguments struct {
	Path  string          `json:"path"`
	N     json.Number     `json:"n,omitempty"`
	Limit int             `json:"limit,omitempty"`
	Mode  string          `json:"mode,omitempty"`
	Tags  *[]string       `json:"tags,omitempty"`
	At    string          `json:"at,omitempty"`
	O     json.RawMessage `json:"o,omitempty"`
}

func typed(t *testing.T, f *fixture) func(*testing.T, row) wire {
	handlers := map[string]decorator.Handler[int]{}
	var err error
	for _, tool := range tools {
		if tool.name == "read" {
			handlers[tool.name], err = decorator.WrapTyped(f.gate, spec(tool.name), func(_ context.Context, in readArguments) (int, error) {
				f.ran(written(in))
				return 1, nil
			})
		} else {
			handlers[tool.name], err = decorator.WrapTyped(f.gate, spec(tool.name), func(_ context.Context, in map[string]any) (int, error) {
				f.ran(written(in))
				return 1, nil
			})
		}
		require.Equal(t, tool.name == "broken", err != nil)
	}
	return func(t *testing.T, r row) wire {
		_, err := handlers[r.tool](ambient(), json.RawMessage(r.arguments))
		return fromError(t, err)
	}
}

func written(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func overPOST(t *testing.T, f *fixture) func(*testing.T, row) wire {
	mux := http.NewServeMux()
	for _, tool := range tools {
		h, err := decorator.WrapHTTP(f.gate, spec(tool.name), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			f.ran(string(body))
			if err != nil {
				panic(err)
			}
		}), decorator.HTTPOptions{Caller: func(*http.Request) (policy.Caller, error) { return caller, nil }})
		require.Equal(t, tool.name == "broken", err != nil)
		if err == nil {
			mux.Handle("/"+tool.name, h)
		}
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return func(t *testing.T, r row) wire {
		response, err := http.Post(server.URL+"/"+r.tool, "application/json", reader(r.arguments))
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		if response.StatusCode == http.StatusOK {
			return wire{ran: true}
		}
		var a struct {
			Code    policy.Code
			Message string
		}
		require.NoError(t, json.Unmarshal(body, &a), string(body))
		return wire{code: a.Code, text: a.Message}
	}
}

// enveloped says what no JSON-RPC message can carry.
func enveloped(r row) string {
	if r.arguments != "" && !json.Valid([]byte(r.arguments)) {
		return "the message itself would be no JSON"
	}
	return ""
}

// An era of the protocol, by the version that stands for it.
type era string

const (
	sessions  era = "2025-11-25"
	stateless era = "2026-07-28"
)

// message is the call as JSON-RPC.
func (e era) message(r row) string {
	name, _ := json.Marshal(r.tool)
	arguments := ""
	if r.arguments != "" {
		arguments = `,"arguments":` + r.arguments
	}
	if e == stateless {
		arguments += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + string(name) + arguments + `}}`
}

// read reads the answer to a message, and what its era demands of it.
func (e era) read(t *testing.T, raw []byte) wire {
	t.Helper()
	var m struct {
		Result *struct{ ResultType string }
	}
	require.NoError(t, json.Unmarshal(raw, &m), string(raw))
	if e == stateless && m.Result != nil {
		require.Equal(t, "complete", m.Result.ResultType, string(raw))
	}
	return fromMessage(t, raw)
}

// fromMessage reads the answer to a message.
func fromMessage(t *testing.T, raw []byte) wire {
	t.Helper()
	var m struct {
		Result *struct {
			IsError bool
			Content []struct{ Text string }
			Meta    map[string]struct {
				Refusals []policy.Refusal
			} `json:"_meta"`
		}
		Error *struct {
			Code    int
			Message string
			Data    struct{ Code policy.Code }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &m), string(raw))
	switch {
	case m.Error != nil:
		require.Equal(t, -32602, m.Error.Code, string(raw))
		return wire{code: m.Error.Data.Code, text: m.Error.Message}
	case m.Result == nil:
		require.NoError(t, errors.New("neither result nor error"), string(raw))
	case !m.Result.IsError:
		return wire{ran: true}
	}
	require.Len(t, m.Result.Content, 1, string(raw))
	w := wire{text: m.Result.Content[0].Text}
	if refusals := m.Result.Meta["io.regogate/decision"].Refusals; len(refusals) > 0 {
		w.code = refusals[0].Code
	}
	return w
}
