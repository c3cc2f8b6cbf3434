package serve

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
)

// stdioEnv makes the test binary be an MCP server on its standard streams instead.
const stdioEnv = "REGOGATE_TEST_STDIO_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(stdioEnv) != "" {
		_ = newTools(nil).Run(context.Background(), &mcp.StdioTransport{})
		return
	}
	goleak.VerifyTestMain(m)
}

// newTools returns a server whose tool "read" answers at once and whose tool "wait"
// answers when release is closed.
func newTools(release <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)
	answer := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}
	s.AddTool(&mcp.Tool{Name: "read", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return answer, nil
	})
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-release:
			return answer, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	return s
}

// rules allow everything but for what a call's path says, and note who called.
type rules struct {
	mu      sync.Mutex
	callers []string
}

func (*rules) Revision() string { return "r1" }

func (r *rules) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(r.deny)}
}

func (r *rules) deny(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	doc, err := json.Marshal(in.Caller())
	r.callers = append(r.callers, string(doc))
	if path, _ := in.Arguments().Lookup("/path"); path == "/etc/shadow" {
		return []policy.Refusal{{Message: "no"}}, err
	}
	return nil, err
}

func (r *rules) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.callers) == 0 {
		return ""
	}
	return r.callers[len(r.callers)-1]
}

// An upstream is an MCP server over HTTP that keeps the headers it got.
type upstream struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	refuse  bool
}

func newUpstream(t *testing.T, release <-chan struct{}) *upstream {
	t.Helper()
	u, s := &upstream{}, newTools(release)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		u.headers = append(u.headers, r.Header.Clone())
		refuse := u.refuse
		u.mu.Unlock()
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
			_, _ = io.WriteString(w, `{"resource":"`+u.URL+`/mcp","authorization_servers":["https://as.example"]}`)
		case refuse:
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+u.URL+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
		for session := range s.Sessions() { // those that their clients have left
			_ = session.Close()
		}
	})
	return u
}

// sent returns the values of a header in all requests.
func (u *upstream) sent(name string) (values []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, h := range u.headers {
		values = append(values, h.Values(name)...)
	}
	return values
}

// A served is a gate that serves.
type served struct {
	*Server
	url     string // that is listened on
	signals chan os.Signal
	ended   chan error
	rules   *rules
	log     *buffer
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// load reads a configuration that listens on any port.
func load(t *testing.T, dir, yaml string) config.Config {
	t.Helper()
	file := filepath.Join(dir, "c.yaml")
	if !strings.Contains(yaml, "listen:") {
		yaml += "\nlisten: {address: \"127.0.0.1:0\"}\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(yaml), 0o600))
	cfg, err := config.Load(config.Options{File: file})
	require.NoError(t, err)
	return cfg
}

func prepare(t *testing.T, cfg config.Config, command []string) (*Plan, *rules, *buffer, error) {
	t.Helper()
	gate, err := policy.NewGate(policy.Options{Timeout: time.Minute})
	require.NoError(t, err)
	r, log := &rules{}, &buffer{}
	gate.Use(r)
	plan, err := Prepare(Options{Config: cfg, Command: command, Gate: gate, Caller: policy.Caller{Subject: "conf"}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	return plan, r, log, err
}

func start(t *testing.T, cfg config.Config, command ...string) *served {
	t.Helper()
	plan, r, log, err := prepare(t, cfg, command)
	require.NoError(t, err)
	server, err := plan.Start(t.Context())
	require.NoError(t, err)
	s := &served{Server: server, signals: make(chan os.Signal, 2), ended: make(chan error, 1), rules: r, log: log}
	s.url = "http://" + server.Address() + cfg.Listen.Path
	if plan.tls != nil {
		s.url = "https://" + server.Address() + cfg.Listen.Path
	}
	go func() { s.ended <- server.Run(context.Background(), s.signals) }()
	t.Cleanup(func() {
		s.stop(t)
		if t.Failed() {
			t.Log(log)
		}
	})
	return s
}

// stop ends it at once.
func (s *served) stop(t *testing.T) {
	t.Helper()
	s.signals <- syscall.SIGTERM
	s.signals <- syscall.SIGTERM
	s.wait(t)
}

func (s *served) wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-s.ended:
		require.NoError(t, err)
		s.ended <- nil
	case <-time.After(time.Minute):
		t.Fatal("the gate doesn't end")
	}
}

// A clientOf has a transport of its own, which is closed at the end.
func clientOf(t *testing.T, transport *http.Transport) *http.Client {
	if transport == nil {
		transport = &http.Transport{}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func connect(t *testing.T, endpoint string, client *http.Client) *mcp.ClientSession {
	t.Helper()
	if client == nil {
		client = clientOf(t, nil)
	}
	client.Timeout = 0
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: client}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

func read(t *testing.T, cs *mcp.ClientSession, path string) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "read", Arguments: map[string]any{"path": path}})
	require.NoError(t, err)
	return res
}

// post sends one request of a session that there isn't.
func post(t *testing.T, client *http.Client, endpoint string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

// An authority makes certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	a := &authority{}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	return a
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// issue writes a certificate for this machine, with its key, into dir.
func (a *authority) issue(t *testing.T, dir, name string, serial int64, until time.Time) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	writePEM(t, certFile, "CERTIFICATE", der)
	writePEM(t, keyFile, "PRIVATE KEY", private)
	return certFile, keyFile
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}
