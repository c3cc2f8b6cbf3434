package decisionlog

import "strings"

// A span is a part of a text: text[from:to].
type span struct{ from, to int }

// assignments finds the values that a text gives to secret-like names, whatever language
// it is in: NAME=value, "name": "value", --name=value, <name>value</name>, name%3Dvalue.
func assignments(s string) []span {
	var out []span
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:], "=:>%")
		if n < 0 {
			return out
		}
		at := i + n
		i = at + 1
		value := at + 1
		switch s[at] {
		case '%':
			if !strings.HasPrefix(s[at:], "%3D") && !strings.HasPrefix(s[at:], "%3d") && !strings.HasPrefix(s[at:], "%3A") && !strings.HasPrefix(s[at:], "%3a") {
				continue
			}
			value = at + 3
		case '>':
			if !isTag(s, at) {
				continue
			}
		}
		name := nameBefore(s, at)
		if name == "" || !secretName(name) {
			continue
		}
		v := valueAt(s, value, s[at], name)
		if v.to > v.from {
			out = append(out, v)
		}
		i = max(i, v.to)
	}
	return out
}

// isTag reports whether the > at a place closes a tag that opens something.
func isTag(s string, at int) bool {
	tag := s[max(0, at-longestName):at]
	open := strings.LastIndexByte(tag, '<')
	return open >= 0 && open+1 < len(tag) && tag[open+1] != '/' && !strings.ContainsAny(tag[open:], " \t\r\n\"")
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c >= 0x80
}

// nameBefore returns the name that ends before a place, quotes and spaces aside.
func nameBefore(s string, at int) string {
	end := at
	for end > 0 && at-end < 8 && strings.IndexByte(" \t\"'`\\:]|?+", s[end-1]) >= 0 {
		end--
	}
	from := end
	for from > 0 && end-from < longestName && isNameByte(s[from-1]) {
		from--
	}
	// Names of two words, as in "API key: x".
	if from > 0 && s[from-1] == ' ' {
		word := from - 1
		for word > 0 && from-word < 24 && isNameByte(s[word-1]) {
			word--
		}
		from = word
	}
	return s[from:end]
}

// wholeLine are names of which the rest of the line is the value.
var wholeLine = set("authorization", "cookie", "auth", "bearer")

// valueAt returns the value that begins at a place, without its quotes.
func valueAt(s string, at int, separator byte, name string) span {
	from := at
	for from < len(s) && strings.IndexByte(" \t=:>", s[from]) >= 0 {
		from++
	}
	spaced := from > at
	quote := from
	for quote < len(s) && s[quote] == '\\' {
		quote++
	}
	if quote < len(s) && strings.IndexByte("\"'`", s[quote]) >= 0 {
		return quoted(s, quote+1, s[from:quote+1])
	}
	if from < len(s) && (s[from] == '[' || s[from] == '{') {
		return span{from, bracketed(s, from)}
	}
	stops := " \t\r\n\"'`,;&|<>)}"
	words := splitName(name)
	switch {
	case separator == '>':
		stops = "<"
	case separator == ':' && spaced, len(words) > 0 && wholeLine[words[len(words)-1]]:
		stops = "\r\n\"'`"
	case separator == '%':
		stops += "%"
	}
	n := strings.IndexAny(s[from:], stops)
	if n < 0 {
		return span{from, len(s)}
	}
	return span{from, from + n}
}

// quoted returns what is between a quote and the next one of the same kind. A quote that
// nothing closes takes the rest.
func quoted(s string, from int, quote string) span {
	for i := from; i < len(s); {
		n := strings.Index(s[i:], quote)
		if n < 0 {
			break
		}
		if end := i + n; end == from || s[end-1] != '\\' {
			return span{from, end}
		}
		i += n + len(quote)
	}
	return span{from, len(s)}
}

// bracketed returns where the bracket that opens at a place is closed.
func bracketed(s string, from int) int {
	depth := 0
	for i := from; i < len(s); i++ {
		switch s[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// flags finds the values that follow secret-like flags: --password value.
func flags(s string) []span {
	var out []span
	for i := 0; i < len(s); {
		n := strings.IndexByte(s[i:], '-')
		if n < 0 {
			return out
		}
		at := i + n
		end := at
		for end < len(s) && isNameByte(s[end]) {
			end++
		}
		i = max(at+1, end)
		value := end
		for value < len(s) && (s[value] == ' ' || s[value] == '\t') {
			value++
		}
		starts := at == 0 || strings.IndexByte(" \t\r\n\"'`(=,[", s[at-1]) >= 0
		if !starts || end-at < 3 || value == end || value == len(s) || s[value] == '-' || !secretName(s[at:end]) {
			continue
		}
		v := valueAt(s, value, '=', "")
		out = append(out, v)
		i = max(i, v.to)
	}
	return out
}
