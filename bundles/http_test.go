package bundles_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
)

func TestServerIsAskedWithItsETag(t *testing.T) {
	server := serveBundles(t)
	server.of(pack(t, revision("r1", 3)), `"1"`)
	w := watch(t, bundles.WatchOptions{Options: bundles.Options{Bundles: []string{server.bundle()}, Poll: quickPoll()}})
	asked := make(chan http.Header, 100)
	server.with(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Header.Clone():
		default:
		}
		w.WriteHeader(http.StatusNotModified)
	})
	h := <-asked
	require.Equal(t, `"1"`, h.Get("If-None-Match"))
	require.Equal(t, "modes=snapshot", h.Get("Prefer"))
	require.Equal(t, "regogate", h.Get("User-Agent"))
	confirmed := w.Status().Bundles[0].LastSuccess
	require.Eventually(t, func() bool { return w.Status().Bundles[0].LastSuccess.After(confirmed) }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(1), w.Status().Activations)

	server.with(func(w http.ResponseWriter, _ *http.Request) { // no ETag, and the same content in other bytes
		_, _ = w.Write(pack(t, revision("r1", 3)))
	})
	before := server.asked.Load()
	require.Eventually(t, func() bool { return server.asked.Load() > before+5 }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(1), w.Status().Activations)
	server.with(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pack(t, revision("r2", 5))) })
	w.until(t, "r2")

	before = server.asked.Load() // what was refused isn't judged, or told, again and again
	server.of([]byte("hello"), `"3"`)
	require.Eventually(t, func() bool { return server.asked.Load() > before+5 }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, 1, strings.Count(w.log.String(), "not a .tar.gz"))
	server.of(pack(t, with("x.rego", "package tools.x\n\ndeni := 1\n")), `"4"`)
	w.untilLogged(t, "x.rego:3:")
	before = server.asked.Load()
	require.Eventually(t, func() bool { return server.asked.Load() > before+5 }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(1), w.Status().Refusals)
	require.NotEmpty(t, w.Status().Bundles[0].Error, "also while the server says 304")
	server.of(pack(t, revision("r2", 5)), `"2"`) // back to what is in force
	require.Eventually(t, func() bool { return w.Status().Bundles[0].Error == "" }, 20*time.Second, 5*time.Millisecond)
}

// An ETag that is made of time and size is the same for two bundles of one second.
func TestTwoBundlesWithOneETag(t *testing.T) {
	server := serveBundles(t)
	of := func(archive []byte, modified time.Time) {
		server.with(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") == `"time-size"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("ETag", `"time-size"`)
			w.Header().Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
			_, _ = w.Write(archive)
		})
	}
	now := time.Now()
	of(pack(t, revision("r1", 3)), now)
	w := watch(t, bundles.WatchOptions{Options: bundles.Options{Bundles: []string{server.bundle()}, Poll: quickPoll()}})
	of(pack(t, revision("r2", 3)), now)
	w.until(t, "r2")
	require.Eventually(t, func() bool { return w.Status().Bundles[0].ETag == `"time-size"` }, 20*time.Second, 20*time.Millisecond)
	require.Equal(t, int64(2), w.Status().Activations)
}

func TestRedirectsWithinTheHostAreFollowed(t *testing.T) {
	server := serveBundles(t)
	archive := pack(t, revision("r1", 3))
	server.with(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusFound)
			return
		}
		_, _ = w.Write(archive)
	})
	require.NoError(t, load(t, bundles.Options{Bundles: []string{server.bundle()}}))
}

// A new revision is in force as soon as the server, which holds the question, has it.
func TestLongPolling(t *testing.T) {
	server := serveBundles(t)
	var mu sync.Mutex
	changed := make(chan struct{})
	archive, etag := pack(t, revision("r0", 0)), `"0"`
	server.with(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		body, tag, next := archive, etag, changed
		mu.Unlock()
		if r.Header.Get("If-None-Match") == tag {
			if strings.Contains(r.Header.Get("Prefer"), "wait=20") {
				select {
				case <-next:
					mu.Lock()
					body, tag = archive, etag
					mu.Unlock()
				case <-r.Context().Done():
					return
				}
			} else {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		w.Header().Set("Content-Type", "application/vnd.openpolicyagent.bundles")
		w.Header().Set("ETag", tag)
		_, _ = w.Write(body)
	})
	w := watch(t, bundles.WatchOptions{Options: bundles.Options{Bundles: []string{server.bundle()}, Poll: bundles.Poll{Interval: time.Hour, Hold: 20 * time.Second}}})
	var slowest time.Duration
	for i := range 10 {
		time.Sleep(20 * time.Millisecond) // so that the question is being held
		mu.Lock()
		archive, etag = pack(t, revision(fmt.Sprintf("r%d", i+1), i)), fmt.Sprintf("%q", fmt.Sprint(i+1))
		close(changed)
		changed = make(chan struct{})
		mu.Unlock()
		slowest = max(slowest, w.until(t, fmt.Sprintf("r%d", i+1)))
	}
	t.Logf("long polling, from publication until in force: slowest of 10 %s (promised: 500ms)", slowest)
	require.Less(t, slowest, within(500*time.Millisecond, 5*time.Second))
	require.LessOrEqual(t, server.asked.Load(), int64(12), "held, and not asked again and again")
}

// authorized serves a bundle to whom allow allows.
func authorized(t *testing.T, s *httptest.Server, allow func(*http.Request) bool) string {
	archive := pack(t, goodFiles())
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allow(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write(archive)
	})
	return s.URL + "/b/p.tar.gz"
}

func caOf(t *testing.T, s *httptest.Server) string {
	return writeFile(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

func TestCredentials(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ca := caOf(t, server)
	bearer := func(token string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+token }
	}
	one := func(s bundles.Service) []bundles.Service {
		s.URL = server.URL + "/b"
		if s.OPAFile == "" {
			s.CAFile = ca
		}
		return []bundles.Service{s}
	}
	load := func(url string, services []bundles.Service) error {
		return load(t, bundles.Options{Bundles: []string{url}, Services: services})
	}
	url := authorized(t, server, func(*http.Request) bool { return true })
	require.ErrorContains(t, load(url, nil), "certificate", "nobody knows this server")
	require.NoError(t, load(url, one(bundles.Service{})))

	url = authorized(t, server, bearer("s3cret"))
	token := writeFile(t, "token", []byte("other\n"))
	require.ErrorContains(t, load(url, one(bundles.Service{TokenFile: token})), "403")
	require.NoError(t, os.WriteFile(token, []byte("s3cret\n"), 0o600))
	require.NoError(t, load(url, one(bundles.Service{TokenFile: token})))
	t.Setenv("REGOGATE_TEST_TOKEN", "s3cret")
	require.NoError(t, load(url, one(bundles.Service{TokenEnv: "REGOGATE_TEST_TOKEN"})))
	elsewhere := one(bundles.Service{TokenFile: token})
	elsewhere[0].URL = server.URL + "/c"
	require.Error(t, load(url, elsewhere), "the service is for another path")

	opa := func(v any) bundles.Service {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		return bundles.Service{OPAFile: writeFile(t, "service.json", raw)}
	}
	withTLS := map[string]any{"ca_cert": ca}
	require.NoError(t, load(url, one(opa(map[string]any{"tls": withTLS, "credentials": map[string]any{"bearer": map[string]any{"token": "s3cret"}}}))))
	url = authorized(t, server, func(r *http.Request) bool { return r.Header.Get("X-Team") == "a" })
	require.NoError(t, load(url, one(opa(map[string]any{"tls": withTLS, "headers": map[string]any{"X-Team": "a"}}))))
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	t.Setenv("AWS_REGION", "eu-west-1")
	url = authorized(t, server, func(r *http.Request) bool {
		return strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKID/") && strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/s3/")
	})
	require.NoError(t, load(url, one(opa(map[string]any{"tls": withTLS, "credentials": map[string]any{"s3_signing": map[string]any{"environment_credentials": map[string]any{}}}}))))

	exchange := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if id != "gate" || secret != "s3cret" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "a b" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, "no: %s", secret)
			return
		}
		fmt.Fprint(w, `{"access_token": "t0ken", "token_type": "bearer", "expires_in": 600}`)
	}))
	defer exchange.Close()
	secret := writeFile(t, "secret", []byte("s3cret\n"))
	url = authorized(t, server, bearer("t0ken"))
	both := writeFile(t, "both.pem", []byte(readAll(t, ca)+readAll(t, caOf(t, exchange))))
	oauth := bundles.Service{OAuth2TokenURL: exchange.URL, OAuth2ClientID: "gate", OAuth2SecretFile: secret, OAuth2Scopes: "a b"}
	services := one(oauth)
	services[0].CAFile = both
	require.NoError(t, load(url, services))
	require.NoError(t, os.WriteFile(secret, []byte("wr0ng"), 0o600))
	err := load(url, services)
	require.ErrorContains(t, err, "token endpoint")
	require.NotContains(t, err.Error(), "wr0ng")
}

func TestClientCertificate(t *testing.T) {
	cert, key := selfSigned(t)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM([]byte(readAll(t, cert))))
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = nil
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	server.StartTLS()
	defer server.Close()
	url := authorized(t, server, func(r *http.Request) bool { return len(r.TLS.PeerCertificates) == 1 })
	s := bundles.Service{URL: server.URL, CAFile: caOf(t, server)}
	require.Error(t, load(t, bundles.Options{Bundles: []string{url}, Services: []bundles.Service{s}}))
	s.CertFile, s.KeyFile = cert, key
	require.NoError(t, load(t, bundles.Options{Bundles: []string{url}, Services: []bundles.Service{s}}))
}

// What is wrong with a service or a URL is told before anything is asked, with its field.
func TestBadServices(t *testing.T) {
	cert, key := selfSigned(t)
	_, otherKey := selfSigned(t)
	text := writeFile(t, "text", []byte("hello"))
	empty := writeFile(t, "empty", nil)
	opa := func(s string) bundles.Service {
		return bundles.Service{URL: "https://a.test", OPAFile: writeFile(t, "o.json", []byte(s))}
	}
	of := func(s bundles.Service) bundles.Service { s.URL = "https://a.test"; return s }
	for name, c := range map[string]struct {
		service bundles.Service
		want    string
	}{
		"no url":               {bundles.Service{}, "services[0].url"},
		"not a URL":            {bundles.Service{URL: "https://a.test:port/"}, "services[0].url"},
		"another scheme":       {bundles.Service{URL: "s3://a"}, "services[0].url"},
		"a password":           {bundles.Service{URL: "https://me:hunter2@a.test"}, "services[0].url"},
		"a query":              {bundles.Service{URL: "https://a.test/?sig=hunter2"}, "services[0].url"},
		"in the clear":         {bundles.Service{URL: "http://a.test", TokenFile: text}, "services[0].url"},
		"no token file":        {of(bundles.Service{TokenFile: "nowhere"}), "services[0].token_file: nowhere: no such file"},
		"empty token file":     {of(bundles.Service{TokenFile: empty}), "services[0].token_file"},
		"no token variable":    {of(bundles.Service{TokenEnv: "REGOGATE_NO_SUCH_VARIABLE"}), "services[0].token_env"},
		"both tokens":          {of(bundles.Service{TokenEnv: "HOME", TokenFile: text}), "services[0].token_file"},
		"no CA file":           {of(bundles.Service{CAFile: "nowhere"}), "services[0].ca_file"},
		"CA file without one":  {of(bundles.Service{CAFile: text}), "services[0].ca_file"},
		"certificate alone":    {of(bundles.Service{CertFile: cert}), "services[0].cert_file"},
		"not a certificate":    {of(bundles.Service{CertFile: text, KeyFile: key}), "services[0].cert_file"},
		"another's key":        {of(bundles.Service{CertFile: cert, KeyFile: otherKey}), "services[0].cert_file"},
		"no key file":          {of(bundles.Service{CertFile: cert, KeyFile: "nowhere"}), "services[0].key_file"},
		"OAuth2 without":       {of(bundles.Service{OAuth2TokenURL: "https://t.test"}), "services[0].oauth2_secret_file"},
		"OAuth2 in the clear":  {of(bundles.Service{OAuth2TokenURL: "http://t.test", OAuth2ClientID: "a", OAuth2SecretFile: text}), "services[0].oauth2_token_url"},
		"OAuth2 without an id": {of(bundles.Service{OAuth2TokenURL: "https://t.test", OAuth2SecretFile: text}), "services[0].oauth2_token_url"},
		"two kinds":            {of(bundles.Service{TokenFile: text, CertFile: cert, KeyFile: key}), "services[0]: more than one kind"},
		"no OPA file":          {of(bundles.Service{OPAFile: "nowhere"}), "services[0].opa_file"},
		"OPA: no object":       {opa(`[]`), "services[0].opa_file"},
		"OPA: unknown":         {opa(`{"credential": {}}`), "services[0].opa_file"},
		"OPA: unknown inside":  {opa(`{"credentials": {"bearer": {"tokn": "x"}}}`), "services[0].opa_file"},
		"OPA: two":             {opa(`{"credentials": {"bearer": {"token": "x"}, "gcp_metadata": {"scopes": ["a"]}}}`), "services[0].opa_file"},
		"OPA: no certificate":  {opa(`{"tls": {"ca_cert": "nowhere"}}`), "services[0].opa_file"},
		"OPA: unverified":      {opa(`{"allow_insecure_tls": true}`), "services[0].opa_file"},
		"OPA: a plugin":        {opa(`{"credentials": {"plugin": "mine"}}`), "services[0].opa_file"},
		"OPA: OCI":             {opa(`{"type": "oci"}`), "services[0].opa_file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bundles.NewWatcher(bundles.WatchOptions{Options: bundles.Options{Bundles: []string{"starter"}, Services: []bundles.Service{c.service}}, Use: nothing})
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
			var wrong *bundles.ConfigError
			require.ErrorAs(t, err, &wrong)
		})
	}
	for url, want := range map[string]string{
		"https://":                         "bundle: https://",
		"http:///x":                        "names no host",
		"https://a.test:x/b":               "bundle: ",
		"https://me:hunter2@a.test/b":      "credentials into services",
		"https://a.test/b#hunter2":         "no fragment",
		"https://a.test/%zz?token=hunter2": "bundle: https://a.test/",
		"oci://a.test/b":                   "oci",
	} {
		_, err := bundles.NewWatcher(bundles.WatchOptions{Options: bundles.Options{Bundles: []string{url}}, Use: nothing})
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "hunter2")
		_, err = bundles.NewWatcher(bundles.WatchOptions{Options: bundles.Options{Bundles: []string{"starter"}}, StatusURL: url, Use: nothing})
		require.ErrorContains(t, err, "bundles.status_url", url)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := bundles.NewWatcher(bundles.WatchOptions{Options: bundles.Options{Bundles: []string{"starter"}}, State: filepath.Join(text, "x"), Use: nothing})
	require.ErrorContains(t, err, "bundles.state")
}

// No credential is in a log, a status or an error, whatever goes wrong.
func TestSecretsAreNotTold(t *testing.T) {
	server := serveBundles(t)
	token := writeFile(t, "token", []byte("hunter2-token"))
	url := server.bundle() + "?sig=hunter2-signature"
	seen := &events{}
	answers := []struct {
		h    http.HandlerFunc
		want string
	}{
		{func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
		}, "401"},
		{func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.invalid/?sig=hunter2-redirect", http.StatusFound)
		}, "another host"},
		{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pack(t, with("x.rego", "package"))) }, "x.rego:1:"},
		{func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(pack(t, with("x.rego", "package tools.x\n\ndeni := 1\n")))
		}, "deni"},
	}
	server.with(answers[0].h)
	w := watch(t, bundles.WatchOptions{Observer: seen, Options: bundles.Options{Bundles: []string{url}, Poll: quickPoll(),
		Services: []bundles.Service{{URL: server.URL, TokenFile: token}}}})
	for _, a := range answers {
		server.with(a.h)
		w.untilLogged(t, a.want)
	}
	server.of(pack(t, revision("r1", 3)), `"1"`)
	w.until(t, "r1")
	server.Close()
	require.Eventually(t, func() bool { return w.Status().Bundles[0].Failures > 0 }, 20*time.Second, 5*time.Millisecond)
	w.stop()
	status, err := json.Marshal(w.Status())
	require.NoError(t, err)
	all := w.log.String() + string(status)
	for _, kind := range []bundles.EventKind{bundles.Refused, bundles.Unreachable} {
		for _, e := range seen.of(kind) {
			all += e.Err.Error() + e.Bundle
		}
	}
	require.Contains(t, all, "another host")
	require.NotContains(t, all, "hunter2")
}

func TestStatusIsPosted(t *testing.T) {
	server := serveBundles(t)
	server.of(pack(t, revision("r1", 3)), `"1"`)
	type update struct {
		Labels  map[string]string
		Bundles map[string]struct {
			Name           string
			ActiveRevision string `json:"active_revision"`
			Code, Message  string
			Activated      time.Time `json:"last_successful_activation"`
		}
	}
	updates := make(chan update, 100)
	failing := true
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var u update
		if err == nil {
			err = json.Unmarshal(raw, &u)
		}
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/status" || r.Header.Get("Authorization") != "Bearer t" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if failing {
			failing = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		updates <- u
	}))
	defer control.Close()
	w := watch(t, bundles.WatchOptions{StatusURL: control.URL + "/status", Options: bundles.Options{Bundles: []string{server.bundle()}, Poll: quickPoll(),
		Services: []bundles.Service{{URL: control.URL, TokenFile: writeFile(t, "token", []byte("t"))}}}})
	u := <-updates
	b := u.Bundles[server.bundle()]
	require.Equal(t, "r1", b.ActiveRevision)
	require.Equal(t, server.bundle(), b.Name)
	require.Empty(t, b.Code)
	require.False(t, b.Activated.IsZero())
	require.NotEmpty(t, u.Labels["id"])
	server.with(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	b = (<-updates).Bundles[server.bundle()]
	require.Equal(t, "bundle_error", b.Code)
	require.Contains(t, b.Message, "502")
	require.Equal(t, "r1", b.ActiveRevision)
	require.Equal(t, policy.Denied, w.decide(t, 4).Code())
}
