package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func everyKey() string {
	return keySet(
		public(&rsaKey().PublicKey, "r1"),
		public(&otherRSAKey().PublicKey, "pss", "alg", "PS256"),
		public(&ecKey().PublicKey, "e1", "use", "sig", "alg", "ES256"),
		public(ed25519Key().Public(), "o1"),
	)
}

func TestGoodTokens(t *testing.T) {
	o := goodOptions(newIssuer(t, everyKey()).URL)
	o.Algorithms = []string{"RS256", "PS256", "ES256", "EdDSA"}
	j := newJWT(t, o)
	h, c := goodHeader(), goodClaims()
	ann := policy.Caller{Subject: "ann", Tenant: "acme", Scopes: []string{"mail:send", "mail:read"}}
	for name, tc := range map[string]struct {
		token string
		want  policy.Caller
	}{
		"RS256":                 {mint(h, c, rs256(rsaKey())), ann},
		"PS256":                 {mint(h.with("alg", "PS256", "kid", "pss"), c, ps256(otherRSAKey())), ann},
		"ES256":                 {mint(h.with("alg", "ES256", "kid", "e1"), c, es256(ecKey())), ann},
		"EdDSA":                 {mint(h.with("alg", "EdDSA", "kid", "o1"), c, edDSA(ed25519Key())), ann},
		"no kid, one key fits":  {mint(h.with("alg", "ES256", "kid", nil), c, es256(ecKey())), ann},
		"no typ":                {mint(h.with("typ", nil), c, rs256(rsaKey())), ann},
		"typ JWT":               {mint(h.with("typ", "JWT"), c, rs256(rsaKey())), ann},
		"audiences":             {mint(h, c.with("aud", []string{"x", audience}), rs256(rsaKey())), ann},
		"expired a moment ago":  {mint(h, c.with("exp", now.Add(-29*time.Second).Unix()), rs256(rsaKey())), ann},
		"from a clock ahead":    {mint(h, c.with("nbf", now.Add(29*time.Second).Unix(), "iat", now.Add(29*time.Second).Unix()), rs256(rsaKey())), ann},
		"fractions of a second": {mint(h, c.with("exp", 1796128800.5), rs256(rsaKey())), ann},
		"no subject":            {mint(h, c.with("sub", nil), rs256(rsaKey())), policy.Caller{Tenant: "acme", Scopes: ann.Scopes}},
		"list of scopes":        {mint(h, c.with("scope", nil, "scp", []string{"a b", "c"}), rs256(rsaKey())), policy.Caller{Subject: "ann", Tenant: "acme", Scopes: []string{"a b", "c"}}},
		"no scopes":             {mint(h, c.with("scope", nil), rs256(rsaKey())), policy.Caller{Subject: "ann", Tenant: "acme"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, scheme := range []string{"Bearer ", "bearer  "} {
				got, err := j.Caller(request(scheme + tc.token))
				require.NoError(t, err)
				require.NotEmpty(t, got.Claims["iss"])
				got.Claims = nil
				require.Equal(t, tc.want, got)
			}
		})
	}
}

// Whatever is wrong with a token, the request is refused, and nothing of it is repeated.
func TestBadTokens(t *testing.T) {
	o := goodOptions(newIssuer(t, everyKey()).URL)
	o.Metadata = "https://gate.example/.well-known/oauth-protected-resource/mcp"
	o.RequiredScopes = []string{"mail:send"}
	j := newJWT(t, o)
	h, c, good := goodHeader(), goodClaims(), rs256(rsaKey())
	token := mint(h, c, good)
	parts := strings.Split(token, ".")
	publicDER := must(x509.MarshalPKIXPublicKey(&rsaKey().PublicKey))
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER})
	publicJWK := public(&otherRSAKey().PublicKey, "evil")
	evil := rs256(otherRSAKey())
	none := func([]byte) []byte { return nil }
	for name, tc := range map[string]struct {
		token string
		want  string // the error code
	}{
		// the algorithm
		"none":                          {mint(h.with("alg", "none"), c, none), invalidToken},
		"None":                          {mint(h.with("alg", "None"), c, none), invalidToken},
		"none, with a signature":        {mint(h.with("alg", "none"), c, good), invalidToken},
		"no alg":                        {mint(h.with("alg", nil), c, good), invalidToken},
		"alg is no string":              {mint(h.with("alg", []string{"RS256"}), c, good), invalidToken},
		"alg in another case":           {mint(h.with("alg", "rs256"), c, good), invalidToken},
		"HS256 with the public PEM":     {mint(h.with("alg", "HS256"), c, hs256(publicPEM)), invalidToken},
		"HS256 with the public DER":     {mint(h.with("alg", "HS256"), c, hs256(publicDER)), invalidToken},
		"HS256 with nothing":            {mint(h.with("alg", "HS256", "kid", ""), c, hs256(nil)), invalidToken},
		"good but not configured":       {mint(h.with("alg", "PS256", "kid", "pss"), c, ps256(otherRSAKey())), invalidToken},
		"RS256 said, PS256 done":        {mint(h, c, ps256(rsaKey())), invalidToken},
		"ES256 said, an RSA key named":  {mint(h.with("alg", "ES256"), c, es256(ecKey())), invalidToken},
		"RS256 by a key for PS256 only": {mint(h.with("kid", "pss"), c, rs256(otherRSAKey())), invalidToken},
		// the key
		"another's key":              {mint(h, c, evil), invalidToken},
		"another's key, no kid":      {mint(h.with("kid", nil), c, evil), invalidToken},
		"kid unknown":                {mint(h.with("kid", "r2"), c, good), invalidToken},
		"kid is a path":              {mint(h.with("kid", "../../../../dev/null"), c, hs256(nil)), invalidToken},
		"kid is SQL":                 {mint(h.with("kid", "x' UNION SELECT 'secret' --"), c, hs256([]byte("secret"))), invalidToken},
		"kid is no string":           {mint(h.with("kid", 7), c, good), invalidToken},
		"kid is empty":               {mint(h.with("kid", ""), c, good), invalidToken},
		"key in the token":           {mint(h.with("jwk", publicJWK), c, evil), invalidToken},
		"key in the token, its kid":  {mint(h.with("jwk", publicJWK, "kid", "evil"), c, evil), invalidToken},
		"certificate in the token":   {mint(h.with("x5c", []string{"MIIB"}), c, evil), invalidToken},
		"key at a URL":               {mint(h.with("jku", "https://evil.example/keys"), c, evil), invalidToken},
		"certificate at a URL":       {mint(h.with("x5u", "https://evil.example/cert"), c, evil), invalidToken},
		"critical extension":         {mint(h.with("crit", []string{"b64"}, "b64", false), c, good), invalidToken},
		"b64 alone":                  {mint(h.with("b64", false), c, good), invalidToken},
		"empty crit":                 {mint(h.with("crit", []string{}), c, good), invalidToken},
		"logout token":               {mint(h.with("typ", "logout+jwt"), c, good), invalidToken},
		"DPoP proof":                 {mint(h.with("typ", "dpop+jwt"), c, good), invalidToken},
		"header: alg twice":          {mint(`{"alg":"none","alg":"RS256","kid":"r1"}`, c, good), invalidToken},
		"header: alg in two cases":   {mint(`{"Alg":"none","alg":"RS256","kid":"r1"}`, c, good), invalidToken},
		"header: no object":          {mint(`["RS256"]`, c, good), invalidToken},
		"header: something after it": {mint(`{"alg":"RS256","kid":"r1"}{}`, c, good), invalidToken},
		// the form
		"empty":                      {"", invalidToken},
		"dots":                       {"..", invalidToken},
		"two parts":                  {parts[0] + "." + parts[1], invalidToken},
		"four parts":                 {token + ".x", invalidToken},
		"encrypted":                  {token + ".x.y", invalidToken},
		"no signature":               {parts[0] + "." + parts[1] + ".", invalidToken},
		"padding":                    {token + "=", invalidToken},
		"another alphabet":           {parts[0] + "." + parts[1] + "./+" + parts[2][2:], invalidToken},
		"JSON serialization":         {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, invalidToken},
		"a space in it":              {parts[0] + " ." + parts[1] + "." + parts[2], invalidToken},
		"two tokens":                 {token + ", Bearer " + token, invalidToken},
		"another payload":            {parts[0] + "." + b64(c.with("sub", "root")) + "." + parts[2], invalidToken},
		"another header":             {b64(h.with("kid", "r1", "x", 1)) + "." + parts[1] + "." + parts[2], invalidToken},
		"stray bits in the encoding": {parts[0] + "." + parts[1] + "." + stray(parts[2]), invalidToken},
		"huge":                       {mint(h, c.with("x", strings.Repeat("x", 20<<10)), good), invalidToken},
		"huge header":                {mint(h.with("x", strings.Repeat("x", 10<<10)), c, good), invalidToken},
		"deep":                       {mint(h, strings.Repeat("[", 5000), good), invalidToken},
		// the claims
		"expired":                  {mint(h, c.with("exp", now.Add(-31*time.Second).Unix()), good), invalidToken},
		"no exp":                   {mint(h, c.with("exp", nil), good), invalidToken},
		"exp is a string":          {mint(h, c.with("exp", "1999999999"), good), invalidToken},
		"exp is null":              {mint(h, `{"iss":"`+issuerName+`","aud":"`+audience+`","exp":null}`, good), invalidToken},
		"exp is beyond all":        {mint(h, c.with("exp", 1e300), good), invalidToken},
		"exp is negative":          {mint(h, c.with("exp", -1), good), invalidToken},
		"not yet":                  {mint(h, c.with("nbf", now.Add(31*time.Second).Unix()), good), invalidToken},
		"nbf is a string":          {mint(h, c.with("nbf", "0"), good), invalidToken},
		"issued in the future":     {mint(h, c.with("iat", now.Add(time.Hour).Unix()), good), invalidToken},
		"another issuer":           {mint(h, c.with("iss", issuerName+"/"), good), invalidToken},
		"no issuer":                {mint(h, c.with("iss", nil), good), invalidToken},
		"issuers":                  {mint(h, c.with("iss", []string{issuerName}), good), invalidToken},
		"another audience":         {mint(h, c.with("aud", "https://other.example"), good), invalidToken},
		"audience with more":       {mint(h, c.with("aud", audience+".evil.example"), good), invalidToken},
		"no audience":              {mint(h, c.with("aud", nil), good), invalidToken},
		"no audiences":             {mint(h, c.with("aud", []string{}), good), invalidToken},
		"odd audiences":            {mint(h, c.with("aud", []any{audience, 7}), good), invalidToken},
		"audience is an object":    {mint(h, c.with("aud", fields{audience: true}), good), invalidToken},
		"sub twice":                {mint(h, strings.Replace(string(must(jsonOf(c))), `"sub":`, `"sub":"root","sub":`, 1), good), invalidToken},
		"sub in two cases":         {mint(h, c.with("Sub", "root"), good), invalidToken},
		"sub is a number":          {mint(h, c.with("sub", 7), good), invalidToken},
		"tenants":                  {mint(h, c.with("org", []string{"a"}), good), invalidToken},
		"scope is an object":       {mint(h, c.with("scope", fields{"mail:send": true}), good), invalidToken},
		"odd scopes":               {mint(h, c.with("scope", []any{"mail:send", nil}), good), invalidToken},
		"payload: something after": {mint(h, string(must(jsonOf(c)))+"{}", good), invalidToken},
		"payload: not UTF-8":       {mint(h, strings.Replace(string(must(jsonOf(c))), "ann", "a\xff", 1), good), invalidToken},
		"bound to a key":           {mint(h, c.with("cnf", fields{"jkt": "x"}), good), invalidToken},
		"too few scopes":           {mint(h, c.with("scope", "mail:sendx mail:read"), good), insufficientScope},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := j.Caller(request("Bearer " + tc.token))
			require.Zero(t, got)
			var refused *Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, statusOf[tc.want], refused.StatusCode())
			require.Contains(t, refused.Challenge(), `Bearer error="`+tc.want+`", error_description="`)
			require.Contains(t, refused.Challenge(), `scope="mail:send", resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp"`)
			for _, secret := range []string{"eyJ", "ann", "root", "evil", parts[2][:20]} {
				require.NotContains(t, refused.Error()+refused.Challenge(), secret)
			}
		})
	}
}

// stray sets bits of the last character that stand for nothing.
func stray(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return s[:len(s)-1] + string(alphabet[strings.IndexByte(alphabet, s[len(s)-1])|1])
}

func TestRequestsWithoutOneToken(t *testing.T) {
	j := newJWT(t, goodOptions(newIssuer(t, everyKey()).URL))
	token := mint(goodHeader(), goodClaims(), rs256(rsaKey()))
	query := request("Bearer " + token)
	query.URL.RawQuery = "a=1&access%5Ftoken=x"
	for name, tc := range map[string]struct {
		r         *http.Request
		status    int
		challenge string
	}{
		"nothing":             {request(), 401, "Bearer"},
		"another scheme":      {request("Basic eDp5"), 401, "Bearer"},
		"DPoP":                {request("DPoP " + token), 401, "Bearer"},
		"no scheme":           {request(token), 401, "Bearer"},
		"two headers":         {request("Bearer "+token, "Bearer "+token), 400, `Bearer error="invalid_request", `},
		"a bad one first":     {request("Basic eDp5", "Bearer "+token), 400, `Bearer error="invalid_request", `},
		"one in the query":    {query, 400, `Bearer error="invalid_request", `},
		"a word and no token": {request("Bearer"), 401, `Bearer error="invalid_token", `},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := j.Caller(tc.r)
			var refused *Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, tc.status, refused.StatusCode())
			require.True(t, strings.HasPrefix(refused.Challenge(), tc.challenge), refused.Challenge())
		})
	}
}

func TestClaimNames(t *testing.T) {
	o := goodOptions(newIssuer(t, everyKey()).URL)
	o.Claims = ClaimNames{Subject: "/user/id", Tenant: "https://issuer.example/tenant", Scopes: []string{"nope", "/realm_access/a~1b"}}
	c := goodClaims().with("user", fields{"id": "u1"}, "https://issuer.example/tenant", "t1", "realm_access", fields{"a/b": []string{"x"}})
	got, err := newJWT(t, o).Caller(request("Bearer " + mint(goodHeader(), c, rs256(rsaKey()))))
	require.NoError(t, err)
	require.Equal(t, []any{"u1", "t1", []string{"x"}}, []any{got.Subject, got.Tenant, got.Scopes})
}

func TestOptionsThatAccept(t *testing.T) {
	good := goodOptions("https://issuer.example/keys")
	for want, change := range map[string]func(*JWTOptions){
		"issuer: ":              func(o *JWTOptions) { o.Issuer = "" },
		"audience: ":            func(o *JWTOptions) { o.Audience = nil },
		"audience: is":          func(o *JWTOptions) { o.Audience = []string{"a", ""} },
		`algorithms: "none"`:    func(o *JWTOptions) { o.Algorithms = []string{"RS256", "none"} },
		`algorithms: "HS256"`:   func(o *JWTOptions) { o.Algorithms = []string{"HS256"} },
		"algorithms: is empty":  func(o *JWTOptions) { o.Algorithms = []string{} },
		"keys_url: give either": func(o *JWTOptions) { o.KeysFile = "x" },
		"keys_url: give":        func(o *JWTOptions) { o.KeysURL = "" },
		"keys_url: is not http": func(o *JWTOptions) { o.KeysURL = "http://issuer.example/keys" },
		`keys_url: "file"`:      func(o *JWTOptions) { o.KeysURL = "file://host/etc/keys" },
		"keys_url: is no URL":   func(o *JWTOptions) { o.KeysURL = "https://user:pw@issuer.example/" },
		"claims: ":              func(o *JWTOptions) { o.Claims.Scopes = []string{""} },
		"leeway: ":              func(o *JWTOptions) { o.Leeway = time.Hour },
		"a limit":               func(o *JWTOptions) { o.MaxToken = -1 },
	} {
		o := good
		change(&o)
		_, err := NewJWT(context.Background(), o)
		require.ErrorContains(t, err, want)
	}
}

func TestKeySets(t *testing.T) {
	secret := fields{"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA", "kid": "s1"}
	p384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	good := public(&rsaKey().PublicKey, "r1")
	for name, tc := range map[string]struct{ set, want string }{
		"one key and no set":      {string(must(jsonOf(good))), "not a JWK set"},
		"odd ones beside it":      {keySet(secret, fields{"kty": "XYZ", "kid": "x"}, fields{"kty": "RSA", "kid": "y"}, good), ""},
		"one for encryption":      {keySet(good.with("use", "enc", "kid", "r0"), good), ""},
		"nothing":                 {"", "not a JWK set"},
		"a page":                  {"<html>", "not a JWK set"},
		"no keys":                 {`{"keys":[]}`, "no key"},
		"a shared secret":         {keySet(secret), "no key"},
		"a private key":           {keySet(public(rsaKey(), "r1")), "no key"},
		"a short key":             {keySet(good.with("n", good["n"].(string)[:171])), "no key"},
		"encryption only":         {keySet(good.with("use", "enc")), "no key"},
		"signing only":            {keySet(good.with("key_ops", []string{"sign"})), "no key"},
		"an algorithm not pinned": {keySet(good.with("alg", "PS512")), "no key"},
		"a curve not pinned":      {keySet(public(&p384.PublicKey, "e3")), "no key"},
		"a key twice":             {keySet(good, public(&otherRSAKey().PublicKey, "r1")), "two keys"},
		"too much":                {keySet(good) + strings.Repeat(" ", maxKeySet), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			o := goodOptions("")
			o.KeysFile = filepath.Join(t.TempDir(), "keys.json")
			require.NoError(t, os.WriteFile(o.KeysFile, []byte(tc.set), 0o600))
			j, err := NewJWT(context.Background(), o)
			if tc.want != "" {
				require.ErrorContains(t, err, "keys_file: keys in "+o.KeysFile+": ")
				require.ErrorContains(t, err, tc.want)
				return
			}
			require.NoError(t, err)
			defer j.Close()
			_, err = j.Caller(request("Bearer " + mint(goodHeader(), goodClaims(), rs256(rsaKey()))))
			require.NoError(t, err)
		})
	}
}
