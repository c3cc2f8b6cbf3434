package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// request writes the request of a case, byte for byte.
func (target Target) request(c Case, f filler, body []byte) []byte {
	line := c.Line
	if line == "" {
		line = "POST {{path}} HTTP/1.1"
	}
	headers := target.headers(c)
	for name, values := range c.Headers {
		if values == nil {
			delete(headers, name)
			continue
		}
		headers[name] = values
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\r\n", f.fill(line))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, v := range headers[name] {
			fmt.Fprintf(&b, "%s: %s\r\n", name, strings.ReplaceAll(f.fill(v), "{{length}}", strconv.Itoa(len(body))))
		}
	}
	target.frame(&b, c, f, body)
	return b.Bytes()
}

// headers are the usual ones of a call.
func (target Target) headers(c Case) map[string][]string {
	version := target.Era.Version()
	if c.Version != "" {
		version = c.Version
	}
	h := map[string][]string{
		"Host":                 {target.Addr},
		"Content-Type":         {"application/json"},
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {version},
	}
	if target.Session != "" {
		h["Mcp-Session-Id"] = []string{target.Session}
	}
	if target.Era != Stateless {
		return h
	}
	method, name := "tools/call", "{{safe}}"
	if c.MethodHeader != nil {
		method = *c.MethodHeader
	}
	if c.NameHeader != nil {
		name = *c.NameHeader
		if name == "secret" {
			name = "{{secret}}"
		}
	}
	if method != "" {
		h["Mcp-Method"] = []string{method}
	}
	if name != "" {
		h["Mcp-Name"] = []string{name}
	}
	if (c.Param == nil || *c.Param) && target.Mirrored {
		if path, ok := pathOf(c.Body, target.Names); ok {
			h["Mcp-Param-Path"] = []string{path}
		}
	}
	return h
}

// pathOf returns what a well-behaved client says of the path in Mcp-Param-Path.
func pathOf(body string, names Names) (string, bool) {
	f := filler{names, Stateless, "x", "/"}
	var m struct {
		Params struct{ Arguments map[string]json.RawMessage }
	}
	if strings.Contains(body, "{{pad") || json.Unmarshal([]byte(f.fill(body)), &m) != nil {
		return "/ok", strings.Contains(body, "{{safe_args}}") && strings.Contains(body, "{{safe}}")
	}
	var path string
	if json.Unmarshal(m.Params.Arguments[names.Argument], &path) != nil {
		return "", false
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "=?base64?" + base64Of(path) + "?=", true
	}
	return path, true
}

// frame writes what follows the headers.
func (target Target) frame(b *bytes.Buffer, c Case, f filler, body []byte) {
	length := func(n int) { fmt.Fprintf(b, "Content-Length: %d\r\n\r\n", n) }
	chunked := func(extension string) {
		for part := range slices.Chunk(body, 16) {
			fmt.Fprintf(b, "%x%s\r\n%s\r\n", len(part), extension, part)
		}
		b.WriteString("0" + extension + "\r\n")
		for _, name := range slices.Sorted(maps.Keys(c.Trailers)) {
			for _, v := range c.Trailers[name] {
				fmt.Fprintf(b, "%s: %s\r\n", name, f.fill(v))
			}
		}
		b.WriteString("\r\n")
	}
	switch c.Framing {
	case "":
		length(len(body))
		b.Write(body)
	case "given": // the case has a Content-Length of its own
		b.WriteString("\r\n")
		b.Write(body)
	case "given-chunked":
		b.WriteString("\r\n")
		chunked("")
	case "chunked", "extensions":
		if len(c.Trailers) > 0 {
			fmt.Fprintf(b, "Trailer: %s\r\n", strings.Join(slices.Sorted(maps.Keys(c.Trailers)), ", "))
		}
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		chunked(map[string]string{"chunked": "", "extensions": `;a="b";c`}[c.Framing])
	case "both":
		b.WriteString("Transfer-Encoding: chunked\r\n")
		length(len(body))
		chunked("")
	case "both-short":
		b.WriteString("Transfer-Encoding: chunked\r\n")
		length(4)
		chunked("")
		target.hiddenRequest(b)
	case "pipelined":
		length(len(body))
		b.Write(body)
		target.hiddenRequest(b)
	case "long", "cut":
		length(len(body) + 10)
		b.Write(body)
	case "slow":
		length(len(body))
		b.Write(body[:len(body)/2])
	}
}

// hiddenRequest writes a request with the hidden call.
func (target Target) hiddenRequest(b *bytes.Buffer) {
	f := filler{target.Names, target.Era, "", target.Path}
	secret := "secret"
	c := Case{Name: "hidden", NameHeader: &secret, Body: `{"jsonrpc":"2.0","id":"h","method":"tools/call","params":{"name":"{{secret}}","arguments":{{secret_args}}{{meta}}}}`}
	b.Write(target.request(c, f, []byte(f.fill(c.Body))))
}
