package serve

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/config"
)

func TestUpstream(t *testing.T) {
	up := newUpstream(t, nil)
	s := start(t, load(t, t.TempDir(), "upstream: {url: "+up.URL+"}"))
	require.NoError(t, s.Ready())
	cs := connect(t, s.url, nil)
	require.False(t, read(t, cs, "/a").IsError)
	require.True(t, read(t, cs, "/etc/shadow").IsError)
	require.Contains(t, s.rules.last(), `"subject":"conf"`)
	require.NoError(t, cs.Close())
}

// A command serves stateless clients by a pool and each session by a process of its own,
// and nothing of it is left at the end.
func TestCommand(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(stdioEnv, "1")
	s := start(t, load(t, t.TempDir(), "bridge: {pool: 1}"), self)
	for range 2 {
		cs := connect(t, s.url, nil)
		require.False(t, read(t, cs, "/a").IsError)
		require.True(t, read(t, cs, "/etc/shadow").IsError)
	}
	require.Equal(t, 1, s.bridge.Processes())
	client := clientOf(t, nil)
	var sessions []string
	for range 2 {
		resp, body := post(t, client, s.url)
		require.Equal(t, 200, resp.StatusCode, body)
		sessions = append(sessions, resp.Header.Get("Mcp-Session-Id"))
	}
	require.Equal(t, 3, s.bridge.Processes())
	r, err := http.NewRequest(http.MethodDelete, s.url, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Mcp-Session-Id", sessions[0])
	resp, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 204, resp.StatusCode)
	require.Eventually(t, func() bool { return s.bridge.Processes() == 2 }, 30*time.Second, 10*time.Millisecond)
	s.signals <- syscall.SIGTERM
	s.wait(t)
	require.Zero(t, s.bridge.Processes())
}

// On SIGTERM a call under way finishes, and a stream doesn't keep the gate.
func TestDrain(t *testing.T) {
	release := make(chan struct{})
	up := newUpstream(t, release)
	s := start(t, load(t, t.TempDir(), "upstream: {url: "+up.URL+"}\nhttp: {drain_timeout: 50s}"))
	cs := connect(t, s.url, nil) // with a GET stream
	done := make(chan error, 1)
	go func() {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait"})
		if err == nil && res.IsError {
			err = errors.New("refused")
		}
		done <- err
	}()
	require.Eventually(t, func() bool { return s.rules.last() != "" }, 30*time.Second, time.Millisecond)
	s.signals <- syscall.SIGTERM
	require.Eventually(t, func() bool { return s.Ready() != nil }, 30*time.Second, time.Millisecond)
	select {
	case err := <-done:
		t.Fatalf("the call ended early: %v", err)
	case err := <-s.ended:
		t.Fatalf("the gate ended early: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	_, err := net.DialTimeout("tcp", s.Address(), time.Second)
	require.Error(t, err, "it still takes connections")
	close(release)
	require.NoError(t, <-done)
	s.wait(t)
	_ = cs.Close()
}

// A call that doesn't finish is broken off when its time is over.
func TestDrainIsBounded(t *testing.T) {
	never := make(chan struct{})
	up := newUpstream(t, never)
	t.Cleanup(func() { close(never) })
	s := start(t, load(t, t.TempDir(), "upstream: {url: "+up.URL+"}\nhttp: {drain_timeout: 200ms}"))
	cs := connect(t, s.url, nil)
	done := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait"})
		done <- err
	}()
	require.Eventually(t, func() bool { return s.rules.last() != "" }, 30*time.Second, time.Millisecond)
	s.signals <- syscall.SIGTERM
	s.wait(t)
	require.Error(t, <-done)
	require.Contains(t, s.log.String(), "broken off")
	_ = cs.Close()
}

func TestTLS(t *testing.T) {
	dir, a, up := t.TempDir(), newAuthority(t), newUpstream(t, nil)
	cert, key := a.issue(t, dir, "gate", 1, time.Now().Add(time.Hour))
	s := start(t, load(t, dir, fmt.Sprintf("upstream: {url: %q}\ntls: {cert_file: gate.pem, key_file: gate.key}", up.URL)))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool()}, ForceAttemptHTTP2: true}
	client := clientOf(t, transport)
	resp, body := post(t, client, s.url)
	require.Equal(t, 200, resp.StatusCode, body)
	require.Equal(t, 2, resp.ProtoMajor)
	require.EqualValues(t, 1, resp.TLS.PeerCertificates[0].SerialNumber.Int64())
	require.False(t, read(t, connect(t, s.url, client), "/a").IsError)

	// Another certificate is used as soon as it is there, and a broken one never.
	serial := func() int64 {
		transport.CloseIdleConnections()
		c, err := tls.Dial("tcp", s.Address(), &tls.Config{RootCAs: a.pool(), ServerName: "localhost"})
		require.NoError(t, err)
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	a.issue(t, dir, "gate", 2, time.Now().Add(time.Hour))
	require.Eventually(t, func() bool { return serial() == 2 }, 30*time.Second, 50*time.Millisecond)
	require.NoError(t, os.WriteFile(cert, []byte("nothing"), 0o600))
	require.Eventually(t, func() bool { serial(); return strings.Contains(s.log.String(), "stays in force") }, 30*time.Second, 50*time.Millisecond)
	require.EqualValues(t, 2, serial())
	require.NoError(t, os.Remove(key))
	require.EqualValues(t, 2, serial())

	_, err := tls.Dial("tcp", s.Address(), &tls.Config{RootCAs: a.pool(), ServerName: "localhost", MaxVersion: tls.VersionTLS11})
	require.Error(t, err)
}

func TestClientCertificates(t *testing.T) {
	dir, a, other, up := t.TempDir(), newAuthority(t), newAuthority(t), newUpstream(t, nil)
	a.issue(t, dir, "gate", 1, time.Now().Add(time.Hour))
	writePEM(t, filepath.Join(dir, "ca.pem"), "CERTIFICATE", a.cert.Raw)
	s := start(t, load(t, dir, fmt.Sprintf("upstream: {url: %q}\ntls: {cert_file: gate.pem, key_file: gate.key, client_ca_file: ca.pem}", up.URL)))
	try := func(by *authority) error {
		c := &tls.Config{RootCAs: a.pool()}
		if by != nil {
			own, err := tls.LoadX509KeyPair(by.issue(t, t.TempDir(), "client", 3, time.Now().Add(time.Hour)))
			require.NoError(t, err)
			c.Certificates = []tls.Certificate{own}
		}
		resp, err := clientOf(t, &http.Transport{TLSClientConfig: c}).Get(s.url)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	require.NoError(t, try(a))
	require.Error(t, try(nil))
	require.Error(t, try(other))
}

func TestBadFiles(t *testing.T) {
	dir, a := t.TempDir(), newAuthority(t)
	a.issue(t, dir, "good", 1, time.Now().Add(time.Hour))
	a.issue(t, dir, "old", 1, time.Now().Add(-time.Hour))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "odd"), []byte("a\nb"), 0o600))
	up := `upstream: {url: "https://up.example/"`
	for yaml, want := range map[string]string{
		up + "}\ntls: {cert_file: old.pem, key_file: old.key}":                          "c.yaml:2: tls.cert_file: " + filepath.Join(dir, "old.pem") + ": the certificate has expired on ",
		up + "}\ntls: {cert_file: good.pem, key_file: old.key}":                         "tls.cert_file: private key does not match",
		up + "}\ntls: {cert_file: good.pem, key_file: good.key, client_ca_file: empty}": "tls.client_ca_file: " + filepath.Join(dir, "empty") + ": there is no certificate",
		up + ", ca_file: empty}":                                                                     "upstream.ca_file: ",
		up + ", cert_file: old.pem, key_file: old.key}":                                              "upstream.cert_file: ",
		up + ", cert_file: good.pem}":                                                                "upstream.cert_file: a client certificate needs its key",
		up + ", token_file: empty}":                                                                  "upstream.token_file: the token is empty",
		up + ", token_file: odd}":                                                                    "upstream.token_file: the token has characters",
		up + ", token_env: REGOGATE_TEST_UNSET}":                                                     "upstream.token_env: the token is empty",
		up + ", token_file: good.key, token_env: X}":                                                 "there are two tokens",
		"upstream: {url: \"http://127.0.0.1/\", ca_file: good.pem}":                                  "upstream.ca_file: is about TLS",
		"upstream: {url: \"http://up.example/\", resource: same}":                                    "in the clear",
		"upstream: {url: \"https://up.example/\", resource: same, token_env: PATH}":                  "two credentials",
		"listen: {address: \"127.0.0.1:0\", public_url: \"ftp://x\"}\n" + up + "}":                   "listen.public_url: ",
		"listen: {address: \"127.0.0.1:0\", path: /.well-known/x}\n" + up + "}":                      "listen.path: ",
		"listen: {address: \"10.1.1.1:1\"}\ntls: {cert_file: no.pem, key_file: no.pem}\n" + up + "}": "tls.cert_file: ",
	} {
		_, _, _, err := prepare(t, load(t, dir, yaml), nil)
		var mistakes *config.Error
		require.ErrorAs(t, err, &mistakes, yaml)
		require.ErrorContains(t, err, want, yaml)
	}
}

// What is allowed by name starts, and says so.
func TestAllowedByName(t *testing.T) {
	s := start(t, load(t, t.TempDir(), "listen: {address: \"0.0.0.0:0\", insecure: allow, public_url: \"https://gate.example/mcp\"}\nupstream: {url: \"http://127.0.0.1:1/\"}"))
	f := s.Facts()
	require.True(t, f.Exposed)
	require.False(t, f.TLS)
	require.Equal(t, []string{"localhost", "127.0.0.1", "::1", "gate.example"}, f.Hosts)
	_, port, err := net.SplitHostPort(s.Address())
	require.NoError(t, err)
	client, at := clientOf(t, nil), "http://127.0.0.1:"+port+"/mcp"
	for host, want := range map[string]int{"127.0.0.1:" + port: 502, "gate.example": 502, "evil.example": 403} {
		resp, body := post(t, client, at, "Host", host)
		require.Equal(t, want, resp.StatusCode, host)
		require.True(t, json.Valid([]byte(body)), body)
	}
}

// A port that is taken is an error that names the key.
func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	plan, _, _, err := prepare(t, load(t, t.TempDir(), fmt.Sprintf("listen: {address: %q}\nupstream: {url: \"http://127.0.0.1:1/\"}", l.Addr())), nil)
	require.NoError(t, err)
	_, err = plan.Start(t.Context())
	require.ErrorContains(t, err, "c.yaml:1: listen.address: can't be listened on: ")
}

func TestHeadersAndConnectionsAreBounded(t *testing.T) {
	up := newUpstream(t, nil)
	s := start(t, load(t, t.TempDir(), "upstream: {url: "+up.URL+"}\nhttp: {connections: 2, header_timeout: 300ms, header_bytes: 8KiB, idle_timeout: 300ms}"))
	long, err := http.NewRequest(http.MethodGet, s.url, http.NoBody)
	require.NoError(t, err)
	long.Header.Set("X-Long", strings.Repeat("x", 64<<10))
	refused, err := clientOf(t, &http.Transport{DisableKeepAlives: true}).Do(long)
	if err == nil { // the server may also hang up while we are still writing
		require.Equal(t, 431, refused.StatusCode)
		require.NoError(t, refused.Body.Close())
	}
	// Two connections that say nothing use both places, and lose them in time.
	for range 2 {
		c, err := net.Dial("tcp", s.Address())
		require.NoError(t, err)
		defer c.Close()
	}
	resp, body := post(t, clientOf(t, nil), s.url)
	require.Equal(t, 200, resp.StatusCode, body)
}

// A client that doesn't read loses its connection, and a silent stream stays.
func TestSlowReader(t *testing.T) {
	gone, quiet := make(chan struct{}), make(chan struct{})
	h := patient(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quiet" {
			_ = http.NewResponseController(w).Flush()
			<-quiet
			_, _ = io.WriteString(w, "still here")
			return
		}
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				close(gone)
				return
			}
		}
	}), 300*time.Millisecond)
	server := httptest.NewServer(h)
	defer server.Close()
	resp, err := clientOf(t, &http.Transport{DisableKeepAlives: true}).Get(server.URL + "/quiet")
	require.NoError(t, err)
	defer resp.Body.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Fatal("it is waited for without end")
	}
	close(quiet)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "still here", string(body))
}
