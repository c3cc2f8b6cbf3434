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

// dropped are the headers of a client that go no further.
var dropped = []string{
	"Expect", // the body is here already
	"Te", "Trailer",
	"Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Sec-Fetch-User", // checked here, and not true of the server
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override", // would make another request of it
	"X-Original-Url", "X-Rewrite-Url",
}

// outgoing takes away what the server is not to get. What it answers is looked at, so
// that it must not be encoded.
func (p *Proxy) outgoing(h http.Header, stateless bool) {
	for _, name := range dropped {
		delete(h, name)
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
	"X-Forwarded-Prefix": true, "X-Forwarded-Proto": true, "X-Forwarded-Scheme": true, "X-Forwarded-Server": true, "X-Forwarded-Ssl": true,
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
