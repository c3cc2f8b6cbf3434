package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// shortened returns the bytes without most of what is repeated, which hides nothing.
func shortened(body []byte) []byte {
	const most = 64
	if len(body) < 1<<10 {
		return body
	}
	out, run := make([]byte, 0, 1<<10), 0
	for i, c := range body {
		if run++; i == 0 || c != body[i-1] {
			run = 0
		}
		if run < most {
			out = append(out, c)
		}
	}
	return out
}

// decodings returns what the bytes may stand for.
func decodings(body []byte) [][]byte {
	texts := [][]byte{body}
	for _, unpack := range []func([]byte) []byte{gunzipped, inflated, unzlibbed} {
		if plain := unpack(body); plain != nil {
			texts = append(texts, plain)
		}
	}
	for _, t := range slices.Clone(texts) {
		texts = append(texts, fromUTF16(t, true), fromUTF16(t, false), fromUTF32(t), fromUTF7(t), fromLatin1(t), withoutOverlong(t))
	}
	for _, t := range slices.Clone(texts) {
		texts = append(texts, withoutComments(t))
		if form, err := url.QueryUnescape(string(t)); err == nil {
			texts = append(texts, []byte(form))
		}
	}
	return texts
}

func gunzipped(b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return readAll(r)
}

func inflated(b []byte) []byte {
	if len(b) == 0 || b[0] == '{' || b[0] == '[' {
		return nil
	}
	return readAll(flate.NewReader(bytes.NewReader(b)))
}

func unzlibbed(b []byte) []byte {
	r, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return readAll(r)
}

func readAll(r io.Reader) []byte {
	plain, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil
	}
	return plain
}

func fromUTF16(b []byte, big bool) []byte {
	var units []uint16
	for i := 0; i+1 < len(b); i += 2 {
		u := uint16(b[i]) | uint16(b[i+1])<<8
		if big {
			u = uint16(b[i])<<8 | uint16(b[i+1])
		}
		units = append(units, u)
	}
	return []byte(string(utf16.Decode(units)))
}

func fromUTF32(b []byte) []byte {
	var out []rune
	for i := 0; i+3 < len(b); i += 4 {
		out = append(out, rune(b[i])|rune(b[i+1])<<8|rune(b[i+2])<<16|rune(b[i+3]&0x7f)<<24)
	}
	return []byte(string(out))
}

var utf7Run = regexp.MustCompile(`\+([A-Za-z0-9+/]*)-?`)

func fromUTF7(b []byte) []byte {
	return utf7Run.ReplaceAllFunc(b, func(run []byte) []byte {
		inner := strings.TrimSuffix(string(run[1:]), "-")
		if inner == "" {
			return []byte("+")
		}
		raw, err := base64.RawStdEncoding.DecodeString(inner)
		if err != nil {
			return run
		}
		return fromUTF16(raw, true)
	})
}

func fromLatin1(b []byte) []byte {
	var out []rune
	for _, c := range b {
		out = append(out, rune(c))
	}
	return []byte(string(out))
}

// withoutOverlong reads two-byte sequences as what they would stand for if they weren't
// too long.
func withoutOverlong(b []byte) []byte {
	var out []byte
	for i := 0; i < len(b); i++ {
		if i+1 < len(b) && (b[i] == 0xc0 || b[i] == 0xc1) && b[i+1]&0xc0 == 0x80 {
			out = append(out, b[i]&0x03<<6|b[i+1]&0x3f)
			i++
			continue
		}
		out = append(out, b[i])
	}
	return out
}

var comment = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n\r]*`)

func withoutComments(b []byte) []byte { return comment.ReplaceAll(b, nil) }
