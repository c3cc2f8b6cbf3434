package inputschema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// place returns the JSON Pointer made of tokens that lead into v, without undeclared
// names.
func (s *Schema) place(v any, tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		if b.Len()+1+len(t) > s.options.MaxMessage {
			break // its container is near enough
		}
		shown := "*"
		switch c := v.(type) {
		case map[string]any:
			if s.graph.declared[t] {
				shown = escapeToken(t)
			}
			v = c[t]
		case []any:
			i, err := strconv.Atoi(t)
			if err != nil || i < 0 || i >= len(c) {
				v = nil
				break
			}
			shown = strconv.Itoa(i)
			v = c[i]
		}
		if b.Len()+1+len(shown) > s.options.MaxMessage {
			break // escaping made it longer
		}
		b.WriteByte('/')
		b.WriteString(shown)
	}
	return b.String()
}

// limited sorts violations, leaves out repetitions, and bounds their number and size.
// If some don't fit, the last one says how many.
func (s *Schema) limited(found []Violation) []Violation {
	for i := range found {
		found[i].Message = cut(found[i].Message, s.options.MaxMessage)
	}
	slices.SortFunc(found, func(x, y Violation) int {
		return cmp.Or(cmp.Compare(x.Pointer, y.Pointer), cmp.Compare(x.Message, y.Message))
	})
	found = slices.Compact(found)
	if keep := s.options.MaxViolations; len(found) > keep {
		more := len(found) - keep + 1
		found = append(slices.Clip(found[:keep-1]), Violation{
			Message: cut(fmt.Sprintf("%d more violations are not shown", more), s.options.MaxMessage),
		})
	}
	return found
}

const ellipsis = "…"

// cut shortens s to at most limit bytes without splitting a rune.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	mark := ellipsis
	if limit < len(mark) {
		mark = ""
	}
	n := limit - len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// maxQuoted bounds what a text shows of one name or value of the schema, in bytes.
const maxQuoted = 120

// maxListed bounds how many of them one text lists.
const maxListed = 30

// quote quotes a string of the schema.
func quote(s string) string { return strconv.Quote(cut(s, maxQuoted)) }

// quoted quotes and joins names of the schema.
func quoted(names []string) string {
	texts := make([]string, 0, min(len(names), maxListed+1))
	for _, n := range names[:min(len(names), maxListed)] {
		texts = append(texts, quote(n))
	}
	if left := len(names) - maxListed; left > 0 {
		texts = append(texts, strconv.Itoa(left)+" more")
	}
	return strings.Join(texts, ", ")
}

// joinOr joins alternatives.
func joinOr(texts []string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:len(texts)-1], ", ") + " or " + texts[len(texts)-1]
}

// counted returns a number with its noun, in the plural if need be.
func counted(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return strconv.Itoa(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	default:
		return strconv.Itoa(n) + " " + noun + "s"
	}
}
