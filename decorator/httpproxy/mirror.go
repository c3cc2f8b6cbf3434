package httpproxy

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// firstStateless is the first version of the stateless era. Versions are dates, which
// sort as text.
const firstStateless = "2026-07-28"

// mismatch refuses headers that don't say what the body says.
func mismatch(m *mcpwire.Message, message string) *problem {
	f := mcpwire.Fault{Code: codeHeaderMismatch, Message: "Header mismatch: " + message}
	if m.Kind == mcpwire.Request {
		f.ID = m.ID
	}
	return &problem{status: http.StatusBadRequest, fault: f}
}

// mirrored compares the headers of a POST with its body, and says whether the request
// belongs to the stateless era. What a header may leave out is left out; what it says
// has to be true.
func mirrored(h http.Header, m *mcpwire.Message) (stateless bool, pr *problem) {
	if wrong := ambiguous(h); wrong != "" {
		return false, mismatch(m, wrong)
	}
	stateless, wrong := version(h.Get(headerVersion), m)
	if wrong == "" {
		wrong = methodAndName(h, m, stateless && m.Kind == mcpwire.Request)
	}
	if wrong != "" {
		return stateless, mismatch(m, wrong)
	}
	return stateless, nil
}

func version(header string, m *mcpwire.Message) (stateless bool, wrong string) {
	raw := m.Meta(mcpwire.MetaProtocolVersion)
	body, isText := mcpwire.Text(raw)
	stateless = header >= firstStateless || body >= firstStateless
	switch {
	case raw != nil && !isText:
		return stateless, "the protocol version in _meta is not a string"
	case !stateless && (raw == nil || header == ""):
		return false, ""
	case header == "":
		return stateless, "MCP-Protocol-Version is missing"
	case raw == nil && !m.IsCall():
		return stateless, "" // the server says what it makes of that
	case body != header:
		return stateless, "MCP-Protocol-Version is not the protocol version in _meta"
	}
	return stateless, ""
}

func methodAndName(h http.Header, m *mcpwire.Message, required bool) (wrong string) {
	methods, names := h.Values(headerMethod), h.Values(headerName)
	switch {
	case len(methods) == 0 && required:
		return "Mcp-Method is missing"
	case len(methods) > 0 && methods[0] != m.Method:
		return "Mcp-Method is not the body's method"
	}
	said, has := subject(m)
	switch {
	case len(names) == 0 && required && namesSubject(m.Method):
		return "Mcp-Name is missing"
	case len(names) == 0:
		return ""
	}
	name, ok := decoded(names[0])
	if !ok || !has || name != said {
		return "Mcp-Name is not what the body names"
	}
	return ""
}

// namesSubject reports whether requests of a method must have Mcp-Name.
func namesSubject(method string) bool {
	return method == mcpwire.CallTool || method == "prompts/get" || method == "resources/read"
}

// subject returns what a message is about: the member of params that Mcp-Name mirrors.
func subject(m *mcpwire.Message) (string, bool) {
	raw := m.Param("name")
	switch {
	case strings.HasPrefix(m.Method, "resources/"):
		raw = m.Param("uri")
	case strings.HasPrefix(m.Method, "tasks/"):
		raw = m.Param("taskId")
	}
	return mcpwire.Text(raw)
}

const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// decoded returns what a header that may be encoded says.
func decoded(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, encodedPrefix)
	if !ok {
		return value, true
	}
	if inner, ok = strings.CutSuffix(inner, encodedSuffix); !ok {
		return value, true
	}
	text, err := base64.StdEncoding.Strict().DecodeString(inner)
	return string(text), err == nil && !strings.ContainsAny(inner, "\r\n")
}

// arguments returns the members of a call's arguments. What isn't an object has none:
// the gate says so.
func arguments(raw []byte) map[string]json.RawMessage {
	var ms map[string]json.RawMessage
	if json.Unmarshal(raw, &ms) != nil {
		return nil
	}
	return ms
}
