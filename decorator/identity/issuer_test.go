package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	issuerName = "https://issuer.example"
	audience   = "https://gate.example/mcp"
)

// The keys are made once, for RSA ones take their time.
var (
	rsaKey      = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSAKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey       = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	ed25519Key  = sync.OnceValue(func() ed25519.PrivateKey {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return must(private, err)
	})
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A fields is a JSON object.
type fields map[string]any

// with returns a copy with other members; nil removes one.
func (f fields) with(pairs ...any) fields {
	f = maps.Clone(f)
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i].(string)
		if f[name] = pairs[i+1]; pairs[i+1] == nil {
			delete(f, name)
		}
	}
	return f
}

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func goodHeader() fields { return fields{"alg": "RS256", "kid": "r1", "typ": "at+jwt"} }

func goodClaims() fields {
	return fields{"iss": issuerName, "aud": audience, "sub": "ann", "org": "acme", "scope": "mail:send mail:read",
		"exp": now.Add(time.Minute).Unix(), "iat": now.Unix(), "nbf": now.Unix()}
}

func b64(v any) string {
	data, isText := v.(string)
	if !isText {
		data = string(must(json.Marshal(v)))
	}
	return base64.RawURLEncoding.EncodeToString([]byte(data))
}

// A signer signs the first two parts of a token.
type signer func(input []byte) []byte

func rs256(key *rsa.PrivateKey) signer {
	return func(input []byte) []byte {
		sum := sha256.Sum256(input)
		return must(rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:]))
	}
}

func ps256(key *rsa.PrivateKey) signer {
	return func(input []byte) []byte {
		sum := sha256.Sum256(input)
		return must(rsa.SignPSS(rand.Reader, key, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}))
	}
}

func es256(key *ecdsa.PrivateKey) signer {
	return func(input []byte) []byte {
		sum := sha256.Sum256(input)
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			panic(err)
		}
		out := make([]byte, 64)
		r.FillBytes(out[:32])
		s.FillBytes(out[32:])
		return out
	}
}

func edDSA(key ed25519.PrivateKey) signer {
	return func(input []byte) []byte { return ed25519.Sign(key, input) }
}

func hs256(secret []byte) signer {
	return func(input []byte) []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write(input)
		return mac.Sum(nil)
	}
}

// mint makes a token of a header and a payload, which may be text as it is.
func mint(header, payload any, sign signer) string {
	input := b64(header) + "." + b64(payload)
	return input + "." + base64.RawURLEncoding.EncodeToString(sign([]byte(input)))
}

// public returns a key as it stands in a JWK set.
func public(raw any, id string, more ...any) fields {
	key := must(jwk.Import(raw))
	f := fields{}
	if err := json.Unmarshal(must(json.Marshal(key)), &f); err != nil {
		panic(err)
	}
	f["kid"] = id
	return f.with(more...)
}

func keySet(keys ...fields) string { return string(must(json.Marshal(fields{"keys": keys}))) }

// An issuerServer serves a JWK set that can be changed, and counts.
type issuerServer struct {
	*httptest.Server
	mu     sync.Mutex
	set    string
	status int
	header http.Header
	served int
}

func newIssuer(t *testing.T, set string) *issuerServer {
	s := &issuerServer{set: set, status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.served++
		maps.Copy(w.Header(), s.header)
		w.WriteHeader(s.status)
		_, _ = w.Write([]byte(s.set))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *issuerServer) answer(status int, set string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.set = status, set
}

func (s *issuerServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// A clock is a time that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func goodOptions(url string) JWTOptions {
	return JWTOptions{Issuer: issuerName, Audience: []string{audience}, KeysURL: url,
		Claims: ClaimNames{Tenant: "org"}, Now: func() time.Time { return now }}
}

func newJWT(t *testing.T, o JWTOptions) *JWT {
	t.Helper()
	j, err := NewJWT(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(j.Close)
	return j
}

func request(authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://gate.example/mcp", http.NoBody)
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	return r
}
