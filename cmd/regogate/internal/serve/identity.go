package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/decorator/identity"
	"github.com/regogate/regogate/policy"
)

// checkIdentity refuses keys that would have no effect: who set them counts on one.
func (p *Plan) checkIdentity() {
	i := p.cfg.Identity
	for _, used := range []struct {
		source string
		names  []string
	}{
		{"jwt", []string{"issuer", "audience", "algorithms", "keys_url", "keys_file", "plain_keys", "leeway", "subject_claim", "tenant_claim",
			"scope_claims", "required_scopes", "authorization_servers"}},
		{"headers", []string{"trusted_proxies", "headers"}},
	} {
		for _, name := range used.names {
			if key := "identity." + name; used.source != i.Source && p.cfg.Where(key) != "" {
				p.wrong(key, "is for identity.source: "+used.source+", and that is "+i.Source, "remove it, or change identity.source")
			}
		}
	}
	if i.Source == "none" {
		return
	}
	for _, key := range []string{"caller.subject", "caller.tenant", "caller.scopes", "caller.claims_file", "caller.env"} {
		if p.cfg.Where(key) != "" {
			p.wrong(key, "says who calls, and identity.source: "+i.Source+" does so too", "remove one of the two")
		}
	}
	if i.Source == "headers" {
		_, err := p.headers()
		p.faults(err)
	}
}

// faults are errors of package identity: lines that begin with the name of an option.
func (p *Plan) faults(err error) {
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		name, what, _ := strings.Cut(line, ": ")
		p.wrong("identity."+name, what, "see docs/configuration.md")
	}
}

func (p *Plan) headers() (*identity.Headers, error) {
	var o identity.HeaderOptions
	for i, s := range p.cfg.Identity.TrustedProxies {
		prefix, err := netip.ParsePrefix(s)
		if ip, single := netip.ParseAddr(s); err != nil && single == nil && ip.Zone() == "" {
			prefix, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("trusted_proxies[%d]: %q is no range of addresses like 10.0.0.0/8", i, s)
		}
		o.Trusted = append(o.Trusted, prefix)
	}
	for _, h := range p.cfg.Identity.Headers {
		o.Headers = append(o.Headers, identity.HeaderClaim{Header: h.Header, As: h.As})
	}
	return identity.NewHeaders(o)
}

// who makes what tells callers, and what tells clients where to get a token.
type who struct {
	caller   func(*http.Request) (policy.Caller, error)
	resource *identity.Resource
	metadata bool              // resource has something to tell
	strip    func(http.Header) // nil when nothing is to be kept from the server
	ready    func() error
	close    func()
}

// identify makes it for an endpoint whose URL is known now.
func (p *Plan) identify(ctx context.Context, public *url.URL) (*who, error) {
	i := p.cfg.Identity
	w := &who{ready: func() error { return nil }, close: func() {}}
	if err := p.describe(w, public); err != nil {
		return nil, err
	}
	switch i.Source {
	case "none":
		caller := p.o.Caller
		w.caller = func(*http.Request) (policy.Caller, error) { return caller, nil }
	case "headers":
		h, err := p.headers()
		if err != nil {
			return nil, err
		}
		w.caller = h.Caller
		if p.cfg.Upstream.Resource != "same" {
			w.strip = h.Strip
		}
	case "jwt":
		o := identity.JWTOptions{
			Issuer: i.Issuer, Audience: i.Audience, Algorithms: i.Algorithms, KeysURL: i.KeysURL, KeysFile: i.KeysFile,
			PlainKeys: i.PlainKeys == "allow", RequiredScopes: i.RequiredScopes, Leeway: i.Leeway, Logger: p.o.Logger,
			Claims:   identity.ClaimNames{Subject: i.SubjectClaim, Tenant: i.TenantClaim, Scopes: i.ScopeClaims},
			Metadata: w.resource.MetadataURL(),
		}
		j, err := identity.NewJWT(ctx, o)
		if err != nil {
			p.faults(err)
			return nil, &config.Error{Problems: p.problems}
		}
		w.caller, w.ready, w.close = j.Caller, j.Ready, j.Close
	default:
		return nil, fmt.Errorf("identity.source: %q is none that is known", i.Source)
	}
	if i.Source != "none" {
		w.caller = new(owners).guard(w.caller)
	}
	return w, nil
}

// describe makes the gate a protected resource.
func (p *Plan) describe(w *who, public *url.URL) error {
	i := p.cfg.Identity
	o := identity.ResourceOptions{Public: public, Upstream: p.upstream, Transport: p.transport, Logger: p.o.Logger,
		AuthorizationServers: i.AuthorizationServers, Scopes: i.RequiredScopes}
	if p.cfg.Upstream.Resource == "same" {
		o.Layout = identity.Same
	}
	if i.Source == "jwt" && len(o.AuthorizationServers) == 0 {
		o.AuthorizationServers = nil
		if u, err := url.Parse(i.Issuer); err == nil && u.Host != "" {
			o.AuthorizationServers = []string{i.Issuer}
		}
	}
	var err error
	if w.resource, err = identity.NewResource(o); err != nil {
		p.faults(err)
		return &config.Error{Problems: p.problems}
	}
	w.metadata = o.Layout == identity.Same || i.Source == "jwt"
	return nil
}
