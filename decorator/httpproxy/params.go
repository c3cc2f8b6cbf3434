package httpproxy

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

const (
	maxSchemaDepth = 64
	maxBindings    = 10_000 // tools whose bindings are kept
)

// A binding says that an argument is also in a header (x-mcp-header in the schema).
type binding struct {
	path   []string
	header string
}

// bindings keeps what was read from the tools' schemas, by their digests. The zero
// bindings are ready to use.
type bindings struct {
	mu    sync.Mutex
	known map[string][]binding
}

// of returns the bindings of a tool.
func (b *bindings) of(t *policy.Tool) []binding {
	schema, digest := t.Spec().InputSchema, t.Digest()
	// An escape could hide the word, and no schema is without escapes for that reason alone.
	if digest == "" || !bytes.Contains(schema, []byte("x-mcp-header")) && !bytes.Contains(schema, []byte(`\u`)) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if found, ok := b.known[digest]; ok {
		return found
	}
	if b.known == nil || len(b.known) >= maxBindings {
		b.known = map[string][]binding{}
	}
	found := readBindings(schema, nil, nil)
	b.known[digest] = found
	return found
}

// readBindings adds those of an object's properties, and of their properties.
func readBindings(schema json.RawMessage, path []string, found []binding) []binding {
	if len(path) >= maxSchemaDepth {
		return found
	}
	for name, property := range arguments(arguments(schema)["properties"]) {
		members := arguments(property)
		inner := append(path[:len(path):len(path)], name)
		if header, ok := mcpwire.Text(members["x-mcp-header"]); ok && header != "" {
			found = append(found, binding{inner, http.CanonicalHeaderKey(headerParam + header)})
		}
		found = readBindings(property, inner, found)
	}
	return found
}

// parameters compares the Mcp-Param- headers of a call with its arguments. Headers that
// the tool's schema doesn't name are the server's affair.
func (b *bindings) parameters(h http.Header, m *mcpwire.Message, t *policy.Tool, required bool) *problem {
	found := b.of(t)
	if len(found) == 0 {
		return nil
	}
	args := arguments(m.Arguments())
	if args == nil {
		return nil // which the gate refuses
	}
	for _, one := range found {
		header, has := h[one.header]
		value := valueAt(args, one.path)
		switch {
		case value == nil && has:
			return mismatch(m, "an Mcp-Param- header is there for an argument that is not")
		case value == nil, !has && !required:
		case !has:
			return mismatch(m, "an Mcp-Param- header is missing")
		case !sameValue(header[0], value):
			return mismatch(m, "an Mcp-Param- header is not its argument")
		}
	}
	return nil
}

// valueAt returns the argument at a path, nil when it is absent or null.
func valueAt(args map[string]json.RawMessage, path []string) json.RawMessage {
	for _, name := range path[:len(path)-1] {
		args = arguments(args[name])
	}
	if raw := args[path[len(path)-1]]; string(raw) != "null" {
		return raw
	}
	return nil
}

// sameValue compares a header with an argument: texts as they are, numbers as numbers.
func sameValue(header string, raw json.RawMessage) bool {
	text, ok := decoded(header)
	if !ok {
		return false
	}
	switch raw[0] {
	case '"':
		said, ok := mcpwire.Text(raw)
		return ok && said == text
	case 't', 'f':
		return text == string(raw)
	case '{', '[':
		return false
	}
	if text == string(raw) {
		return true
	}
	if !isNumber(text) {
		return false // readers don't agree on 0x1, 1_0 and +1
	}
	// Beyond this, numbers that differ may be one float64.
	const safe = 1<<53 - 1
	a, errA := strconv.ParseFloat(text, 64)
	b, errB := strconv.ParseFloat(string(raw), 64)
	return errA == nil && errB == nil && a == b && math.Abs(a) <= safe && a == math.Trunc(a)
}

// isNumber reports whether a text is a number as JSON writes it.
func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || '0' <= text[0] && text[0] <= '9') && json.Valid([]byte(text)) && text == strings.TrimSpace(text)
}
