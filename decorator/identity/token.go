package identity

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/lestrrat-go/jwx/v3/jws"

	"github.com/regogate/regogate/policy/strictjson"
)

// bearer returns the token that a request presents in its one Authorization header.
func bearer(r *http.Request) (token string, code, problem string) {
	if r.URL != nil && mentionsToken(r.URL.RawQuery) {
		return "", invalidRequest, "a token doesn't belong into the query"
	}
	values := r.Header.Values("Authorization")
	switch {
	case len(values) == 0:
		return "", "", "the request has no token"
	case len(values) > 1:
		return "", invalidRequest, "the request has more than one Authorization header"
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", "", "the request's credentials are no bearer token"
	}
	return strings.TrimLeft(token, " "), "", ""
}

// mentionsToken reports whether a query has a parameter that some servers take for a
// token, however it is escaped.
func mentionsToken(query string) bool {
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(part, "=")
		if unescaped, ok := unescape(name); !ok || strings.EqualFold(unescaped, "access_token") {
			return true
		}
	}
	return false
}

// A jwsToken is a compact JWS whose signature hasn't been verified.
type jwsToken struct {
	compact   string
	algorithm string
	keyID     string // "" when the header has none
}

// headerLimits bound a token's header, which has a handful of members.
var headerLimits = strictjson.Limits{Bytes: 8 << 10, Depth: 8}

// types are the media types that an access token may say it is, in lower case. Others
// (of logout tokens, DPoP proofs, security events) are signed by the same keys.
var types = map[string]bool{"jwt": true, "at+jwt": true, "application/at+jwt": true, "application/jwt": true}

// readToken takes a token apart, as far as that doesn't need a key.
func readToken(compact string, most int) (jwsToken, error) {
	t := jwsToken{compact: compact}
	if len(compact) > most {
		return t, errors.New("the token is too long")
	}
	parts := strings.Split(compact, ".")
	if len(parts) != 3 {
		return t, errors.New("the token is no compact JWS")
	}
	for _, p := range parts {
		if _, err := segment(p); err != nil {
			return t, errors.New("the token is no compact JWS")
		}
	}
	raw, _ := segment(parts[0])
	header, err := strictjson.ParseObject(raw, headerLimits)
	if err != nil {
		return t, errors.New("the token's header is not one JSON object")
	}
	return t, t.readHeader(header)
}

func (t *jwsToken) readHeader(header map[string]any) error {
	for _, name := range []string{"crit", "b64"} {
		if _, ok := header[name]; ok {
			return errors.New("the token's header asks for an extension that is not supported")
		}
	}
	ok := false
	if t.algorithm, ok = header["alg"].(string); !ok {
		return errors.New("the token's header names no algorithm")
	}
	if kid, there := header["kid"]; there {
		if t.keyID, ok = kid.(string); !ok || t.keyID == "" {
			return errors.New("the token's kid is not a string")
		}
	}
	if typ, there := header["typ"]; there {
		if name, ok := typ.(string); !ok || !types[strings.ToLower(name)] {
			return errors.New("the token is of another type than an access token")
		}
	}
	return nil
}

// segment decodes one part of a token. It accepts one spelling only: no padding, no
// stray bits, nothing else than the alphabet.
func segment(s string) ([]byte, error) {
	if s == "" || strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("empty")
	}
	return base64.RawURLEncoding.Strict().DecodeString(s)
}

// claims verifies the signature with key and returns the payload.
func (t *jwsToken) claims(key verificationKey) (_ map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the token could not be verified")
		}
	}()
	payload, err := jws.Verify([]byte(t.compact), jws.WithCompact(), jws.WithKey(algorithms[t.algorithm].id, key.public))
	if err != nil {
		return nil, errors.New("the token's signature is not good")
	}
	return parsePayload(payload)
}

func parsePayload(payload []byte) (map[string]any, error) {
	claims, err := strictjson.ParseObject(payload, strictjson.Limits{})
	if err != nil {
		return nil, errors.New("the token's payload is not one unambiguous JSON object")
	}
	return claims, nil
}
