package identity

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func goodHeaders() HeaderOptions {
	return HeaderOptions{
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")},
		Headers: []HeaderClaim{{"X-User", "subject"}, {"X-Org", "tenant"}, {"X-Scopes", "scopes"}, {"X-Mail", "claims.mail"}},
	}
}

func TestHeaders(t *testing.T) {
	h, err := NewHeaders(goodHeaders())
	require.NoError(t, err)
	all := map[string][]string{"X-User": {"ann"}, "X-Org": {" acme "}, "X-Scopes": {"a,b c"}, "X-Mail": {"ann@corp.example"}}
	ann := policy.Caller{Subject: "ann", Tenant: "acme", Scopes: []string{"a", "b", "c"}, Claims: map[string]any{"mail": "ann@corp.example"}}
	for name, tc := range map[string]struct {
		from   string
		header http.Header
		want   policy.Caller
		status int
	}{
		"all":                     {"10.1.2.3:4711", all, ann, 0},
		"over IPv6":               {"[fd00::1%eth0]:1", all, ann, 0},
		"IPv4 written as IPv6":    {"[::ffff:10.1.2.3]:1", all, ann, 0},
		"none":                    {"10.1.2.3:1", nil, policy.Caller{}, 0},
		"an empty one":            {"10.1.2.3:1", http.Header{"X-User": {""}}, policy.Caller{}, 0},
		"from elsewhere":          {"10.2.0.1:1", all, policy.Caller{}, 403},
		"from this machine":       {"127.0.0.1:1", all, policy.Caller{}, 403},
		"from elsewhere, without": {"192.0.2.1:1", nil, policy.Caller{}, 403},
		"said to be from there":   {"192.0.2.1:1", http.Header{"X-User": {"ann"}, "X-Forwarded-For": {"10.1.2.3"}}, policy.Caller{}, 403},
		"from nowhere":            {"", all, policy.Caller{}, 403},
		"from a socket":           {"@", all, policy.Caller{}, 403},
		"twice":                   {"10.1.2.3:1", http.Header{"X-User": {"root", "ann"}}, policy.Caller{}, 400},
		"in two spellings":        {"10.1.2.3:1", http.Header{"X-User": {"ann"}, "X_user": {"root"}}, policy.Caller{}, 400},
		"a control character":     {"10.1.2.3:1", http.Header{"X-User": {"ann\x00"}}, policy.Caller{}, 400},
		"not UTF-8":               {"10.1.2.3:1", http.Header{"X-User": {"\xff"}}, policy.Caller{}, 400},
		"too long":                {"10.1.2.3:1", http.Header{"X-User": {strings.Repeat("a", maxHeaderValue+1)}}, policy.Caller{}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			r.RemoteAddr, r.Header = tc.from, tc.header
			got, err := h.Caller(r)
			require.Equal(t, tc.want, got)
			if tc.status == 0 {
				require.NoError(t, err)
				return
			}
			require.Equal(t, tc.status, status(err))
			require.NotContains(t, err.Error(), "ann")
		})
	}
}

func TestStrip(t *testing.T) {
	h, err := NewHeaders(goodHeaders())
	require.NoError(t, err)
	header := http.Header{"X-User": {"a"}, "x_user": {"b"}, "X-Other": {"c"}}
	h.Strip(header)
	require.Equal(t, http.Header{"X-Other": {"c"}}, header)
}

func TestHeaderOptions(t *testing.T) {
	for want, change := range map[string]func(*HeaderOptions){
		"trusted_proxies: is missing": func(o *HeaderOptions) { o.Trusted = nil },
		"trusted_proxies: an address": func(o *HeaderOptions) { o.Trusted = append(o.Trusted, netip.Prefix{}) },
		"headers: is missing":         func(o *HeaderOptions) { o.Headers = nil },
		`headers[0]: "X User"`:        func(o *HeaderOptions) { o.Headers[0].Header = "X User" },
		`headers[0]: ""`:              func(o *HeaderOptions) { o.Headers[0].Header = "" },
		"headers[0]: Authorization":   func(o *HeaderOptions) { o.Headers[0].Header = "Authorization" },
		"headers[1]: the header":      func(o *HeaderOptions) { o.Headers[1].Header = "x_user" },
		"headers[1]: the header, or":  func(o *HeaderOptions) { o.Headers[1].As = "subject" },
		`headers[3]: as: "claims."`:   func(o *HeaderOptions) { o.Headers[3].As = "claims." },
		`headers[2]: as: "roles"`:     func(o *HeaderOptions) { o.Headers[2].As = "roles" },
	} {
		o := goodHeaders()
		change(&o)
		_, err := NewHeaders(o)
		require.ErrorContains(t, err, want)
	}
}

func TestEnvironment(t *testing.T) {
	base := policy.Caller{Tenant: "acme", Claims: map[string]any{"team": "x"}}
	look := func(name string) (string, bool) {
		v, ok := map[string]string{"WHO": "ann", "MAY": "a b", "EMPTY": "", "ODD": "a\nb"}[name]
		return v, ok
	}
	got, err := Environment(base, []Variable{{"WHO", "subject"}, {"MAY", "scopes"}, {"WHO", "claims.login"}}, look)
	require.NoError(t, err)
	require.Equal(t, policy.Caller{Subject: "ann", Tenant: "acme", Scopes: []string{"a", "b"}, Claims: map[string]any{"team": "x", "login": "ann"}}, got)
	require.Equal(t, map[string]any{"team": "x"}, base.Claims)
	for want, v := range map[string][]Variable{
		"env[0]: the environment variable NONE is not set":  {{"NONE", "subject"}},
		"env[0]: the environment variable EMPTY is not set": {{"EMPTY", "subject"}},
		"env[0]: the environment variable ODD has":          {{"ODD", "subject"}},
		`env[0]: as: "who"`:                                 {{"WHO", "who"}},
		"env[1]: subject is named twice":                    {{"WHO", "subject"}, {"WHO", "subject"}},
	} {
		got, err := Environment(base, v, look)
		require.ErrorContains(t, err, want)
		require.Zero(t, got)
	}
}
