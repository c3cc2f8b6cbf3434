package httpproxy

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard says what keeps a request from being looked at, nil when nothing does.
func (p *Proxy) guard(r *http.Request) *problem {
	if !p.hosts.allow(r.Host) {
		return badRequest(http.StatusForbidden, "this gate is not known by that Host; see the allowed hosts in its configuration")
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !p.origins.allow(origins[0]) {
		return badRequest(http.StatusForbidden, "pages of that Origin may not use this gate; see the allowed origins in its configuration")
	}
	if r.URL.Path != p.o.Path || r.URL.RawPath != "" {
		return badRequest(http.StatusNotFound, "there is no MCP endpoint at this path")
	}
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return badRequest(http.StatusBadRequest, "the endpoint takes no query")
	}
	switch r.Method {
	case http.MethodPost:
	case http.MethodGet, http.MethodDelete:
		if r.ContentLength != 0 {
			return badRequest(http.StatusBadRequest, "only a POST has a body")
		}
		if wrong := ambiguous(r.Header); wrong != "" {
			return badRequest(http.StatusBadRequest, wrong)
		}
	default:
		pr := badRequest(http.StatusMethodNotAllowed, "the endpoint takes POST, GET and DELETE only")
		pr.header = http.Header{"Allow": {"POST, GET, DELETE"}}
		return pr
	}
	if len(r.Header.Values("Upgrade")) > 0 {
		return badRequest(http.StatusBadRequest, "the gate doesn't change to another protocol")
	}
	for _, token := range httpTokens(r.Header.Values("Connection")) {
		// A proxy removes the headers that Connection names: it could hide one from the server.
		if token != "close" && token != "keep-alive" && token != "te" {
			return badRequest(http.StatusBadRequest, "Connection may name no header")
		}
	}
	return nil
}

// httpTokens returns the elements of a header that is a list, in lower case.
func httpTokens(values []string) (tokens []string) {
	for _, v := range values {
		for _, token := range strings.Split(v, ",") {
			if token = strings.ToLower(strings.TrimSpace(token)); token != "" {
				tokens = append(tokens, token)
			}
		}
	}
	return tokens
}

// ambiguous says which of the headers that matter could be read in two ways, "" when
// none can.
func ambiguous(h http.Header) string {
	for name, values := range h {
		if strings.Contains(name, "_") {
			// CGI and what descends from it can't tell the two apart.
			if matters(dashed(name)) {
				return "a header is named with _ in place of -"
			}
		}
		if !strings.HasPrefix(name, "Mcp-") {
			if len(values) > 1 && matters(name) && name != "Connection" {
				return name + " is given more than once"
			}
			continue
		}
		if len(values) > 1 {
			return "an Mcp- header is given more than once"
		}
		if !plain(values[0]) {
			return "an Mcp- header has characters that a header can't have: see the encoding =?base64?…?="
		}
	}
	return ""
}

// matters reports whether a header tells what a request is, or whose.
func matters(name string) bool {
	switch name {
	case "Authorization", "Content-Encoding", "Content-Length", "Content-Type", "Connection", "Host", "Last-Event-Id", "Transfer-Encoding", "Upgrade":
		return true
	default:
		return strings.HasPrefix(name, "Mcp-")
	}
}

// plain reports whether a value has visible ASCII characters, spaces and tabs only.
func plain(value string) bool {
	for i := range len(value) {
		if c := value[i]; (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}

// names are the hosts or origins that are allowed. The zero names are those of loopback.
type names struct {
	any     bool
	allowed map[string]bool // in lower case; nil for loopback
	origins bool
}

func newNames(list []string, origins bool) names {
	n := names{origins: origins}
	for _, name := range list {
		if n.allowed == nil {
			n.allowed = map[string]bool{}
		}
		n.any = n.any || name == "*"
		n.allowed[strings.ToLower(name)] = true
	}
	return n
}

// allow reports whether a host or an origin, as a request has it, is allowed.
func (n names) allow(value string) bool {
	if n.any {
		return true
	}
	read := hostOf
	if n.origins {
		read = hostOfOrigin
	}
	host, ok := read(value)
	switch {
	case !ok:
		return false
	case n.allowed == nil:
		return isLoopback(host)
	default:
		return n.allowed[strings.ToLower(value)] || !n.origins && n.allowed[host]
	}
}

// hostOf returns the name in a Host header, without its port and brackets.
func hostOf(host string) (string, bool) {
	u := url.URL{Host: host}
	name := u.Hostname()
	if name == "" || strings.ContainsAny(host, "/@ \t,?#\\") {
		return "", false
	}
	return strings.ToLower(name), true
}

// hostOfOrigin returns the name in an Origin header. "null" has none.
func hostOfOrigin(origin string) (string, bool) {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", false
	}
	return hostOf(u.Host)
}

func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Zone() == "" && ip.IsLoopback()
}
