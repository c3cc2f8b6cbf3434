package regoeval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gobwas/glob"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

// A Mapping says that a package is meant for tools: those of a server whose name
// matches Server ("" matches every server) and whose own name matches Tool. Both
// are globs in which * matches any characters. Mappings add: a tool gets the
// packages of every mapping that matches, and its own, and the common ones.
type Mapping struct {
	Server  string `json:"server,omitempty"`
	Tool    string `json:"tool"`
	Package string `json:"package"` // as in a package clause: tools["x"], shared.reads
}

// metadata is what a manifest may say under metadata.regogate.
type metadata struct {
	// Common names packages that are evaluated for every tool.
	Common []struct {
		Package string `json:"package"`
	} `json:"common,omitempty"`
	Map      []Mapping `json:"map,omitempty"`
	Builtins []string  `json:"builtins,omitempty"`
	// Sequence grows with each publication; whoever activates bundles looks at it.
	Sequence *int64 `json:"sequence,omitempty"`
	// SettingsCheck names a partial set whose elements say what is wrong with
	// data.settings, for example "starter.settings.problems". It is evaluated once,
	// when the bundle is loaded.
	SettingsCheck string `json:"settings_check,omitempty"`
	// SettingsChecks are those of all bundles together.
	SettingsChecks []settingsCheck `json:"-"`
}

// readMetadata reads metadata.regogate strictly: an unknown member is more likely a
// typing mistake than a wish.
func readMetadata(m bundle.Manifest) (metadata, error) {
	var md metadata
	raw, ok := m.Metadata["regogate"]
	if !ok {
		return md, nil
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return md, fmt.Errorf("metadata.regogate: %w", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	if jsontext.Value(b).Kind() != '{' {
		return md, fmt.Errorf("metadata.regogate: not an object")
	}
	if err := dec.Decode(&md); err != nil {
		return md, fmt.Errorf("metadata.regogate: %w", err)
	}
	return md, nil
}

// checkManifest refuses Rego v0: its deny["msg"] is a map and not a set.
func checkManifest(fs *findings, file string, m bundle.Manifest) {
	fix := "rewrite the policy for Rego v1 (opa fmt --rego-v1) and remove rego_version from .manifest"
	loc := &ast.Location{File: file, Row: 1, Col: 1}
	if v := m.RegoVersion; v != nil && *v != 1 && *v != 2 {
		fs.add(idRegoVersion, loc, fix, "rego_version is %d, only 1 and 2 are accepted", *v)
	}
	for path, v := range m.FileRegoVersions {
		if v != 1 && v != 2 {
			fs.add(idRegoVersion, loc, fix, "file_rego_versions: %s is %d, only 1 and 2 are accepted", path, v)
		}
	}
	if len(m.WasmResolvers) > 0 {
		fs.add(idWasm, loc, "remove wasm from .manifest", "wasm resolvers are not accepted: the wasm engine ignores built-in errors")
	}
}

// packageRef turns the text of a package clause into its path below data.
func packageRef(text string) (ast.Ref, error) {
	ref, err := ast.ParseRef("data." + text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a package path: write it as in a package clause, for example tools[\"fs.read\"]", text)
	}
	if !ref.IsGround() || len(ref) < 2 || slices.ContainsFunc(ref[1:], func(t *ast.Term) bool { _, ok := t.Value.(ast.String); return !ok }) {
		return nil, fmt.Errorf("%q is not a constant package path", text)
	}
	return ref, nil
}

// packageText writes a package's path as an author does in a package clause.
func packageText(ref ast.Ref) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref.String(), "data"), ".")
}

// compiledMapping is a Mapping ready to match.
type compiledMapping struct {
	Mapping
	server, tool *glob.Pattern
	ref          ast.Ref
}

func compileMapping(m Mapping) (compiledMapping, error) {
	if m.Tool == "" || m.Package == "" {
		return compiledMapping{}, fmt.Errorf("a mapping needs tool and package: %+v", m)
	}
	if m.Server == "" {
		m.Server = "*"
	}
	server, err := glob.Compile(m.Server)
	if err != nil {
		return compiledMapping{}, fmt.Errorf("server %q: %w", m.Server, err)
	}
	tool, err := glob.Compile(m.Tool)
	if err != nil {
		return compiledMapping{}, fmt.Errorf("tool %q: %w", m.Tool, err)
	}
	ref, err := packageRef(m.Package)
	if err != nil {
		return compiledMapping{}, err
	}
	return compiledMapping{m, server, tool, ref}, nil
}

func (m compiledMapping) matches(server, tool string) bool {
	return m.server.Match(server) && m.tool.Match(tool)
}
