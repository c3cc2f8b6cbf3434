package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/regogate/regogate/policy/strictjson"
)

// rewrite puts the gate's address in place of the server's. What the server signed says
// the old one and would win over the rest, so it goes. Metadata of another resource stays
// as it is: a client has to see that it is not about this one.
func (r *Resource) rewrite(data []byte) ([]byte, error) {
	if _, err := strictjson.ParseObject(data, strictjson.Limits{}); err != nil {
		return nil, errors.New("it is not one unambiguous JSON object")
	}
	var document map[string]json.RawMessage
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	var resource string
	if err := json.Unmarshal(document["resource"], &resource); err != nil || !isPartOf(r.o.Upstream, resource) {
		r.o.Logger.Warn("the server's metadata is about another resource: clients will refuse it", "upstream", r.o.Upstream.Redacted())
		return data, nil
	}
	document["resource"] = bytes.TrimSpace(encode(r.o.Public.String()))
	delete(document, "signed_metadata")
	return encode(document), nil
}

// isPartOf reports whether an endpoint belongs to a resource: the same origin, and a path
// that begins with the resource's.
func isPartOf(endpoint *url.URL, resource string) bool {
	u, err := url.Parse(resource)
	if err != nil || u.RawQuery != "" || u.Fragment != "" || u.User != nil || !sameOrigin(endpoint, u) {
		return false
	}
	parent := strings.TrimSuffix(u.Path, "/")
	return endpoint.Path == parent || strings.HasPrefix(endpoint.Path+"/", parent+"/")
}

func sameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		switch {
		case u.Port() != "":
			return u.Port()
		case strings.EqualFold(u.Scheme, "https"):
			return "443"
		default:
			return "80"
		}
	}
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// learn remembers where the server says that its metadata is. Another host's are none of
// its own: the gate doesn't fetch from wherever it is told.
func (r *Resource) learn(metadata string) {
	if u, err := url.Parse(metadata); err == nil && sameOrigin(r.o.Upstream, u) && strings.HasPrefix(u.Path, "/") {
		r.advertised.Store(&u.Path)
	}
}
