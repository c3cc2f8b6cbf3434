package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/regogate/regogate/policy/internal/inputschema"
	"github.com/regogate/regogate/policy/strictjson"
)

// A ToolSpec is a tool as its server declares it: one element of a tools/list
// result, and the name that the configuration gives to that server.
type ToolSpec struct {
	Server      string          // from configuration, never what the server says of itself; "" when unknown
	Name        string          // exact, case-sensitive
	Title       string          // for people; untrusted
	Description string          // what the server says that the tool does; untrusted, and no part of any decision
	Annotations json.RawMessage // a JSON object of the server's hints, untrusted; nil when absent
	InputSchema json.RawMessage // a JSON Schema; nil or absent makes the tool schema_unusable unless NoSchema
	// NoSchema says that there is no schema to check, on purpose: validators still
	// run on the strictly parsed arguments.
	NoSchema bool
	// OutputSchema says that the tool declares what its results look like, so that a
	// refusal must not carry structured content.
	OutputSchema bool
	// Broken says why the declaration can't be relied on; nil when it can. A broken
	// tool refuses its calls.
	Broken error
}

// A Tool is a [ToolSpec] made ready: its schema compiled, its digest taken. It is
// immutable and safe for concurrent use. The zero Tool, and nil, are unknown tools.
type Tool struct {
	known       bool
	unlearned   error // why the server's tools are not known; nil when they are
	spec        ToolSpec
	annotations map[string]any
	plain       bool // neither they nor the schema hold an extreme number
	schema      *inputschema.Schema
	schemaErr   error
	digest      string
}

// UndeclaredTool describes a tool that the server does not declare: calls to it are refused.
func UndeclaredTool(server, name string) *Tool {
	return &Tool{spec: ToolSpec{Server: server, Name: name}}
}

// UnlearnedTool describes a tool of a server whose tools could not be learned, so that
// nobody can say whether it exists: calls to it are refused as not_ready, and why is
// what the operator reads.
func UnlearnedTool(server, name string, why error) *Tool {
	if why == nil {
		why = errors.New("the server's tools are not known")
	}
	return &Tool{spec: ToolSpec{Server: server, Name: name}, unlearned: why}
}

// newTool never fails: a tool whose declaration can't be used refuses its calls, and
// [Tool.SchemaErr] says why.
func newTool(spec ToolSpec, o inputschema.Options) *Tool {
	t := &Tool{known: true, spec: spec, annotations: map[string]any{}, plain: true}
	t.digest, t.schemaErr = digest(spec)
	if spec.Broken != nil {
		t.schemaErr = errors.Join(fmt.Errorf("tool %q: %w", spec.Name, spec.Broken), t.schemaErr)
	}
	if len(spec.Annotations) > 0 {
		a, traits, err := strictjson.ReadObject(spec.Annotations, strictjson.Limits{})
		t.plain = err == nil && !traits.Extreme
		if err != nil {
			t.schemaErr = errors.Join(t.schemaErr, fmt.Errorf("tool %q: annotations: %w", spec.Name, err))
		} else {
			t.annotations = a
		}
	}
	if spec.NoSchema {
		return t
	}
	if len(spec.InputSchema) == 0 {
		t.schemaErr = errors.Join(t.schemaErr, fmt.Errorf("tool %q declares no inputSchema: ask its server's authors for one, or turn the check off with schema.enforce", spec.Name))
		return t
	}
	s, err := inputschema.Compile(spec.InputSchema, o)
	if err != nil {
		t.schemaErr = errors.Join(t.schemaErr, fmt.Errorf("tool %q: inputSchema: %w", spec.Name, err))
		return t
	}
	t.schema = s
	t.plain = t.plain && !s.Extreme()
	return t
}

// Name returns the tool's name, "" for nil.
func (t *Tool) Name() string {
	if t == nil {
		return ""
	}
	return t.spec.Name
}

// Server returns the configured name of the tool's server, "" when unknown.
func (t *Tool) Server() string {
	if t == nil {
		return ""
	}
	return t.spec.Server
}

// Spec returns the declaration that the tool was made of. Its bytes must not be modified.
func (t *Tool) Spec() ToolSpec {
	if t == nil {
		return ToolSpec{}
	}
	return t.spec
}

// Known reports whether the server declares the tool.
func (t *Tool) Known() bool { return t != nil && t.known }

// Unlearned says why nobody knows whether the server declares the tool, nil when that
// is known; see [UnlearnedTool].
func (t *Tool) Unlearned() error {
	if t == nil {
		return nil
	}
	return t.unlearned
}

// SchemaErr says why the tool's declaration can't be used; nil when it can.
func (t *Tool) SchemaErr() error {
	if t == nil {
		return nil
	}
	return t.schemaErr
}

// Digest identifies the declaration: "sha256:" and the SHA-256, in hexadecimal, of
// the canonical JSON (RFC 8785) of {"inputSchema": …, "name": …}. "" when the
// schema is not JSON that has a canonical form.
func (t *Tool) Digest() string {
	if t == nil {
		return ""
	}
	return t.digest
}

// hints are the server's annotations, nil for nil.
func (t *Tool) hints() map[string]any {
	if t == nil {
		return nil
	}
	return t.annotations
}

func digest(spec ToolSpec) (string, error) {
	schema := spec.InputSchema
	if len(schema) == 0 {
		schema = json.RawMessage("null")
	}
	name, err := json.Marshal(spec.Name)
	if err != nil {
		return "", fmt.Errorf("tool %q: name: %w", spec.Name, err)
	}
	v := jsontext.Value(`{"inputSchema":` + string(schema) + `,"name":` + string(name) + `}`)
	if err := v.Canonicalize(); err != nil {
		return "", fmt.Errorf("tool %q: inputSchema has no canonical form: %w", spec.Name, err)
	}
	sum := sha256.Sum256(v)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
