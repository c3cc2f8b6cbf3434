package identity

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Nothing that a client sends makes anybody of it, or the gate fall over, but a token
// that the issuer signed.
func FuzzAuthorization(f *testing.F) {
	keys := must(parseKeys([]byte(everyKey()), Algorithms()))
	o := must(goodOptions("https://issuer.example/").filled())
	j := &JWT{o: o, keys: &keySource{keys: keys, expires: now.Add(time.Hour), tried: now, retryAfter: time.Hour, now: o.Now}}
	good := mint(goodHeader(), goodClaims(), rs256(rsaKey()))
	f.Add("Bearer "+good, "")
	f.Add("Bearer "+mint(goodHeader().with("alg", "none"), goodClaims(), func([]byte) []byte { return nil }), "access_token=%x")
	f.Add("Bearer a.b.c", "a;b")
	f.Fuzz(func(t *testing.T, authorization, query string) {
		r := &http.Request{Method: http.MethodPost, Header: http.Header{"Authorization": {authorization}}, URL: &url.URL{RawQuery: query}}
		caller, err := j.Caller(r)
		if err == nil {
			scheme, token, _ := strings.Cut(authorization, " ")
			if !strings.EqualFold(scheme, "Bearer") || strings.TrimLeft(token, " ") != good || caller.Subject != "ann" {
				t.Fatalf("%q was taken for %q", authorization, caller.Subject)
			}
			return
		}
		if s := status(err); s != 400 && s != 401 {
			t.Fatalf("status %d", s)
		}
		if strings.ContainsAny(err.(*Error).Challenge(), "\r\n") {
			t.Fatal("a challenge of two lines")
		}
	})
}

// Claims of any shape either name a caller or are an error.
func FuzzClaims(f *testing.F) {
	for _, c := range []fields{goodClaims(), goodClaims().with("scope", []string{"a"}), goodClaims().with("exp", "x")} {
		f.Add(must(jsonOf(c)))
	}
	names := must(ClaimNames{Subject: "/a/b", Tenant: "org"}.filled())
	f.Fuzz(func(t *testing.T, payload []byte) {
		claims, err := parsePayload(payload)
		if err != nil {
			return
		}
		_ = checkTimes(claims, now, defaultLeeway)
		if c, err := names.caller(claims); err != nil && (c.Subject != "" || c.Claims != nil) {
			t.Fatal("a caller and an error")
		}
	})
}

// A rewritten challenge names no other metadata than the gate's, and rewriting it again
// changes nothing.
func FuzzPointAt(f *testing.F) {
	f.Add(`Bearer error="x", resource_metadata="http://up.example/"`)
	f.Add(`Basic realm="\"resource_metadata=", Bearer resource_metadata=a`)
	f.Fuzz(func(t *testing.T, challenge string) {
		once, _ := pointAt(challenge, "https://gate.example/")
		if again, _ := pointAt(once, "https://gate.example/"); again != once {
			t.Fatalf("%q became %q and then %q", challenge, once, again)
		}
	})
}
