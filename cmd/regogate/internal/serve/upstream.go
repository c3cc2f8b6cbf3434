package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"
)

// checkUpstream makes what reaches the server behind the gate.
func (p *Plan) checkUpstream() {
	u := p.cfg.Upstream
	if u.URL == "" {
		p.checkCommand()
		return
	}
	at, err := url.Parse(u.URL)
	switch {
	case err != nil:
		p.wrong("upstream.url", "is no URL", "give the server's endpoint, like http://127.0.0.1:3000/mcp")
		return
	case at.Scheme != "http" && at.Scheme != "https":
		p.wrong("upstream.url", fmt.Sprintf("%q is no scheme that a server can be reached by", at.Scheme), "give an http or https URL")
		return
	case at.Host == "" || at.Opaque != "" || at.Fragment != "" || at.User != nil:
		p.wrong("upstream.url", "is not the URL of an endpoint", "give http(s)://host[:port]/path, without a user or a fragment")
		return
	}
	p.upstream = at
	secure := p.clientTLS(at)
	token := p.token()
	if at.Scheme == "http" && !loopback(at.Hostname()) && (token != nil || u.Resource == "same") && u.Insecure != "allow" {
		p.wrong(firstSet(p.cfg, "upstream.token_file", "upstream.token_env", "upstream.resource"),
			"tokens would be sent to "+at.Host+" in the clear", "give an https URL, or say upstream.insecure: allow")
	}
	if token != nil && u.Resource == "same" {
		p.wrong("upstream.resource", "the server would get two credentials, the clients' and the gate's", "say own, or give no token of the gate's own")
	}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure, DisableCompression: true, ForceAttemptHTTP2: true,
		MaxIdleConns: 1024, MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 1 << 20,
	}
	p.close = append(p.close, t.CloseIdleConnections)
	p.transport = t
	if token != nil {
		p.transport = &credential{next: t, token: token}
	}
}

// checkCommand refuses what only an HTTP server could have.
func (p *Plan) checkCommand() {
	for _, key := range []string{"upstream.ca_file", "upstream.cert_file", "upstream.key_file", "upstream.token_file", "upstream.token_env"} {
		if p.cfg.Where(key) != "" {
			p.wrong(key, "says how to reach a server over HTTP, but there is none", "remove it, or give upstream.url")
		}
	}
	if p.cfg.Upstream.Resource == "same" {
		p.wrong("upstream.resource", "same needs an HTTP server to be one resource with", "remove it, or give upstream.url")
	}
}

// clientTLS is how the gate speaks TLS with the server.
func (p *Plan) clientTLS(at *url.URL) *tls.Config {
	u := p.cfg.Upstream
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if key := firstSet(p.cfg, "upstream.ca_file", "upstream.cert_file", "upstream.key_file"); at.Scheme == "http" && p.cfg.Where(key) != "" {
		p.wrong(key, "is about TLS, and the URL is http", "give an https URL")
	}
	if u.CAFile != "" {
		pool, err := authorities(u.CAFile)()
		p.fault("upstream.ca_file", err, "name a file with certificates of authorities, as PEM")
		c.RootCAs = pool
	}
	if (u.CertFile == "") != (u.KeyFile == "") {
		p.wrong(firstSet(p.cfg, "upstream.cert_file", "upstream.key_file"), "a client certificate needs its key", "give both upstream.cert_file and upstream.key_file")
	} else if u.CertFile != "" {
		own, err := newReloaded(p.o.Logger, certificate(u.CertFile, u.KeyFile), u.CertFile, u.KeyFile)
		p.fault("upstream.cert_file", err, "name a certificate that is valid, and its own key, as PEM")
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own.get(), nil }
	}
	return c
}

// token returns what says the gate's own token for the server; nil when it has none.
func (p *Plan) token() func() string {
	u := p.cfg.Upstream
	switch {
	case u.TokenFile != "" && u.TokenEnv != "":
		p.wrong("upstream.token_env", "there are two tokens", "give either it or upstream.token_file")
	case u.TokenEnv != "":
		value, err := checkToken(os.Getenv(u.TokenEnv))
		p.fault("upstream.token_env", err, "set the environment variable "+u.TokenEnv)
		return func() string { return value }
	case u.TokenFile != "":
		r, err := newReloaded(p.o.Logger, func() (string, error) {
			data, err := readFile(u.TokenFile, 64<<10)
			if err != nil {
				return "", err
			}
			return checkToken(string(data))
		}, u.TokenFile)
		p.fault("upstream.token_file", err, "name a file with the token and nothing else")
		return r.get
	}
	return nil
}

// checkToken returns a token without the white space around it.
func checkToken(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", errors.New("the token is empty")
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return "", errors.New("the token has characters that no token has")
		}
	}
	return s, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// A credential has requests carry the gate's own token, and nobody else's.
type credential struct {
	next  http.RoundTripper
	token func() string
}

// RoundTrip implements http.RoundTripper.
func (c *credential) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token())
	return c.next.RoundTrip(r)
}

// A stripper keeps headers of the gate's own from the server.
type stripper struct {
	next  http.RoundTripper
	strip func(http.Header)
}

// RoundTrip implements http.RoundTripper.
func (s *stripper) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	s.strip(r.Header)
	return s.next.RoundTrip(r)
}
