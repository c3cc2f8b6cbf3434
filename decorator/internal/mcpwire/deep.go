package mcpwire

import (
	"bytes"
	"encoding/json"
)

// tooDeep is a depth at which the decoder may have given up. Arguments of that depth
// are refused by the gate, if only they can be cut out of their message.
const tooDeep = 1000

// extent returns where the object or array at the beginning of text ends, and how
// deep it is nested. It looks at quotes and brackets only. The end is 0 when there
// is none.
func extent(text []byte) (end, depth int) {
	open := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i)
		case '{', '[':
			open++
			depth = max(depth, open)
		case '}', ']':
			if open--; open <= 0 {
				return i + 1, depth
			}
		}
	}
	return 0, depth
}

// stringEnd returns where the closing quote is of the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++ // skips what is escaped
		}
	}
	return len(text)
}

// hollow returns text with {} in place of s, at the same length, so that the rest of
// the message can be read where it stands.
func hollow(text []byte, s span) []byte {
	copied := bytes.Clone(text)
	inner := copied[s.start:s.end]
	for i := range inner {
		inner[i] = ' '
	}
	copy(inner, "{}")
	return copied
}

func replace(ms []member, name string, raw json.RawMessage) {
	for i := range ms {
		if ms[i].name == name {
			ms[i].raw = raw
		}
	}
}
