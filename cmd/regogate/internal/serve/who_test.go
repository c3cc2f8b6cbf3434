package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/lestrrat-go/jwx/v3/jws"
	"github.com/stretchr/testify/require"
)

// issuer writes a JWK set into dir and returns what makes good tokens.
func issuer(t *testing.T, dir string) func(subject string) string {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := jwk.Import(&private.PublicKey)
	require.NoError(t, err)
	set, err := json.Marshal(map[string]any{"keys": []any{public}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "keys.json"), set, 0o600))
	return func(subject string) string {
		payload, err := json.Marshal(map[string]any{"iss": "https://issuer.example", "aud": "gate", "sub": subject, "exp": time.Now().Add(time.Hour).Unix(), "scope": "a b"})
		require.NoError(t, err)
		token, err := jws.Sign(payload, jws.WithKey(jwa.ES256(), private))
		require.NoError(t, err)
		return string(token)
	}
}

// A bearer sends requests with a header.
type bearer struct {
	next        http.RoundTripper
	name, value string
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(b.name, b.value)
	return b.next.RoundTrip(r)
}

const jwtYAML = `
identity: {source: jwt, issuer: "https://issuer.example", audience: [gate], keys_file: keys.json, required_scopes: [a]}
`

// The gate checks tokens, keeps them, and has one of its own for the server.
func TestOwnResource(t *testing.T) {
	dir, up := t.TempDir(), newUpstream(t, nil)
	token := issuer(t, dir)
	file := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(file, []byte("own-1\n"), 0o600))
	s := start(t, load(t, dir, fmt.Sprintf("upstream: {url: %q, token_file: token}\n%s", up.URL, jwtYAML)))
	client := clientOf(t, nil)
	metadata := "http://" + s.Address() + "/.well-known/oauth-protected-resource/mcp"
	resp, body := post(t, client, s.url)
	require.Equal(t, 401, resp.StatusCode)
	require.Equal(t, `Bearer scope="a", resource_metadata="`+metadata+`"`, resp.Header.Get("WWW-Authenticate"))
	require.True(t, json.Valid([]byte(body)), body)
	resp, _ = post(t, client, s.url, "Authorization", "Bearer "+token("ann")+"x")
	require.Equal(t, 401, resp.StatusCode)
	require.Empty(t, up.sent("Accept"), "something reached the server")

	resp, err := client.Get(metadata)
	require.NoError(t, err)
	defer resp.Body.Close()
	var document map[string]any
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&document))
	require.Equal(t, map[string]any{"resource": s.url, "authorization_servers": []any{"https://issuer.example"}, "scopes_supported": []any{"a"}, "bearer_methods_supported": []any{"header"}}, document)

	client.Transport = &bearer{next: client.Transport, name: "Authorization", value: "Bearer " + token("ann")}
	require.False(t, read(t, connect(t, s.url, client), "/a").IsError)
	require.Contains(t, s.rules.last(), `"subject":"ann"`)
	sent := up.sent("Authorization")
	require.NotEmpty(t, sent)
	for _, value := range sent {
		require.Equal(t, "Bearer own-1", value)
	}
	require.NotContains(t, s.log.String(), "eyJ")

	// Its own token follows the file.
	require.NoError(t, os.WriteFile(file, []byte("own-22\n"), 0o600))
	require.Eventually(t, func() bool {
		post(t, client, s.url)
		sent := up.sent("Authorization")
		return sent[len(sent)-1] == "Bearer own-22"
	}, 30*time.Second, 50*time.Millisecond)

	// The server's 401 is about the gate's token, and no client's business.
	up.mu.Lock()
	up.refuse = true
	up.mu.Unlock()
	resp, body = post(t, client, s.url)
	require.Equal(t, 502, resp.StatusCode)
	require.Empty(t, resp.Header.Get("WWW-Authenticate"))
	require.Contains(t, body, "-32603")
}

// Without a source of identity and without a declaration, a client's token stays here.
func TestTokensAreNotPassedOn(t *testing.T) {
	up := newUpstream(t, nil)
	s := start(t, load(t, t.TempDir(), "upstream: {url: "+up.URL+"}"))
	resp, _ := post(t, clientOf(t, nil), s.url, "Authorization", "Bearer secret")
	require.Equal(t, 200, resp.StatusCode)
	require.Empty(t, up.sent("Authorization"))
}

// Gate and server are one resource: the token goes on, and the gate's address takes the
// place of the server's.
func TestSameResource(t *testing.T) {
	up := newUpstream(t, nil)
	s := start(t, load(t, t.TempDir(), fmt.Sprintf("listen: {address: \"127.0.0.1:0\", public_url: \"https://gate.example/mcp\"}\nupstream: {url: %q, resource: same}", up.URL+"/mcp")))
	client := clientOf(t, nil)
	resp, _ := post(t, client, s.url, "Authorization", "Bearer theirs")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, []string{"Bearer theirs"}, up.sent("Authorization"))
	up.mu.Lock()
	up.refuse = true
	up.mu.Unlock()
	resp, _ = post(t, client, s.url)
	require.Equal(t, 401, resp.StatusCode)
	require.Equal(t, `Bearer resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp"`, resp.Header.Get("WWW-Authenticate"))
	resp, err := client.Get("http://" + s.Address() + "/.well-known/oauth-protected-resource/mcp")
	require.NoError(t, err)
	defer resp.Body.Close()
	var document map[string]any
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&document))
	require.Equal(t, map[string]any{"resource": "https://gate.example/mcp", "authorization_servers": []any{"https://as.example"}}, document)
}

// Headers count from a trusted proxy only, and the server doesn't see them.
func TestTrustedHeaders(t *testing.T) {
	for cidr, want := range map[string]int{"127.0.0.0/8": 200, "192.0.2.1": 403} {
		up := newUpstream(t, nil)
		s := start(t, load(t, t.TempDir(), fmt.Sprintf("upstream: {url: %q}\nidentity:\n  source: headers\n  trusted_proxies: [%q]\n  headers: [{header: X-User, as: subject}]", up.URL, cidr)))
		client := clientOf(t, nil)
		resp, _ := post(t, client, s.url, "X-User", "ann")
		require.Equal(t, want, resp.StatusCode)
		if want != 200 {
			require.Empty(t, up.sent("Accept"))
			continue
		}
		client.Transport = &bearer{next: client.Transport, name: "X-User", value: "ann"}
		require.False(t, read(t, connect(t, s.url, client), "/a").IsError)
		require.Contains(t, s.rules.last(), `"subject":"ann"`)
		require.Empty(t, up.sent("X-User"))
	}
}

// A session is its first caller's: who else knows its id is told that there is none.
func TestSessionsAreTheirCallers(t *testing.T) {
	dir, up := t.TempDir(), newUpstream(t, nil)
	token := issuer(t, dir)
	s := start(t, load(t, dir, "upstream: {url: "+up.URL+"}"+jwtYAML))
	client := clientOf(t, nil)
	resp, _ := post(t, client, s.url, "Authorization", "Bearer "+token("ann"))
	require.Equal(t, 200, resp.StatusCode)
	session := resp.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	ask := func(subject string) int {
		r, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		require.NoError(t, err)
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Mcp-Session-Id": session, "Authorization": "Bearer " + token(subject)} {
			r.Header.Set(name, value)
		}
		resp, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, 202, ask("ann"))
	require.Equal(t, 404, ask("bob"))
	require.Contains(t, s.log.String(), "the session is another caller's")
	require.Equal(t, 202, ask("ann"))
}

// The memory for sessions is bounded.
func TestOwnersAreBounded(t *testing.T) {
	var o owners
	for i := range maxSessions + 10 {
		require.True(t, o.uses(strconv.Itoa(i), owner{subject: "ann"}))
	}
	require.Len(t, o.of, maxSessions)
}
