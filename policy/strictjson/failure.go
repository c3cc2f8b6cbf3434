package strictjson

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxPointer is the greatest length of an Error's Pointer in bytes.
const maxPointer = 1 << 10

// fail makes an error about the innermost open container.
func (p *parser) fail(r Reason, offset int, detail string) *Error {
	return &Error{Reason: r, Pointer: p.pointer(), Offset: int64(offset), Detail: detail}
}

// syntax makes an error of one by jsontext. What its words quote is passed on only
// for plain mistakes of grammar; the rules about characters are told by the bytes at
// the offset, because jsontext's errors for them can't be told apart by program.
func (p *parser) syntax(err error) *Error {
	offset, detail := int(p.tokens.InputOffset()), ""
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = min(max(int(at.ByteOffset), 0), len(p.data))
		if at.Err != nil {
			detail = at.Err.Error()
		}
	}
	at := p.data[offset:]
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return p.fail(ReasonIncomplete, offset, "")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return p.fail(ReasonDuplicateName, offset, "")
	case startsInvalidUTF8(at):
		return p.fail(ReasonInvalidUTF8, offset, "")
	case startsSurrogate(at):
		return p.fail(ReasonLoneSurrogate, offset, "")
	default:
		return p.fail(ReasonSyntax, offset, detail)
	}
}

func startsInvalidUTF8(b []byte) bool {
	r, size := utf8.DecodeRune(b)
	return r == utf8.RuneError && size == 1
}

// startsSurrogate reports whether b starts with an escape for half a surrogate pair.
func startsSurrogate(b []byte) bool {
	if len(b) < len(`\uD800`) || b[0] != '\\' || b[1] != 'u' {
		return false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return err == nil && 0xD800 <= v && v <= 0xDFFF
}

// pointer returns the JSON Pointer of the innermost open container, or of the nearest
// around it whose pointer isn't too long.
func (p *parser) pointer() string {
	var pointer []byte
	for i := range len(p.open) - 1 {
		outer, inner := p.open[i], p.open[i+1]
		var token string
		if outer.object {
			token = pointerEscapes.Replace(p.names[inner.names-1].text)
		} else {
			token = strconv.Itoa(inner.values - outer.values)
		}
		if len(pointer)+1+len(token) > maxPointer {
			break
		}
		pointer = append(append(pointer, '/'), token...)
	}
	return string(pointer)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
