package test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/test/wire"
)

// smuggleFlags are those of a gate that lets the allowed tool run, but not with
// "/secret", and nothing else. more is added to its configuration.
func smuggleFlags(t *testing.T, n wire.Names, more string) []string {
	t.Helper()
	dir := writeBundle(t, map[string]string{
		".manifest": `{"revision":"smuggle","roots":["shared"],"metadata":{"regogate":{"common":[{"package":"shared.smuggle"}]}}}`,
		"smuggle.rego": `package shared.smuggle

deny contains "not that tool" if input.tool.name == "` + n.Secret + `"

deny contains "not that value" if {
	some value in input.arguments
	value == "/secret"
}
`,
		"../regogate.yaml": "http:\n  body_timeout: 500ms\n" + more,
	})
	return []string{"--config", filepath.Join(filepath.Dir(dir), "regogate.yaml"), "--bundle", dir}
}

// certificate writes one of 127.0.0.1 and its key, and returns the configuration that
// names them.
func certificate(t *testing.T) (yaml string, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	return fmt.Sprintf("tls: {cert_file: %q, key_file: %q}\n", filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")), roots
}

// openSession begins a session through a gate and returns its id.
func openSession(t *testing.T, x wire.Target) string {
	t.Helper()
	endpoint, transport := "http://"+x.Addr+x.Path, &http.Transport{}
	if x.HTTP2 != nil {
		endpoint, transport.TLSClientConfig = "https://"+x.Addr+x.Path, &tls.Config{RootCAs: x.HTTP2}
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	post := func(session, message string) *http.Response {
		r, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(message))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", wire.Sessions.Version())
		}
		res, err := client.Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 2, res.StatusCode/100, "%s", body)
		return res
	}
	res := post("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`)
	session := res.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return session
}

// tooLong are the cases with more than the 10 MiB that a line of the TypeScript SDK takes.
var tooLong = []string{"16 MiB less a little", "16 MiB and more"}

// Every trick, over HTTP through regogate serve, in front of real servers: what is hidden
// never runs, and what is allowed still does.
func TestNothingIsSmuggledOverHTTP(t *testing.T) {
	for name, secure := range map[string]bool{"HTTP 1.1": false, "HTTP 2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is spent waiting for bodies that don't come
			smuggleOverHTTP(t, secure)
		})
	}
}

// A played server is one to play the cases on, and how to tell what it ran.
type playedServer struct {
	server []string // what regogate serve is told of it
	era    wire.Era
	names  wire.Names
	saw    func([][]byte) []wire.Run
	// mirrored says that its schema has x-mcp-header.
	mirrored bool
	skip     []string
}

func smuggleOverHTTP(t *testing.T, secure bool) {
	folder := e2eFolder(t)
	play := func(t *testing.T, p playedServer) {
		more, scheme, roots := "", "http", (*x509.CertPool)(nil)
		if secure {
			more, roots = certificate(t)
			scheme = "https"
		}
		endpoint, err := url.Parse(served(t, smuggleFlags(t, p.names, more), p.server...))
		require.NoError(t, err)
		endpoint.Scheme = scheme
		x := wire.Target{
			Addr: endpoint.Host, Path: endpoint.Path, Era: p.era, Names: p.names, Saw: p.saw, Skip: p.skip,
			GateID: func() string { return "" }, Mirrored: p.mirrored, HTTP2: roots,
		}
		if p.era == wire.Sessions {
			x.Session = openSession(t, x)
		}
		wire.Play(t, x)
	}
	for _, kind := range []string{goSDK, mcpGo} {
		for _, e := range []wire.Era{wire.Sessions, wire.Stateless} {
			t.Run(kind+", "+string(e), func(t *testing.T) {
				var log runLog
				play(t, playedServer{[]string{"--upstream", goServerHTTP(t, kind, e, log.add)}, e, wire.DefaultNames(), log.take, true, nil})
			})
		}
		t.Run(kind+" on stdio, bridged", func(t *testing.T) {
			runs := filepath.Join(t.TempDir(), "runs")
			play(t, playedServer{append([]string{"--"}, goServerStdio(t, kind, runs)...), wire.Sessions, wire.DefaultNames(), fileRuns(t, runs), true, nil})
		})
	}
	t.Run("TypeScript 1", func(t *testing.T) {
		play(t, playedServer{[]string{"--upstream", everythingHTTP(t)}, wire.Sessions, everythingNames(), answered, false, nil})
	})
	t.Run("TypeScript 1 on stdio, bridged", func(t *testing.T) {
		play(t, playedServer{append([]string{"--"}, npmServer(t, "mcp-server-everything", "stdio")...), wire.Sessions, everythingNames(), answered, false, tooLong})
	})
	t.Run("TypeScript 2, stateless", func(t *testing.T) {
		runs, address := filepath.Join(t.TempDir(), "runs"), freeAddress(t)
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		background(t, address, nil, node22(t), filepath.Join(folder, "modern-server.mjs"), runs, port)
		play(t, playedServer{[]string{"--upstream", "http://" + address + "/mcp"}, wire.Stateless, wire.DefaultNames(), fileRuns(t, runs), true, nil})
	})
}

// Every trick that makes sense on standard streams, through regogate run.
func TestNothingIsSmuggledOnStdio(t *testing.T) {
	folder := e2eFolder(t)
	for _, kind := range []string{goSDK, mcpGo} {
		for _, e := range []wire.Era{wire.Sessions, wire.Stateless} {
			t.Run(kind+", "+string(e), func(t *testing.T) {
				runs := filepath.Join(t.TempDir(), "runs")
				playLines(t, goServerStdio(t, kind, runs), e, wire.DefaultNames(), fileRuns(t, runs))
			})
		}
	}
	t.Run("TypeScript 1", func(t *testing.T) {
		playLines(t, npmServer(t, "mcp-server-everything", "stdio"), wire.Sessions, everythingNames(), answered, tooLong...)
	})
	for _, e := range []wire.Era{wire.Sessions, wire.Stateless} {
		t.Run("TypeScript 2, "+string(e), func(t *testing.T) {
			runs := filepath.Join(t.TempDir(), "runs")
			playLines(t, []string{node22(t), filepath.Join(folder, "modern-server.mjs"), runs}, e, wire.DefaultNames(), fileRuns(t, runs), tooLong...)
		})
	}
}

// playLines plays the cases on one process.
func playLines(t *testing.T, server []string, e wire.Era, n wire.Names, saw func([][]byte) []wire.Run, skip ...string) {
	command := gated(t, smuggleFlags(t, n, ""), server)
	cmd := exec.Command(command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := wire.ReadLines(out)
	if e == wire.Sessions {
		_, err := io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		require.NoError(t, err)
		lines.Until(t, "0")
	}
	played := wire.PlayLines(t, wire.Stream{In: in, Out: lines, Era: e, Names: n, Saw: saw, Skip: skip, GateID: func() string { return "" }})
	require.Greater(t, played, 130)
	// A call may run after the answer to a later one.
	require.NoError(t, in.Close())
	rest := lines.All(t)
	require.NoError(t, cmd.Wait())
	require.Empty(t, slices.DeleteFunc(saw(rest), func(r wire.Run) bool { return !r.Hidden() && r.Tool != n.Secret }))
}
