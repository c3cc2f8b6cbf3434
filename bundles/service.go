package bundles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/plugins/rest"
)

// A Service says how to speak to a server: with which credentials, and which
// certificates to trust. It is for every URL that URL is a part of: the same scheme,
// host and port, and a path below its own. One of Token*, Cert*, OAuth2* and OPAFile.
type Service struct {
	URL string
	// TokenFile holds a bearer token, read anew for each request; TokenEnv names an
	// environment variable that holds one.
	TokenFile, TokenEnv string
	// CAFile holds the certificates, in PEM, that the server's is checked with, in
	// place of those of the system.
	CAFile string
	// CertFile and KeyFile are the client's certificate and key in PEM.
	CertFile, KeyFile string
	// OAuth2 client credentials.
	OAuth2TokenURL, OAuth2ClientID    string
	OAuth2SecretFile, OAuth2SecretEnv string
	OAuth2Scopes                      string // with spaces between them
	// OPAFile holds what OPA's configuration says of a service, in JSON or YAML: headers,
	// tls and credentials of every kind that OPA has, for clouds as well. A member
	// "keys" beside them may hold the keys that they name.
	OPAFile string
}

// An endpoint is a service ready to be used. Authentication and transport are those of
// OPA's REST plugin.
type endpoint struct {
	base    *url.URL // nil: every other server, without credentials
	client  *http.Client
	mu      sync.Mutex // OPA's plugins keep tokens without a lock
	auth    rest.HTTPAuthPlugin
	headers map[string]string
	timeout time.Duration
}

// endpoints are those of the configuration, and one for all other servers.
type endpoints []*endpoint

const defaultTimeout = 30 * time.Second

// newEndpoints makes the services ready. Each line of the error begins with the key of
// the configuration that it is about.
func newEndpoints(services []Service, timeout time.Duration, signed bool) (endpoints, error) {
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	var out endpoints
	var errs []error
	for i, s := range services {
		e, err := s.endpoint(fmt.Sprintf("services[%d]", i), signed)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if slices.ContainsFunc(out, func(o *endpoint) bool { return o.base.String() == e.base.String() }) {
			errs = append(errs, fmt.Errorf("services[%d].url: %s is there twice", i, display(s.URL)))
		}
		e.timeout = timeout
		out = append(out, e)
	}
	// The longest first, so that the most exact one counts.
	slices.SortStableFunc(out, func(a, b *endpoint) int { return len(b.base.Path) - len(a.base.Path) })
	plain, err := Service{URL: "https://other.invalid"}.endpoint("services", signed)
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	plain.base, plain.timeout = nil, timeout
	return append(out, plain), errors.Join(errs...)
}

// of returns the endpoint for a URL.
func (es endpoints) of(u *url.URL) (*endpoint, error) {
	for _, e := range es {
		if e.base == nil || covers(e.base, u) {
			return e, nil
		}
	}
	return nil, errors.New("there is no endpoint for it") // can't be: the last one is for all
}

func covers(base, u *url.URL) bool {
	if !sameHost(base, u) {
		return false
	}
	path := strings.TrimSuffix(base.Path, "/")
	return u.Path == path || strings.HasPrefix(u.Path, path+"/") || path == ""
}

// sameHost compares scheme, host and port.
func sameHost(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// endpoint makes one service ready, and finds now what would fail at the first request.
func (s Service) endpoint(field string, signed bool) (*endpoint, error) {
	if s.URL == "" {
		return nil, fmt.Errorf("%s.url: is missing", field)
	}
	u, err := parseURL(s.URL)
	if err != nil {
		return nil, fmt.Errorf("%s.url: %w", field, err)
	}
	if u.RawQuery != "" {
		return nil, fmt.Errorf("%s.url: %s: the URL of a service has no query", field, display(s.URL))
	}
	if err := s.check(field, u); err != nil {
		return nil, err
	}
	config, err := s.config(field, signed)
	if err != nil {
		return nil, err
	}
	auth, err := config.AuthPlugin(nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.credentialField(field), err)
	}
	client, err := auth.NewClient(*config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.credentialField(field), reason(err))
	}
	client.CheckRedirect = sameHostOnly
	if t, ok := client.Transport.(*http.Transport); ok {
		t.DisableCompression = true // a .tar.gz is compressed, and comes as it is
	}
	return &endpoint{base: u, client: client, auth: auth, headers: config.Headers}, nil
}

// sameHostOnly follows a redirect only to the host that was asked, so that neither
// credentials nor the choice of the policy go anywhere else.
func sameHostOnly(req *http.Request, via []*http.Request) error {
	const most = 5
	if len(via) >= most {
		return fmt.Errorf("redirected more than %d times", most)
	}
	if !sameHost(via[0].URL, req.URL) {
		return fmt.Errorf("redirected to another host, %s://%s: name that one in the configuration if it is right", req.URL.Scheme, req.URL.Host)
	}
	return nil
}

// check looks at the files and variables that the service names.
func (s Service) check(field string, u *url.URL) error {
	kinds := 0
	for _, used := range []bool{s.TokenFile != "" || s.TokenEnv != "", s.CertFile != "" || s.KeyFile != "", s.usesOAuth2(), s.OPAFile != ""} {
		if used {
			kinds++
		}
	}
	secret := kinds > 0 && s.CertFile == ""
	switch {
	case kinds > 1:
		return fmt.Errorf("%s: more than one kind of credentials: keep one", field)
	case secret && u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("%s.url: %s: credentials would go over the network in the clear: use https", field, display(s.URL))
	case s.TokenFile != "" && s.TokenEnv != "":
		return fmt.Errorf("%s.token_file: give either token_file or token_env", field)
	case (s.CertFile == "") != (s.KeyFile == ""):
		return fmt.Errorf("%s.cert_file: cert_file and key_file belong together", field)
	case s.usesOAuth2() && (s.OAuth2SecretFile == "") == (s.OAuth2SecretEnv == ""):
		return fmt.Errorf("%s.oauth2_secret_file: give either oauth2_secret_file or oauth2_secret_env", field)
	}
	for _, f := range []struct{ key, file string }{{"token_file", s.TokenFile}, {"ca_file", s.CAFile}, {"oauth2_secret_file", s.OAuth2SecretFile}, {"cert_file", s.CertFile}, {"key_file", s.KeyFile}} {
		if f.file == "" {
			continue
		}
		text, err := readSmall(f.file)
		if err == nil && strings.TrimSpace(string(text)) == "" {
			err = errors.New("there is nothing in it")
		}
		if err == nil && f.key == "ca_file" && !x509.NewCertPool().AppendCertsFromPEM(text) {
			err = errors.New("no certificate in PEM in it")
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %s: %w", field, f.key, f.file, err)
		}
	}
	for _, e := range []struct{ key, name string }{{"token_env", s.TokenEnv}, {"oauth2_secret_env", s.OAuth2SecretEnv}} {
		if e.name != "" && strings.TrimSpace(os.Getenv(e.name)) == "" {
			return fmt.Errorf("%s.%s: the environment variable %s is not set", field, e.key, e.name)
		}
	}
	if s.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile); err != nil {
			return fmt.Errorf("%s.cert_file: %s with %s: %w", field, s.CertFile, s.KeyFile, err)
		}
	}
	return nil
}

func (s Service) usesOAuth2() bool {
	return s.OAuth2TokenURL+s.OAuth2ClientID+s.OAuth2SecretFile+s.OAuth2SecretEnv+s.OAuth2Scopes != ""
}

// credentialField is the key that an error of OPA's plugin is about.
func (s Service) credentialField(field string) string {
	switch {
	case s.OPAFile != "":
		return field + ".opa_file: " + s.OPAFile
	case s.usesOAuth2():
		return field + ".oauth2_token_url"
	case s.CertFile != "":
		return field + ".cert_file"
	case s.CAFile != "":
		return field + ".ca_file"
	}
	return field + ".url"
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
