package httpproxy

import (
	"crypto/sha256"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Headers that the protocol has, in their canonical form.
const (
	headerVersion  = "Mcp-Protocol-Version"
	headerSession  = "Mcp-Session-Id"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	headerParam    = "Mcp-Param-" // and the name that the tool's schema gives
	headerLastSeen = "Last-Event-Id"
)

// dropped are the headers of a client that go no further, under any spelling that a
// server could take for their names.
var dropped = map[string]bool{
	"Expect": true, // the body is here already
	"Te":     true, "Trailer": true,
	// Checked here, and not true of the server.
	"Origin": true, "Referer": true, "Sec-Fetch-Site": true, "Sec-Fetch-Mode": true, "Sec-Fetch-Dest": true, "Sec-Fetch-User": true,
	// Would make another request of it.
	"X-Http-Method": true, "X-Http-Method-Override": true, "X-Method-Override": true, "X-Original-Method": true, "X-Forwarded-Method": true,
	"X-Original-Url": true, "X-Original-Uri": true, "X-Rewrite-Url": true, "X-Forwarded-Uri": true, "X-Forwarded-Path": true, "X-Forwarded-Prefix": true,
	"Proxy": true, // is HTTP_PROXY to a program behind CGI
}

// dashed is a header's name as servers see it that take underscores for hyphens.
func dashed(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// outgoing takes away what the server is not to get. What it answers is looked at, so
// that it must not be encoded.
func (p *Proxy) outgoing(h http.Header, stateless bool) {
	for name := range h {
		if dropped[dashed(name)] {
			delete(h, name)
		}
	}
	h["Accept-Encoding"] = []string{"identity"}
	if !p.o.ForwardAuthorization {
		delete(h, "Authorization")
	}
	if stateless {
		delete(h, headerSession) // has no meaning there
	}
}

// passing are headers that say nothing of who asks, so that the server's tools don't
// depend on them.
var passing = map[string]bool{
	"Accept": true, "Accept-Charset": true, "Accept-Encoding": true, "Accept-Language": true,
	"Cache-Control": true, "Pragma": true, "Connection": true, "Keep-Alive": true, "Date": true, "Dnt": true, "Priority": true,
	"Expect": true, "Host": true, "Origin": true, "Referer": true, "User-Agent": true, "Via": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade-Insecure-Requests": true, "Idempotency-Key": true, "Last-Event-Id": true,
	"Traceparent": true, "Tracestate": true, "Baggage": true, "B3": true, "Sentry-Trace": true, "Uber-Trace-Id": true,
	"X-Amzn-Trace-Id": true, "X-Cloud-Trace-Context": true, "X-Correlation-Id": true, "X-Request-Id": true, "X-Request-Start": true,
	"Forwarded": true, "X-Real-Ip": true, "X-Forwarded-For": true, "X-Forwarded-Host": true, "X-Forwarded-Port": true,
	"X-Forwarded-Proto": true, "X-Forwarded-Scheme": true, "X-Forwarded-Server": true, "X-Forwarded-Ssl": true,
}

// identifies reports whether a header may tell the server who asks. Proxies that
// authenticate say so under many names, X-Forwarded-User among them.
func identifies(name string) bool {
	if passing[name] {
		return false
	}
	for _, prefix := range []string{"Mcp-", "Content-", "Sec-", "X-B3-", "X-Datadog-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// identity returns the headers that may tell the server who asks, and a digest that is
// the same for requests that have the same ones. It is zero when there are none.
func identity(h http.Header) (who http.Header, digest [sha256.Size]byte) {
	var names []string
	for name := range h {
		if identifies(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, digest
	}
	slices.Sort(names)
	who = make(http.Header, len(names))
	sum := sha256.New()
	for _, name := range names {
		who[name] = h[name]
		_, _ = io.WriteString(sum, name+"\n")
		for _, v := range h[name] {
			_, _ = io.WriteString(sum, v+"\n") // a header has no line feed
		}
		_, _ = io.WriteString(sum, "\n")
	}
	return who, [sha256.Size]byte(sum.Sum(nil))
}
