package identity

import "strings"

// pointAt returns a WWW-Authenticate value with the URL in place of those of its
// resource_metadata parameters, and the last of those. Everything else stays as it is.
func pointAt(challenge, metadata string) (pointed, was string) {
	var b strings.Builder
	for i := 0; i < len(challenge); {
		if challenge[i] == '"' {
			end := quotedEnd(challenge, i)
			b.WriteString(challenge[i:end])
			i = end
			continue
		}
		end := i
		for end < len(challenge) && isTokenByte(challenge[end]) {
			end++
		}
		if end == i {
			b.WriteByte(challenge[i])
			i++
			continue
		}
		word := challenge[i:end]
		b.WriteString(word)
		i = end
		if !strings.EqualFold(word, "resource_metadata") {
			continue
		}
		value := skipSpaces(challenge, end)
		if value == len(challenge) || challenge[value] != '=' {
			continue
		}
		b.WriteString(`="` + metadata + `"`)
		start := skipSpaces(challenge, value+1)
		i = valueEnd(challenge, start)
		was = unquoted(challenge[start:i])
	}
	return b.String(), was
}

// unquoted is what a token or a quoted string says.
func unquoted(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	var b strings.Builder
	for i := 1; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// quotedEnd is where a quoted string ends that begins at i.
func quotedEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

func valueEnd(s string, i int) int {
	if i < len(s) && s[i] == '"' {
		return quotedEnd(s, i)
	}
	for i < len(s) && s[i] != ',' && s[i] != ' ' && s[i] != '\t' {
		i++
	}
	return i
}

func skipSpaces(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

func isTokenByte(c byte) bool { return isToken(string(c)) }
