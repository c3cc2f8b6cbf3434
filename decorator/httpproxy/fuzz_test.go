package httpproxy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// pieces is a reader that returns as many bytes at a time as its sizes say.
type pieces struct {
	text  []byte
	sizes []byte
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := len(p.text)
	if len(p.sizes) > 0 {
		n = min(n, int(p.sizes[0])+1)
		p.sizes = append(p.sizes[1:], p.sizes[0])
	}
	n = copy(b, p.text[:n])
	p.text = p.text[n:]
	return n, nil
}

// readEvents returns what is passed on of a stream, and the events in it.
func readEvents(t *testing.T, text, sizes []byte, most int) (passed []byte, found []string) {
	e := newEvents(&pieces{slices.Clone(text), slices.Clone(sizes)}, most)
	for {
		ready, err := e.next(func(event []byte) { found = append(found, string(event)) })
		passed = append(passed, ready...)
		if errors.Is(err, io.EOF) {
			return append(passed, e.rest()...), found
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// dataOf is what a reader by the book makes of a stream: the data of each event that has
// any, and that is whole.
func dataOf(text string) (all []string) {
	text = strings.TrimPrefix(text, mark)
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(text, "\n")
	var data []string
	for _, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "" && data != nil:
			all = append(all, strings.Join(data, "\n"))
			data = nil
		case name == "data":
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return all
}

// Whatever the pieces are in which a stream comes, all of it is passed on, and the same
// events are seen in it: those that a reader by the book sees.
func FuzzEvents(f *testing.F) {
	for _, text := range []string{
		"", "data: a\n\n", "event: message\r\ndata: {}\r\n\r\n", "data:a\rdata: b\r\r", ": comment\n\ndata: x\n\n",
		"id: 1\ndata\n\n", "data:\rdata\r\r", "data: a\n\r\ndata: b\r\n\n", "data: cut", "\n\n\n", "\r\n", "retry: 1\n\ndata: \n\n", "data: \u2028\n\n", "\ufeffdata: a\n\n", "\ufeff", "\ufeff\ufeffdata: a\n\n", "\xef\xbb", ":\r\n\r\n",
	} {
		f.Add([]byte(text), []byte{0})
		f.Add([]byte(text), []byte{2, 0, 5})
	}
	f.Fuzz(func(t *testing.T, text, sizes []byte) {
		passed, found := readEvents(t, text, sizes, 1<<20)
		if !bytes.Equal(passed, text) {
			t.Fatalf("passed on %q", passed)
		}
		if _, whole := readEvents(t, text, nil, 1<<20); !slices.Equal(found, whole) {
			t.Fatalf("in pieces %q, at once %q", found, whole)
		}
		var data []string
		for _, event := range found {
			if one := eventData([]byte(event)); one != nil {
				data = append(data, string(one))
			}
		}
		if want := dataOf(string(text)); !slices.Equal(data, want) {
			t.Fatalf("data %q, by the book %q", data, want)
		}
		if passed, _ := readEvents(t, text, sizes, 8); !bytes.Equal(passed, text) {
			t.Fatalf("with a low limit, passed on %q", passed)
		}
	})
}

// A media type that passes is one that nobody reads as anything but JSON in UTF-8.
func FuzzContentType(f *testing.F) {
	for _, s := range []string{
		"application/json", "Application/JSON; charset=UTF-8", `application/json;charset="utf-8"`, "application/json; charset=utf-7", "text/plain",
		"application/json;", "application/json; charset=utf-8; x=y", "application/json; charset*=utf-8''x", "application/json ; charset=utf-8", "application/\u017fson",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !isPlainJSON(s) {
			return
		}
		kind, parameters, err := mime.ParseMediaType(s)
		if err != nil || kind != "application/json" || len(parameters) > 1 {
			t.Fatalf("%q: %q %v %v", s, kind, parameters, err)
		}
		for name, value := range parameters {
			if name != "charset" || !strings.EqualFold(value, "utf-8") || len(value) != len("utf-8") {
				t.Fatalf("%q: %s=%q", s, name, value)
			}
		}
	})
}

// A header that is encoded has one spelling for what it says.
func FuzzDecoded(f *testing.F) {
	for _, s := range []string{"safe", "=?base64?c2FmZQ==?=", "=?base64?c2FmZQ?=", "=?base64??=", "=?base64?c2FmZR==?=", "=?Base64?c2FmZQ==?=", "=?base64?\n?=", "=?base64?=", "%73afe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, ok := decoded(s)
		if !ok {
			return
		}
		if text != s && encodedPrefix+base64.StdEncoding.EncodeToString([]byte(text))+encodedSuffix != s {
			t.Fatalf("%q says %q, which is written otherwise", s, text)
		}
	})
}

// What a number in a header says is what the argument says, digit for digit, where the two
// pass.
func FuzzSameValue(f *testing.F) {
	for _, s := range [][2]string{{"1", "1"}, {"1.0", "1"}, {"9007199254740993", "9007199254740992"}, {"0x1", "1"}, {"1_0", "10"}, {"Inf", "1e400"}, {"true", "true"}, {"a", `"a"`}, {"null", "null"}, {"+1", "1"}, {" 1", "1"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, header, raw string) {
		if !json.Valid([]byte(raw)) || raw != strings.TrimSpace(raw) || !sameValue(header, json.RawMessage(raw)) {
			return
		}
		var value any
		if err := json.Unmarshal([]byte(raw), &value); err != nil {
			return // out of range
		}
		switch v := value.(type) {
		case string:
			if text, ok := decoded(header); !ok || text != v {
				t.Fatalf("%q is not %q", header, v)
			}
		case map[string]any, []any:
			t.Fatalf("%q is taken for %s", header, raw)
		case float64:
			text, _ := decoded(header)
			var said float64
			if text != raw && (json.Unmarshal([]byte(text), &said) != nil || said != v) {
				t.Fatalf("%q is not the number %s", header, raw)
			}
		}
	})
}

// A host that passes where nothing is configured is one of this machine, for whoever
// reads it.
func FuzzHosts(f *testing.F) {
	for _, s := range []string{"localhost", "127.0.0.1:80", "[::1]:80", "localhost.evil.example", "evil.example", "localhost@evil.example", "127.0.0.1.nip.io", "[::1%25eth0]", "0.0.0.0", "http://localhost", "LOCALHOST:1", "localhost:1:2", "[::ffff:127.0.0.1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if newNames(nil, false).allow(s) {
			u, err := url.Parse("http://" + s + "/")
			if err != nil {
				return // Go's server refuses such a request by itself
			}
			if name := strings.ToLower(u.Hostname()); name != "localhost" && !loopback(name) || u.User != nil {
				t.Fatalf("Host %q is %q", s, name)
			}
		}
		if newNames(nil, true).allow(s) {
			u, err := url.Parse(s)
			if err != nil || u.User != nil || u.Path != "" || u.Hostname() == "" {
				t.Fatalf("Origin %q: %v", s, u)
			}
			if name := strings.ToLower(u.Hostname()); name != "localhost" && !loopback(name) {
				t.Fatalf("Origin %q is %q", s, name)
			}
		}
	})
}

func loopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// Headers that pass say what the body says.
func FuzzMirrored(f *testing.F) {
	for _, s := range [][3]string{{"tools/call", "read", "2026-07-28"}, {"", "", ""}, {"ping", "read", "2025-11-25"}, {"tools/call", "=?base64?cmVhZA==?=", ""}, {"tools/call", "Read", "2099-01-01"}} {
		f.Add(s[0], s[1], s[2], "read")
	}
	f.Fuzz(func(t *testing.T, method, name, version, tool string) {
		quoted, err := json.Marshal(tool)
		if err != nil {
			return
		}
		m, fault := mcpwire.Read([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+string(quoted)+`}}`), mcpwire.Limits{})
		if fault != nil {
			return
		}
		h := http.Header{}
		for key, value := range map[string]string{headerMethod: method, headerName: name, headerVersion: version} {
			if value != "" {
				h.Set(key, value)
			}
		}
		stateless, pr := mirrored(h, m)
		if pr != nil {
			if pr.status != http.StatusBadRequest || pr.fault.Code != codeHeaderMismatch {
				t.Fatalf("%+v", pr)
			}
			return
		}
		said, ok := decoded(name)
		if stateless || version >= firstStateless || method != "" && method != "tools/call" || name != "" && (!ok || said != m.Tool) {
			t.Fatalf("passed: method %q, name %q, version %q, tool %q", method, name, version, m.Tool)
		}
	})
}
