package regoeval

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
)

// pinFile is where pins are, below a bundle's root, when init wrote them.
const pinFile = "/pinned/data.json"

// pins are the tools of data.pinned.tools, by server and name. A server "" stands for
// every server.
type pins struct {
	tools   []policy.ToolSpec // in the order of data.pinned.tools
	digests map[coverKey]string
	servers map[string]bool
}

var pinDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// readPins reads data.pinned.tools. A pin that can't be read would hold nobody to
// anything, so it is a finding.
func readPins(data map[string]any, at *ast.Location, fs *findings) pins {
	p := pins{digests: map[coverKey]string{}, servers: map[string]bool{}}
	if at != nil {
		at = &ast.Location{File: at.File + pinFile}
	}
	const fix = "write the pins with regogate init"
	pinned, there := data["pinned"]
	if !there {
		return p
	}
	object, isObject := pinned.(map[string]any)
	if _, there := object["tools"]; isObject && !there {
		return p // what an author calls pinned for reasons of their own
	}
	tools, ok := object["tools"].([]any)
	if !ok {
		fs.add(idPins, at, fix, "data.pinned has no list of tools")
		return p
	}
	for i, v := range tools {
		key, digest, err := readPin(v)
		if err == nil && p.digests[key] != "" {
			err = fmt.Errorf("the tool is pinned twice")
		}
		if err != nil {
			fs.add(idPins, at, fix, "data.pinned.tools[%d]: %s", i, err)
			continue
		}
		p.digests[key] = digest
		spec := policy.ToolSpec{Server: key.server, Name: key.tool}
		if schema := v.(map[string]any)["inputSchema"]; schema != nil {
			if spec.InputSchema, err = json.Marshal(schema); err != nil {
				fs.add(idPins, at, fix, "data.pinned.tools[%d]: inputSchema: %s", i, err)
			}
		}
		p.tools = append(p.tools, spec)
		p.servers[key.server] = true
	}
	return p
}

func readPin(v any) (key coverKey, digest string, err error) {
	object, ok := v.(map[string]any)
	if !ok {
		return key, "", fmt.Errorf("not an object")
	}
	name, ok := object["name"].(string)
	if !ok || name == "" {
		return key, "", fmt.Errorf("name: not a non-empty string")
	}
	server, ok := object["server"].(string)
	if !ok && object["server"] != nil {
		return key, "", fmt.Errorf("server: not a string")
	}
	digest, ok = object["digest"].(string)
	if !ok || !pinDigest.MatchString(digest) {
		return key, "", fmt.Errorf("digest: not sha256: and 64 hexadecimal digits")
	}
	return coverKey{server, name}, digest, nil
}

// of returns the pin of one tool: that of its own server before that of every server. A
// server that nobody gave a name could be any of those that are pinned.
func (p pins) of(key coverKey) policy.Pin {
	if key.server == "" {
		return p.ofAny(key.tool)
	}
	pin := policy.Pin{Expected: p.servers[key.server] || p.servers[""]}
	for _, server := range []string{key.server, ""} {
		if d, ok := p.digests[coverKey{server, key.tool}]; ok {
			pin.Digest = d
			break
		}
	}
	return pin
}

// ofAny returns the pin of a tool of an unnamed server: where the pins of several
// servers differ, nobody can say which is meant.
func (p pins) ofAny(tool string) policy.Pin {
	pin := policy.Pin{Expected: len(p.digests) > 0}
	for server := range p.servers {
		d, ok := p.digests[coverKey{server, tool}]
		if ok && pin.Digest != "" && pin.Digest != d {
			return policy.Pin{Expected: true}
		}
		if ok {
			pin.Digest = d
		}
	}
	return pin
}

// PinnedTools returns the tools that are pinned, with their input schemas, in the order
// of the pins. It must not be modified.
func (r *Ruleset) PinnedTools() []policy.ToolSpec { return r.pins.tools }

// Pins returns how many tools the ruleset pins, of all servers together.
func (r *Ruleset) Pins() int { return len(r.pins.digests) }
