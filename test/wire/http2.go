package wire

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// window is how much of a body can be sent before the other side says more: what HTTP/2
// begins with. Longer bodies are sent by an ordinary client.
const window = 65_535

// onlyHTTP1 reports whether a case is about something that HTTP/2 doesn't have, and
// refuses in its own way.
func (c Case) onlyHTTP1() bool {
	if c.Line != "" || c.Framing != "" || c.Answer == "any" {
		return true
	}
	for name := range c.Headers {
		switch strings.ToLower(name) {
		case "connection", "upgrade", "keep-alive", "proxy-connection", "transfer-encoding", "content-length", "te", "host", "expect":
			return true
		}
	}
	return false
}

// send2 sends a case over a connection of its own, frame by frame, so that nothing
// corrects what is wrong with it.
func (target Target) send2(t *testing.T, c Case, f filler, body []byte) []answer {
	t.Helper()
	host, _, err := net.SplitHostPort(target.Addr)
	if err != nil {
		t.Fatal(err)
	}
	secure := &tls.Config{RootCAs: target.HTTP2, ServerName: host, NextProtos: []string{"h2"}}
	if len(body) > window {
		return []answer{target.sendLong(t, c, f, body, secure)}
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: answerTime}, "tcp", target.Addr, secure)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if conn.ConnectionState().NegotiatedProtocol != "h2" {
		t.Fatal("the gate doesn't speak HTTP/2")
	}
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = framer.WriteSettings()
	// The other side may have answered and hung up before it has everything.
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: len(body) == 0, BlockFragment: target.fields(c, f, body)})
	target.write2(framer, c, f, body)
	if c.Framing == "cut" {
		return []answer{{err: io.ErrUnexpectedEOF}} // nobody answers a stream that was reset
	}
	return []answer{readAnswer2(framer)}
}

// fields are the request's headers, as HTTP/2 has them.
func (target Target) fields(c Case, f filler, body []byte) []byte {
	line := c.Line
	if line == "" {
		line = "POST {{path}} HTTP/1.1"
	}
	method, rest, _ := strings.Cut(f.fill(line), " ")
	path, _, _ := strings.Cut(rest, " ")
	headers := target.headers(c)
	for name, values := range c.Headers {
		if headers[name] = values; values == nil {
			delete(headers, name)
		}
	}
	authority := f.fill(strings.Join(headers["Host"], ""))
	delete(headers, "Host")
	pseudo := [][2]string{{":method", method}, {":scheme", "https"}, {":authority", authority}, {":path", path}}
	if c.Pseudo != nil {
		pseudo = nil
		for _, p := range c.Pseudo {
			pseudo = append(pseudo, [2]string{p[0], strings.ReplaceAll(f.fill(p[1]), "{{addr}}", authority)})
		}
	}
	switch c.Framing {
	case "both", "both-short", "chunked", "extensions", "given-chunked":
		headers["Transfer-Encoding"] = []string{"chunked"}
	}
	length := map[string]int{"both": len(body), "both-short": 4, "long": len(body) + 10, "cut": len(body) + 10}
	if n, ok := length[c.Framing]; ok {
		headers["Content-Length"] = []string{strconv.Itoa(n)}
	}
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for _, p := range pseudo {
		_ = enc.WriteField(hpack.HeaderField{Name: p[0], Value: p[1]}) // into memory
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, v := range headers[name] {
			v = strings.ReplaceAll(f.fill(v), "{{length}}", strconv.Itoa(len(body)))
			_ = enc.WriteField(hpack.HeaderField{Name: strings.ToLower(name), Value: strings.Trim(v, " \t")})
		}
	}
	return b.Bytes()
}

// write2 sends the body.
func (target Target) write2(framer *http2.Framer, c Case, f filler, body []byte) {
	if len(body) == 0 {
		return
	}
	if c.Framing == "slow" {
		_ = framer.WriteData(1, false, body[:len(body)/2])
		return
	}
	parts := slices.Collect(slices.Chunk(body, 1<<14))
	for i, part := range parts {
		last := i == len(parts)-1 && len(c.Trailers) == 0 && c.Framing != "cut"
		_ = framer.WriteData(1, last, part)
	}
	if c.Framing == "cut" {
		_ = framer.WriteRSTStream(1, http2.ErrCodeCancel)
	}
	if len(c.Trailers) > 0 {
		var b bytes.Buffer
		enc := hpack.NewEncoder(&b)
		for name, values := range c.Trailers {
			for _, v := range values {
				_ = enc.WriteField(hpack.HeaderField{Name: strings.ToLower(name), Value: f.fill(v)})
			}
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: b.Bytes()})
	}
}

// readAnswer2 reads until the stream or the connection ends.
func readAnswer2(framer *http2.Framer) (a answer) {
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			a.err = err
			return a
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = framer.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			if status, err := strconv.Atoi(frame.PseudoValue("status")); err == nil && status >= 200 {
				a.status = status
			}
			if frame.StreamEnded() {
				return a
			}
		case *http2.DataFrame:
			a.body = append(a.body, frame.Data()...)
			if frame.StreamEnded() {
				return a
			}
		case *http2.RSTStreamFrame:
			a.err = errors.New("the stream was reset: " + frame.ErrCode.String())
			return a
		case *http2.GoAwayFrame:
			a.err = errors.New("the connection was ended: " + frame.ErrCode.String())
			return a
		}
	}
}

// sendLong sends a case whose body is long, with an ordinary client.
func (target Target) sendLong(t *testing.T, c Case, f filler, body []byte, secure *tls.Config) answer {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: secure, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+target.Addr+target.Path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range target.headers(c) {
		for _, v := range values {
			r.Header.Add(name, f.fill(v))
		}
	}
	client := http.Client{Transport: transport, Timeout: answerTime}
	res, err := client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer res.Body.Close()
	if res.ProtoMajor != 2 {
		t.Fatal("the gate doesn't speak HTTP/2")
	}
	got, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, got, err}
}
