package decisionlog

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Masker is what a policy.Ruleset implements whose bundle says what to leave out.
type Masker interface {
	// Mask is asked about one event, as the value that its JSON stands for. It answers
	// with what to do, in this order. An error means that the event must not be recorded.
	Mask(ctx context.Context, event map[string]any) ([]Op, error)
}

// An Op is one element of data.system.log.mask, as OPA has them.
type Op struct {
	Op    string // "remove" or "upsert"
	Path  string // /input or /result, and below, with slashes
	Value any    // of upsert
}

// document is the event as a mask rule sees it.
func (e *Event) document() map[string]any {
	labels, bundles := map[string]any{}, map[string]any{}
	for k, v := range e.Labels {
		labels[k] = v
	}
	for k, v := range e.Bundles {
		bundles[k] = map[string]any{"revision": v.Revision}
	}
	return map[string]any{
		"decision_id": e.DecisionID, "timestamp": e.Timestamp.Format("2006-01-02T15:04:05.999999999Z07:00"),
		"labels": labels, "bundles": bundles, "path": e.Path, "input": e.Input, "result": e.Result,
		"tool": e.Tool, "server": e.Server, "tool_digest": e.ToolDigest, "allowed": e.Allowed, "effective": e.Effective,
		"code": string(e.Code), "mode": string(e.Mode),
	}
}

// Check says why op means nothing, whatever the event.
func (op Op) Check() error {
	parts := strings.Split(op.Path, "/")
	switch {
	case len(parts) < 2 || parts[0] != "":
		return fmt.Errorf("the path %q doesn't begin with a slash", op.Path)
	case op.Op != "remove" && op.Op != "upsert":
		return fmt.Errorf("the op %q is neither remove nor upsert", op.Op)
	case !slices.Contains([]string{"input", "result", "nd_builtin_cache"}, parts[1]):
		return fmt.Errorf("the path %q is below neither /input nor /result", op.Path)
	}
	return nil
}

// apply does what op says to the event. What it takes away counts as a secret. A path
// that isn't there is no error, as in OPA; an operation that means nothing is one.
func (op Op) apply(e *Event, m *mask) error {
	if err := op.Check(); err != nil {
		return fmt.Errorf("data.system.log.mask: %w", err)
	}
	parts := strings.Split(op.Path, "/")
	var root *any
	switch parts[1] {
	case "input":
		root = &e.Input
	case "result":
		root = &e.Result
	default: // nd_builtin_cache: there is none, for nothing in a bundle depends on more than its input
		return nil
	}
	if *root == nil {
		return nil
	}
	done := false
	*root, done = op.edit(*root, parts[2:], m)
	if !done {
		return nil
	}
	if op.Op == "remove" {
		e.Erased = append(e.Erased, op.Path)
	} else {
		e.Masked = append(e.Masked, op.Path)
	}
	return nil
}

// edit returns node with the operation done below it.
func (op Op) edit(node any, path []string, m *mask) (any, bool) {
	if len(path) == 0 {
		m.remember(node)
		if op.Op == "remove" {
			return nil, true
		}
		return op.Value, true
	}
	last := len(path) == 1
	switch node := node.(type) {
	case map[string]any:
		return op.editObject(node, path, last, m)
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(node) {
			return node, false
		}
		if last && op.Op == "remove" {
			m.remember(node[i])
			return slices.Delete(node, i, i+1), true
		}
		done := false
		node[i], done = op.edit(node[i], path[1:], m)
		return node, done
	default:
		return node, false
	}
}

func (op Op) editObject(node map[string]any, path []string, last bool, m *mask) (any, bool) {
	any1 := false
	for _, name := range spellings(path[0]) {
		child, there := node[name]
		if !there {
			continue
		}
		done := true
		if last && op.Op == "remove" {
			m.remember(child)
			delete(node, name)
		} else {
			node[name], done = op.edit(child, path[1:], m)
		}
		any1 = any1 || done
	}
	if !any1 && op.Op == "upsert" && node[path[0]] == nil {
		made, done := op.edit(map[string]any{}, path[1:], &mask{})
		if done {
			node[path[0]] = made
		}
		return node, done
	}
	return node, any1
}

// spellings are the names that a part of a path may stand for: OPA escapes them like
// those of a URL, and authors write JSON Pointers too. A mask that misses because of
// its spelling would let out what it is for.
func spellings(part string) []string {
	out := []string{part}
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if s, err := url.PathUnescape(part); err == nil {
		add(s)
	}
	add(strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	return out
}
