package identity

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/regogate/regogate/policy"
)

// HeaderOptions say which headers name the caller, and who may set them. Trusted and
// at least one header are required.
type HeaderOptions struct {
	// Trusted are the addresses of the reverse proxies that set the headers, after they
	// have removed what a client sent under these names. A request from anywhere else is
	// refused.
	Trusted []netip.Prefix
	// Headers name the caller.
	Headers []HeaderClaim
}

// A HeaderClaim says what one header means.
type HeaderClaim struct {
	Header string
	As     string // subject, tenant, scopes, or claims.NAME
}

// Headers tells callers by what a trusted proxy says of them. Safe for concurrent use.
type Headers struct{ o HeaderOptions }

// maxHeaderValue is how long a value may be, in bytes.
const maxHeaderValue = 8 << 10

// NewHeaders returns a Headers, or an error for each option that is missing or wrong.
func NewHeaders(o HeaderOptions) (*Headers, error) {
	var errs []error
	if len(o.Trusted) == 0 {
		errs = append(errs, errors.New("trusted_proxies: is missing: anybody could say who calls"))
	}
	for _, p := range o.Trusted {
		if !p.IsValid() {
			errs = append(errs, errors.New("trusted_proxies: an address range is not valid"))
		}
	}
	if len(o.Headers) == 0 {
		errs = append(errs, errors.New("headers: is missing: no header says who calls"))
	}
	seen := map[string]bool{}
	for i, h := range o.Headers {
		name := folded(h.Header)
		switch {
		case !isToken(h.Header):
			errs = append(errs, fmt.Errorf("headers[%d]: %q is no name of a header", i, h.Header))
		case slices.Contains(notIdentity, name):
			errs = append(errs, fmt.Errorf("headers[%d]: %s has a meaning of its own and can't say who calls", i, h.Header))
		case seen[name] || seen[h.As]:
			errs = append(errs, fmt.Errorf("headers[%d]: the header, or what it says, is named twice", i))
		}
		if err := checkTarget(h.As); err != nil {
			errs = append(errs, fmt.Errorf("headers[%d]: %w", i, err))
		}
		seen[name], seen[h.As] = true, true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Headers{o}, nil
}

// notIdentity are headers that every client sets, or that pass through proxies unchanged.
var notIdentity = []string{"authorization", "connection", "content-length", "content-type", "cookie", "host",
	"origin", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "transfer-encoding", "upgrade"}

// folded is a name as servers see it that take underscores for hyphens.
func folded(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

func isToken(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") == ""
}

func checkTarget(as string) error {
	name, isClaim := strings.CutPrefix(as, "claims.")
	if isClaim && name != "" || as == "subject" || as == "tenant" || as == "scopes" {
		return nil
	}
	return fmt.Errorf("as: %q is not subject, tenant, scopes or claims.NAME", as)
}

// Caller returns who the proxy says calls. The error is an [*Error]: 403 when the
// request doesn't come from a trusted proxy, 400 when what it says is ambiguous. A header
// that is missing leaves its part of the caller unknown.
func (h *Headers) Caller(r *http.Request) (policy.Caller, error) {
	addr, ok := peer(r)
	if !ok || !slices.ContainsFunc(h.o.Trusted, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return policy.Caller{}, &Error{status: http.StatusForbidden, message: "the request doesn't come through a trusted proxy"}
	}
	b := builder{}
	for _, header := range h.o.Headers {
		values := valuesOf(r.Header, header.Header)
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 {
			return policy.Caller{}, &Error{status: http.StatusBadRequest, message: "a header that says who calls is there more than once"}
		}
		if !plain(values[0]) {
			return policy.Caller{}, &Error{status: http.StatusBadRequest, message: "a header that says who calls has a value that can't be used"}
		}
		b.set(header.As, strings.TrimSpace(values[0]))
	}
	return b.caller, nil
}

// valuesOf returns the values of a header under any spelling that a server could take
// for its name.
func valuesOf(h http.Header, name string) []string {
	var out []string
	for n, values := range h {
		if folded(n) == folded(name) {
			out = append(out, values...)
		}
	}
	return out
}

// plain reports whether a value is short text without control characters.
func plain(s string) bool {
	return len(s) <= maxHeaderValue && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// Strip removes the headers that say who calls, for a server that isn't to see them.
func (h *Headers) Strip(header http.Header) {
	for name := range header {
		if slices.ContainsFunc(h.o.Headers, func(c HeaderClaim) bool { return folded(c.Header) == folded(name) }) {
			header.Del(name)
			delete(header, name)
		}
	}
}

// A builder collects what is known of a caller.
type builder struct{ caller policy.Caller }

func (b *builder) set(as, value string) {
	if value == "" {
		return
	}
	switch as {
	case "subject":
		b.caller.Subject = value
	case "tenant":
		b.caller.Tenant = value
	case "scopes":
		b.caller.Scopes = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	default:
		if b.caller.Claims == nil {
			b.caller.Claims = map[string]any{}
		}
		b.caller.Claims[strings.TrimPrefix(as, "claims.")] = value
	}
}
