package skeleton

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/regogate/regogate/regoeval/generate"
)

// pinsFile is where the pins are, below a bundle's root: data.pinned.tools.
const pinsFile = "pinned/data.json"

// A pin is what was known of a tool when its rules were written.
type pin struct {
	Server string `json:"server"`
	Name   string `json:"name"`
	// Digest is that of policy.Tool, DescriptionDigest that of the description's
	// bytes: "sha256:" and hexadecimal digits. "" when there is no description.
	Digest            string          `json:"digest"`
	DescriptionDigest string          `json:"description_digest"`
	InputSchema       json.RawMessage `json:"inputSchema"`
}

// A Drift is one difference between a pin and what the server lists now.
type Drift struct {
	Tool string `json:"tool"`
	What string `json:"what"` // changed, vanished, redescribed
	// Arguments that are new, gone or declared otherwise, for people.
	Arguments []string `json:"arguments,omitempty"`
}

// What a Drift can be.
const (
	Changed     = "changed"
	Vanished    = "vanished"
	Redescribed = "redescribed"
)

type key struct{ server, name string }

// pins adds the tools that have no pin, and compares the others.
func (w *writer) pins(o Options, tools []tool) error {
	pinned, before, err := w.readPins()
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, t := range tools {
		now, err := pinOf(t)
		if err != nil {
			w.problem("%s: it can't be pinned: %s", quoted(t.Name), harmless(err.Error(), 300))
		}
		listed[t.Name] = true
		k := key{o.Server, t.Name}
		old, known := pinned[k]
		drift, differs := compare(old, now)
		if known && differs {
			w.report.Drift = append(w.report.Drift, drift)
		}
		if now.Digest == "" {
			continue // it may have been pinned before, and is refused because of it
		}
		if !known || differs && o.UpdatePins {
			pinned[k] = now
			w.report.Pinned = append(w.report.Pinned, t.Name)
		}
	}
	for _, k := range sortedKeys(pinned) {
		if k.server == o.Server && !listed[k.name] {
			w.report.Drift = append(w.report.Drift, Drift{Tool: k.name, What: Vanished})
			if o.UpdatePins {
				delete(pinned, k)
				if w.existing[k.name] {
					w.note(fmt.Sprintf("the package of %s stays: remove it when the tool won't come back", quoted(k.name)))
				}
			}
		}
	}
	w.report.Updated = o.UpdatePins
	slices.SortFunc(w.report.Drift, func(a, b Drift) int { return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.What, b.What)) })
	content, err := writePins(pinned)
	if err != nil {
		return err
	}
	if bytes.Equal(content, before) {
		return nil
	}
	return w.replace(pinsFile, content)
}

func sortedKeys(m map[key]pin) []key {
	return slices.SortedFunc(maps.Keys(m), func(a, b key) int {
		return cmp.Or(strings.Compare(a.server, b.server), strings.Compare(a.name, b.name))
	})
}

// pinOf pins a tool as it is declared now. What has no canonical form has no pin.
func pinOf(t tool) (pin, error) {
	p := pin{Server: t.Server, Name: t.Name, Digest: t.ready.Digest()}
	if t.Description != "" {
		sum := sha256.Sum256([]byte(t.Description))
		p.DescriptionDigest = "sha256:" + hex.EncodeToString(sum[:])
	}
	switch {
	case t.Broken != nil:
		p.Digest = ""
		return p, t.Broken
	case p.Digest == "":
		return p, errors.New("its declaration has no canonical form")
	}
	p.InputSchema = json.RawMessage("null")
	if len(t.InputSchema) > 0 {
		p.InputSchema = slices.Clone(t.InputSchema)
	}
	return p, nil
}

// compare says how a tool differs from its pin.
func compare(old, now pin) (Drift, bool) {
	switch {
	case old.Digest != now.Digest:
		return Drift{Tool: old.Name, What: Changed, Arguments: differences(old.InputSchema, now.InputSchema)}, true
	case old.DescriptionDigest != now.DescriptionDigest:
		return Drift{Tool: old.Name, What: Redescribed}, true
	default:
		return Drift{}, false
	}
}

// differences lists the arguments that two schemas declare differently.
func differences(old, now json.RawMessage) []string {
	const most = 500
	before, _, err1 := generate.Shape(old, most)
	after, _, err2 := generate.Shape(now, most)
	if err1 != nil || err2 != nil {
		return nil
	}
	byPath := map[string]generate.Property{}
	for _, p := range before {
		byPath[argument(p.Path)] = p
	}
	var out []string
	for _, p := range after {
		was, known := byPath[argument(p.Path)]
		delete(byPath, argument(p.Path))
		switch {
		case !known:
			out = append(out, argument(p.Path)+" is new")
		case was.Type != p.Type || was.Required != p.Required:
			out = append(out, fmt.Sprintf("%s was %s, is %s", argument(p.Path), kind(was), kind(p)))
		}
	}
	for _, gone := range slices.Sorted(maps.Keys(byPath)) {
		out = append(out, gone+" is gone")
	}
	const shown = 20
	if len(out) > shown {
		out = append(out[:shown], fmt.Sprintf("and %d more", len(out)-shown))
	}
	return out
}

func kind(p generate.Property) string {
	s := harmless(p.Type, 80)
	if p.Required {
		s += ", required"
	}
	return s
}
