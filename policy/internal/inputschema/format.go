package inputschema

import (
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A format says whether a string is of it.
type format struct {
	text    string // that says what is wanted
	accepts func(string) bool
}

// newFormat returns the engine's format, made stricter where the engine takes too much.
func newFormat(f *jsonschema.Format) *format {
	engines := func(s string) bool { return f.Validate(s) == nil }
	accepts := engines
	switch f.Name {
	case "regex":
		// Not compiled: a pattern of a few characters can take megabytes.
		accepts = isPattern
	case "email":
		accepts = func(s string) bool { return isAddress(s) && engines(s) }
	case "hostname":
		accepts = func(s string) bool { return !strings.HasSuffix(s, ".") && engines(s) }
	case "ipv4":
		accepts = func(s string) bool { return !strings.ContainsAny(s, "+-") && engines(s) }
	case "uri", "uri-reference":
		accepts = func(s string) bool { return isURIText(s, false) && oneHost(s) && engines(s) }
	case "iri", "iri-reference":
		accepts = func(s string) bool { return isURIText(s, true) && oneHost(s) && engines(s) }
	}
	return &format{formatText(f.Name), accepts}
}

func isPattern(s string) bool {
	_, err := syntax.Parse(s, syntax.Perl)
	return err == nil
}

// isAddress refuses what the engine takes for an e-mail address: one without a local
// part, and quoted control characters.
func isAddress(s string) bool {
	return !strings.HasPrefix(s, "@") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// isURIText reports whether s has only the characters of RFC 3986, or with
// international those of RFC 3987, and each % has its two digits.
func isURIText(s string, international bool) bool {
	for i, r := range s {
		switch {
		case r == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		case r >= 0x80:
			// C1 controls and the replacement of invalid bytes are no characters of text.
			if !international || r < 0xa0 || r == 0xfffd {
				return false
			}
		case !strings.ContainsRune("-._~:/?#[]@!$&'()*+,;=", r):
			return false
		}
	}
	return true
}

// oneHost reports whether readers can agree about the host of a URI: whether there is
// at most one @ before it, and no bracket in the path. Brackets in a query are common,
// though not by RFC 3986, and mislead nobody about the host.
func oneHost(s string) bool {
	authority, rest := "", s
	if _, after, ok := strings.Cut(s, "//"); ok {
		end := strings.IndexAny(after, "/?#")
		if end < 0 {
			end = len(after)
		}
		authority, rest = after[:end], after[end:]
	}
	path, _, _ := strings.Cut(rest, "#")
	path, _, _ = strings.Cut(path, "?")
	return strings.Count(authority, "@") <= 1 && !strings.ContainsAny(path, "[]")
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
