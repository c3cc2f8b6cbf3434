package decisionlog

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// gramLength is how many bytes of a secret in a message give it away: a message may
// have a part of it, in other letter case.
const gramLength = 6

// maxGrams bounds them. A message about more is replaced as a whole.
const maxGrams = 1 << 16

// shortest is the length from which on a secret is looked for in the middle of other
// arguments.
const shortest = 4

// repeated replaces the secrets that were found anywhere wherever they stand in v, which
// may be changed.
func (m *mask) repeated(at string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = m.repeated(at+"/"+pointerEscaper.Replace(k), e)
		}
		return v
	case []any:
		for i, e := range v {
			v[i] = m.repeated(at+"/"+strconv.Itoa(i), e)
		}
		return v
	case string:
		s := m.exact(v)
		if s != v {
			m.paths = append(m.paths, at)
		}
		return s
	case json.Number:
		if m.seen[string(v)] && len(v) >= shortest {
			m.paths = append(m.paths, at)
			return masked
		}
		return v
	default:
		return v
	}
}

func (m *mask) exact(s string) string {
	if len(s) < shortest {
		if m.seen[strings.TrimSpace(s)] {
			return masked
		}
		return s
	}
	for _, form := range m.forms {
		if strings.Contains(s, form) {
			s = strings.ReplaceAll(s, form, masked)
		}
	}
	return s
}

// forms are the ways in which a secret is commonly written within a text.
func forms(secret string) []string {
	out := []string{secret}
	quoted := strings.Trim(strconv.Quote(secret), `"`)
	if quoted != secret {
		out = append(out, quoted)
	}
	if b, err := json.Marshal(secret); err == nil {
		if s := string(b[1 : len(b)-1]); s != secret && s != quoted {
			out = append(out, s)
		}
	}
	return out
}

// message returns a text that somebody's code made, such as the message of a rule,
// without secrets and without parts of them.
func (m *mask) message(s string) string {
	if s == "" {
		return s
	}
	s = m.exact(m.text(strings.ToValidUTF8(s, "?")))
	if m.overflow {
		return masked
	}
	if len(m.secrets) == 0 {
		return s
	}
	return m.grams(m.words(s))
}

// words replaces secrets that are too short for grams where they stand as a word.
func (m *mask) words(s string) string {
	for _, secret := range m.secrets {
		if len(secret) >= gramLength {
			continue
		}
		for from := 0; ; {
			n := indexFold(s[from:], secret)
			if n < 0 {
				break
			}
			at, end := from+n, from+n+len(secret)
			before, _ := utf8.DecodeLastRuneInString(s[:at])
			after, _ := utf8.DecodeRuneInString(s[end:])
			if isWord(before) || isWord(after) {
				from = at + 1
				continue
			}
			s = s[:at] + masked + s[end:]
			from = at + len(masked)
		}
	}
	return s
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

func indexFold(s, sub string) int {
	return strings.Index(lower(s), lower(sub))
}

// lower folds ASCII letters and keeps the length.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// grams replaces every run of gramLength bytes or more that is part of a secret.
func (m *mask) grams(s string) string {
	known := map[string]bool{}
	for _, secret := range m.secrets {
		l := lower(secret)
		if len(known)+len(l) > maxGrams {
			return masked
		}
		for i := 0; i+gramLength <= len(l); i++ {
			known[l[i:i+gramLength]] = true
		}
	}
	l := lower(s)
	var b strings.Builder
	end := 0
	for i := 0; i+gramLength <= len(l); i++ {
		if !known[l[i:i+gramLength]] {
			continue
		}
		to := i + gramLength
		for to < len(l) && known[l[to-gramLength+1:to+1]] {
			to++
		}
		from := max(end, i)
		for from > end && !utf8.RuneStart(s[from]) {
			from--
		}
		for to < len(s) && !utf8.RuneStart(s[to]) {
			to++
		}
		b.WriteString(s[end:from])
		b.WriteString(masked)
		end, i = to, to-1
	}
	b.WriteString(s[end:])
	return b.String()
}
