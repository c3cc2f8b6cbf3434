package generate

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxText is the greatest length of a text, in characters.
const maxText = 4096

// formats has a value of each format that JSON Schema knows, and edges of it.
var formats = map[string][]string{
	"date-time":             {"2026-01-31T12:00:00Z", "1970-01-01T00:00:00Z", "2026-01-31T12:00:00.123+14:00"},
	"date":                  {"2026-01-31", "1970-01-01", "2024-02-29"},
	"time":                  {"12:00:00Z", "00:00:00+00:00"},
	"duration":              {"P1D", "PT1S"},
	"email":                 {"someone@example.com", "someone@example.org"},
	"idn-email":             {"someone@example.com"},
	"hostname":              {"example.com", "localhost"},
	"idn-hostname":          {"example.com"},
	"ipv4":                  {"192.0.2.1", "127.0.0.1", "169.254.169.254"},
	"ipv6":                  {"2001:db8::1", "::1"},
	"uri":                   {"https://example.com/", "http://127.0.0.1/", "file:///etc/passwd"},
	"url":                   {"https://example.com/", "http://127.0.0.1/"},
	"uri-reference":         {"/path", "https://example.com/"},
	"iri":                   {"https://example.com/"},
	"iri-reference":         {"/path"},
	"uri-template":          {"https://example.com/{id}"},
	"uuid":                  {"00000000-0000-4000-8000-000000000000"},
	"json-pointer":          {"/a", ""},
	"relative-json-pointer": {"0/a"},
	"regex":                 {"^a$"},
	"byte":                  {"YQ=="},
}

// texts returns the plainest text of a schema, and those at the edges.
func texts(n node) []any {
	if pattern, ok := n["pattern"].(string); ok {
		if s, ok := matching(pattern, integer(n["minLength"], 0)); ok {
			return []any{s}
		}
	}
	if format, ok := n["format"].(string); ok && len(formats[format]) > 0 {
		var out []any
		for _, s := range formats[format] {
			out = append(out, s)
		}
		return out
	}
	least := min(integer(n["minLength"], 0), maxText)
	most := min(integer(n["maxLength"], maxText), maxText)
	var out []any
	add := func(s string) {
		if l := len([]rune(s)); l >= least && l <= most {
			out = append(out, s)
		}
	}
	plain := "text"
	if len(plain) < least {
		plain += strings.Repeat("x", least-len(plain))
	}
	if len(plain) > most {
		plain = plain[:most]
	}
	add(plain)
	add(strings.Repeat("a", least))
	if _, bounded := n["maxLength"]; bounded {
		add(strings.Repeat("a", most))
	} else {
		add(strings.Repeat("a", max(least, 300)))
	}
	for _, s := range []string{" ", "0", "../x", "/etc/passwd", "https://example.com/", "someone@example.com", "näïve ☃", "-x", "a;b", "line\nline"} {
		add(s)
	}
	if len(out) == 0 {
		out = append(out, plain)
	}
	return out
}

// hintedTexts are the hints that are texts: whole, at the start and at the end.
func (m *maker) hintedTexts(n node) []any {
	if n["pattern"] != nil || n["format"] != nil {
		return nil
	}
	most := integer(n["maxLength"], maxText)
	var out []any
	for _, h := range m.hints {
		s, ok := h.(string)
		if !ok || s == "" {
			continue
		}
		for _, v := range []string{s, s + "x", "x" + s, strings.ToUpper(s)} {
			if l := len([]rune(v)); l <= most && l >= integer(n["minLength"], 0) {
				out = append(out, v)
			}
		}
	}
	return out
}

// matching returns a short text that matches a pattern, of at least so many characters.
func matching(pattern string, least int) (string, bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	check, err := regexp.Compile(pattern)
	if err != nil {
		return "", false
	}
	for _, repeat := range []int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256} {
		var b strings.Builder
		shortest(&b, parsed, repeat)
		if s := b.String(); len([]rune(s)) >= least && check.MatchString(s) {
			return s, true
		}
	}
	return "", false
}

// shortest writes what re matches, with repeat more of what may be repeated.
func shortest(b *strings.Builder, re *syntax.Regexp, repeat int) {
	if b.Len() > maxText {
		return
	}
	times := func(n int) {
		for range n {
			shortest(b, re.Sub[0], repeat)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(oneOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpStar:
		times(repeat)
	case syntax.OpPlus:
		times(1 + repeat)
	case syntax.OpQuest:
		times(min(repeat, 1))
	case syntax.OpRepeat:
		n := re.Min + repeat
		if re.Max >= 0 {
			n = min(n, re.Max)
		}
		times(n)
	case syntax.OpConcat:
		for _, s := range re.Sub {
			shortest(b, s, repeat)
		}
	case syntax.OpCapture, syntax.OpAlternate:
		shortest(b, re.Sub[0], repeat)
	}
}

// oneOf chooses a character of a class: a plain one if there is one.
func oneOf(ranges []rune) rune {
	for _, plain := range "a0Ab1_-" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= plain && plain <= ranges[i+1] {
				return plain
			}
		}
	}
	if len(ranges) == 0 {
		return 'a'
	}
	return ranges[0]
}
