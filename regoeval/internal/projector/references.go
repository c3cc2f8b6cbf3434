package projector

import (
	"net/url"
	"slices"
	"strings"
)

// resolve finds what a reference within the schema refers to.
func (p *projector) resolve(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || p.ids {
		return nil, false
	}
	if pointer, ok = unescaped(pointer); !ok {
		return nil, false
	}
	cur := p.root
	if pointer == "" {
		return cur, true
	}
	if pointer[0] != '/' {
		return nil, false // an anchor
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		m, ok := cur.(object)
		if !ok {
			return nil, false
		}
		if cur, ok = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]; !ok {
			return nil, false
		}
	}
	return cur, true
}

func unescaped(s string) (string, bool) {
	out, err := url.PathUnescape(s)
	return out, err == nil
}

// hasID reports whether something below declares an $id.
func hasID(v any, depth int) bool {
	if depth == 0 {
		return true // not looked at: be careful
	}
	switch v := v.(type) {
	case object:
		if _, ok := v["$id"].(string); ok {
			return true
		}
		for _, e := range v {
			if hasID(e, depth-1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return hasID(e, depth-1) })
	}
	return false
}
