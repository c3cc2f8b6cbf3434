package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/regoeval/internal/typecheck"
)

// A pin is a tool as the bundle's author saw it.
type pin struct {
	server, name, digest, description string
	schema                            any
}

// pins reports tools that aren't as they are pinned, and which rules read what changed.
func (v *verifier) pins() {
	if v.Pinned || len(v.Tools) == 0 {
		return
	}
	pinned := readPins(v.Data())
	if len(pinned) == 0 {
		return
	}
	seen := map[int]bool{}
	for _, t := range v.Tools {
		i := slices.IndexFunc(pinned, func(p pin) bool {
			return p.name == t.Name() && (p.server == t.Server() || p.server == "" || t.Server() == "")
		})
		if i < 0 {
			v.fs.add(Finding{ID: idUnpinned, Severity: Warning, Server: t.Server(), Tool: t.Name(),
				Message: "it is not pinned: nobody has looked at its declaration", Fix: "review it, and pin it with regogate init"}, nil)
			continue
		}
		seen[i] = true
		v.drift(pinned[i], t)
	}
	for i, p := range pinned {
		if !seen[i] {
			v.fs.add(Finding{ID: idPinMissing, Severity: Warning, Server: p.server, Tool: p.name,
				Message: "it is pinned, and no server declares it any more", Fix: "remove its pin and its package, or look for its new name"}, v.packageOf(p.name))
		}
	}
}

func readPins(data map[string]any) []pin {
	object, _ := data["pinned"].(map[string]any)
	tools, _ := object["tools"].([]any)
	var out []pin
	for _, t := range tools {
		m, _ := t.(map[string]any)
		p := pin{schema: m["inputSchema"]}
		p.server, _ = m["server"].(string)
		p.name, _ = m["name"].(string)
		p.digest, _ = m["digest"].(string)
		p.description, _ = m["description_digest"].(string)
		out = append(out, p)
	}
	return out
}

// drift compares one tool with its pin.
func (v *verifier) drift(p pin, t *policy.Tool) {
	f := Finding{ID: idDrift, Severity: Error, Server: t.Server(), Tool: t.Name(), Fix: "review its rules, then accept it with regogate init --update-pins"}
	if p.digest == t.Digest() {
		if p.description != "" && p.description != descriptionDigest(t.Spec().Description) {
			f.Severity = Warning
			f.Message = "its description has changed since it was pinned; its schema hasn't"
			v.fs.add(f, v.packageOf(t.Name()))
		}
		return
	}
	var live any
	if err := util.UnmarshalJSON(t.Spec().InputSchema, &live); err != nil {
		live = nil
	}
	changed := changes(p.schema, live)
	f.Message = "its schema has changed since it was pinned"
	if len(changed) > 0 {
		f.Message += ": " + strings.Join(changed, ", ")
	}
	v.fs.add(f, v.packageOf(t.Name()))
	names := map[string]bool{}
	for _, c := range changed {
		if _, name, ok := strings.Cut(c, " argument "); ok {
			names[name] = true
		}
	}
	v.readers(t, names, f)
}

// readers reports the rules that read changed arguments, as the tool is declared now and
// whatever it declares.
func (v *verifier) readers(t *policy.Tool, changed map[string]bool, f Finding) {
	rules := v.setOf(v.For(t.Server(), t.Name()), "deny")
	open := regoeval.TypeOf(t)
	open.Arguments = anything()
	reads := typecheck.Check(v.Checkable(t.Server(), t.Name()), open, rules).Reads
	for _, rule := range rules {
		var of []string
		for _, path := range reads[rule] {
			if name := argument(path); changed[quote(name)] && !slices.Contains(of, quote(name)) {
				of = append(of, quote(name))
			}
		}
		if len(of) > 0 {
			f.Message = fmt.Sprintf("the rule reads %s, which changed since the tool was pinned", strings.Join(of, ", "))
			f.Fix = "review the rule, then accept the tool with regogate init --update-pins"
			v.fs.add(f, locationOf(rule))
		}
	}
}

// argument returns the name of the argument that a place is in.
func argument(path string) string {
	ref, err := ast.ParseRef(strings.ReplaceAll(path, "[_]", "[0]"))
	if err != nil || len(ref) < 3 || !ref[1].Equal(ast.StringTerm("arguments")) {
		return ""
	}
	name, _ := ref[2].Value.(ast.String)
	return string(name)
}

// changes lists what differs between two schemas, argument by argument.
func changes(before, after any) []string {
	a, b := properties(before), properties(after)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(merged(a, b))) {
		x, inA := a[name]
		y, inB := b[name]
		switch {
		case !inA:
			out = append(out, "new argument "+quote(name))
		case !inB:
			out = append(out, "removed argument "+quote(name))
		case util.Compare(x, y) != 0:
			out = append(out, "changed argument "+quote(name))
		}
	}
	was, is := required(before), required(after)
	for _, name := range slices.Sorted(maps.Keys(merged(was, is))) {
		_, inA := was[name]
		_, inB := is[name]
		if inA != inB && !slices.ContainsFunc(out, func(s string) bool { return strings.HasSuffix(s, " argument "+quote(name)) }) {
			out = append(out, map[bool]string{true: "now required argument ", false: "no longer required argument "}[inB]+quote(name))
		}
	}
	return out
}

func merged(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func properties(schema any) map[string]any {
	m, _ := schema.(map[string]any)
	if p, ok := m["properties"].(map[string]any); ok {
		return p
	}
	return map[string]any{}
}

func required(schema any) map[string]any {
	m, _ := schema.(map[string]any)
	list, _ := m["required"].([]any)
	out := map[string]any{}
	for _, x := range list {
		if s, ok := x.(string); ok {
			out[s] = true
		}
	}
	return out
}

// descriptionDigest is the digest of a description's bytes, as init writes it.
func descriptionDigest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// PinnedTools makes the tools that a source pins.
func PinnedTools(s regoeval.Source, newTool func(policy.ToolSpec) *policy.Tool) ([]*policy.Tool, error) {
	var out []*policy.Tool
	for _, b := range s.Bundles {
		for _, p := range readPins(b.Bundle.Data) {
			schema, err := json.Marshal(p.schema)
			if err != nil {
				return nil, fmt.Errorf("%s: the pin of tool %q: %w", b.Name, p.name, err)
			}
			spec := policy.ToolSpec{Server: p.server, Name: p.name, InputSchema: schema}
			if p.schema == nil {
				spec.InputSchema = nil
			}
			out = append(out, newTool(spec))
		}
	}
	return out, nil
}
