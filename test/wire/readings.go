package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A Run is a call that a server would run: the tool's name and its arguments.
type Run struct {
	Tool string
	Args string
}

// Readings returns every call that some lenient reader would find in a message: one that
// folds the case of names, takes the first or the last of two, goes on after the end of
// a value, ends lines at a CR or at U+2028, accepts batches, byte order marks, other
// encodings and comments, or believes headers rather than the body. h is nil where there
// are no headers.
func Readings(h http.Header, body []byte) []Run {
	var runs []Run
	for _, text := range decodings(shortened(body)) {
		for _, piece := range pieces(text) {
			for _, v := range values(piece) {
				runs = append(runs, calls(v)...)
			}
		}
	}
	return append(runs, byHeaders(h, runs)...)
}

// pieces returns the text, and what readers of lines make of it.
func pieces(text []byte) [][]byte {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	all := [][]byte{text}
	for _, ends := range []string{"\n", "\r", "\r\n", "\n\r\u2028\u2029\u0085\v\f\x1c\x1d\x1e\x00"} {
		all = append(all, bytes.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(ends, r) })...)
	}
	return all
}

// values returns the JSON values in a text, one after the other, and those in arrays.
func values(text []byte) []json.RawMessage {
	var all []json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			break
		}
		all = append(all, v)
		var batch []json.RawMessage
		if json.Unmarshal(v, &batch) == nil {
			all = append(all, batch...)
		}
	}
	return all
}

// members returns an object's members in their order, with every name as it is written
// and no name left out.
func members(v json.RawMessage) (ms []struct {
	name string
	raw  json.RawMessage
}) {
	dec := json.NewDecoder(bytes.NewReader(v))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return ms
		}
		name, _ := tok.(string)
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return ms
		}
		ms = append(ms, struct {
			name string
			raw  json.RawMessage
		}{name, raw})
	}
	return ms
}

// all returns the values that a reader could take for that of a name.
func all(v json.RawMessage, name string) (found []json.RawMessage) {
	for _, m := range members(v) {
		read := m.name
		if i := strings.IndexByte(read, 0); i >= 0 {
			read = read[:i]
		}
		if strings.EqualFold(strings.TrimSpace(read), name) {
			found = append(found, m.raw)
		}
	}
	return found
}

// texts returns the values that are strings, or could be taken for one.
func texts(raws []json.RawMessage) (found []string) {
	for _, raw := range raws {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			found = append(found, s, strings.TrimRight(s, "\x00"), strings.TrimSpace(s))
		}
	}
	return found
}

// calls returns the calls that a value may be read as.
func calls(v json.RawMessage) []Run {
	if !slices.ContainsFunc(texts(all(v, "method")), func(s string) bool { return strings.EqualFold(s, "tools/call") }) {
		return nil
	}
	return named(v)
}

// named returns the calls in a message whose method isn't looked at.
func named(v json.RawMessage) (runs []Run) {
	for _, params := range append(all(v, "params"), v) {
		args := append(all(params, "arguments"), all(params, "input")...)
		if len(args) == 0 {
			args = []json.RawMessage{nil}
		}
		for _, name := range texts(all(params, "name")) {
			for _, a := range args {
				var inner string
				if json.Unmarshal(a, &inner) == nil {
					runs = append(runs, Run{name, inner}) // JSON in a string
				}
				runs = append(runs, Run{name, string(a)})
			}
		}
	}
	return runs
}

// byHeaders returns what a server would run that believes headers.
func byHeaders(h http.Header, found []Run) (runs []Run) {
	if len(found) == 0 {
		return nil
	}
	for name, vs := range h {
		for _, v := range vs {
			for _, said := range spellings(v) {
				switch {
				case strings.EqualFold(strings.ReplaceAll(name, "_", "-"), "Mcp-Name"):
					runs = append(runs, Run{said, found[0].Args})
				case strings.HasPrefix(name, "Mcp-Param-"):
					quoted, _ := json.Marshal(said)
					runs = append(runs, Run{found[0].Tool, `{"path":` + string(quoted) + `}`})
				}
			}
		}
	}
	return runs
}

// spellings returns what a header's value may stand for.
func spellings(v string) []string {
	said := []string{v}
	for _, part := range strings.Split(v, ",") {
		said = append(said, strings.TrimSpace(part))
	}
	if inner, ok := strings.CutPrefix(v, "=?base64?"); ok {
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?=")); err == nil {
			said = append(said, string(raw))
		}
	}
	if raw, err := url.PathUnescape(v); err == nil {
		said = append(said, raw)
	}
	return said
}

// noneHidden fails the test when a call ran that had to be refused.
func (n Names) noneHidden(t *testing.T, saw []Run) {
	t.Helper()
	for _, run := range saw {
		if run.Hidden() || run.Tool == n.Secret {
			t.Fatalf("the hidden call ran: %s %.200s", run.Tool, run.Args)
		}
	}
}

// Hidden reports whether a call is one that the gate refuses: of the tool "secret", or
// with the path "/secret" in any spelling of that name.
func (r Run) Hidden() bool {
	if strings.EqualFold(r.Tool, "secret") {
		return true
	}
	for _, path := range texts(all(json.RawMessage(r.Args), "path")) {
		if path == "/secret" {
			return true
		}
	}
	return !utf8.ValidString(r.Args) && strings.Contains(r.Args, "/secret")
}
