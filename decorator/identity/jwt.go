package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/regogate/regogate/policy"
)

// JWTOptions say which tokens are good. Issuer, Audience and one of KeysURL and
// KeysFile are required.
type JWTOptions struct {
	Issuer   string   // what iss must be, exactly
	Audience []string // aud must have one of them
	// Algorithms are those that tokens may be signed with, see [Algorithms]. nil means
	// RS256 and ES256.
	Algorithms []string
	// KeysURL and KeysFile are where the issuer's keys are, a JWK set. The URL is an https
	// one, or http on this machine.
	KeysURL, KeysFile string
	// PlainKeys lets KeysURL be an http URL of another machine. Whoever can change what
	// it answers can then sign tokens.
	PlainKeys bool
	Claims    ClaimNames
	// RequiredScopes are those that every token must have; others are refused with 403.
	RequiredScopes []string
	// Metadata is the URL of the protected-resource metadata that a client without a good
	// token is pointed at, see [Resource.MetadataURL]. "" for none.
	Metadata string
	// Leeway is by how much clocks may differ. 0 means 30 s; 5 min are the most.
	Leeway time.Duration
	// MaxToken is the greatest length of a token in bytes. 0 means 16 KiB.
	MaxToken int
	// MaxStale is how long keys are used beyond their time while no new ones can be had.
	// 0 means 1 h.
	MaxStale time.Duration
	// Transport fetches the keys; nil means one of its own, without a proxy.
	Transport http.RoundTripper
	// Logger is told when keys can't be fetched. nil is silent.
	Logger *slog.Logger
	// Now is the time; nil means time.Now.
	Now func() time.Time
}

const (
	defaultLeeway   = 30 * time.Second
	maxLeeway       = 5 * time.Minute
	defaultMaxToken = 16 << 10
	defaultMaxStale = time.Hour
	// maxTries is how many keys are tried for a token that doesn't say which it is.
	maxTries = 8
)

// filled returns o with defaults in place of zeros, or an error for each field that is
// missing or has no meaning.
func (o JWTOptions) filled() (JWTOptions, error) {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Issuer == "" {
		wrong("issuer: is missing: a token of any issuer would do")
	}
	if len(o.Audience) == 0 || slices.Contains(o.Audience, "") {
		wrong("audience: is missing or empty: a token for any other service would do")
	}
	if o.Algorithms == nil {
		o.Algorithms = []string{"RS256", "ES256"}
	}
	for _, name := range o.Algorithms {
		if _, ok := algorithms[name]; !ok {
			wrong("algorithms: %q is none of %s", name, strings.Join(Algorithms(), ", "))
		}
	}
	if len(o.Algorithms) == 0 {
		wrong("algorithms: is empty: no token could be good")
	}
	if (o.KeysURL == "") == (o.KeysFile == "") {
		wrong("keys_url: give either it or keys_file")
	} else if o.KeysURL != "" {
		if err := checkKeysURL(o.KeysURL, o.PlainKeys); err != nil {
			wrong("keys_url: %w", err)
		}
	}
	var err error
	if o.Claims, err = o.Claims.filled(); err != nil {
		wrong("claims: %w", err)
	}
	if o.Leeway < 0 || o.Leeway > maxLeeway {
		wrong("leeway: must be between 0 and %s", maxLeeway)
	}
	if o.MaxToken < 0 || o.MaxStale < 0 {
		wrong("a limit is negative")
	}
	o.fill()
	return o, errors.Join(errs...)
}

func (o *JWTOptions) fill() {
	if o.Leeway == 0 {
		o.Leeway = defaultLeeway
	}
	if o.MaxToken == 0 {
		o.MaxToken = defaultMaxToken
	}
	if o.MaxStale == 0 {
		o.MaxStale = defaultMaxStale
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// checkKeysURL says what is wrong with a URL of keys.
func checkKeysURL(s string, plain bool) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return errors.New("is no URL of a web server, without a user")
	case u.Scheme == "https" || u.Scheme == "http" && (plain || isLoopback(u.Hostname())):
		return nil
	case u.Scheme == "http":
		return errors.New("is not https: whoever is between could sign tokens")
	}
	return fmt.Errorf("%q is no scheme that keys can be fetched by: want https", u.Scheme)
}

func isLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return host == "localhost"
}

// A JWT tells callers by the signed tokens that they present. Safe for concurrent use.
type JWT struct {
	o         JWTOptions
	keys      *keySource
	challenge challenger
}

// NewJWT fetches the issuer's keys; an error says what is wrong with the options, one
// line for each that begins with its name, or that there are no keys. Close it.
func NewJWT(ctx context.Context, o JWTOptions) (*JWT, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	s := &keySource{retryAfter: unknownKeyWait, maxStale: o.MaxStale, now: o.Now}
	s.report = func(err error) { o.Logger.Error("the issuer's keys can't be fetched", "error", err) }
	name := "keys_url"
	if o.KeysFile != "" {
		name, s.fetch, s.retryAfter = "keys_file", fetchFile(o.KeysFile, o.Algorithms), fileLife
	} else {
		client := &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		s.fetch = fetchURL(client, o.KeysURL, o.Algorithms)
	}
	if err := s.start(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &JWT{o: o, keys: s, challenge: challenger{metadata: o.Metadata, scope: strings.Join(o.RequiredScopes, " ")}}, nil
}

// Close ends what fetches keys. The JWT verifies no more than what the keys that it
// has allow.
func (j *JWT) Close() { j.keys.close() }

// Ready says why no token can be verified now, nil when some can.
func (j *JWT) Ready() error { return j.keys.ready() }

// Caller returns who the request's token says calls. The error is an [*Error].
func (j *JWT) Caller(r *http.Request) (policy.Caller, error) {
	token, code, problem := bearer(r)
	if problem != "" {
		return policy.Caller{}, j.challenge.refuse(code, problem)
	}
	claims, err := j.verify(r.Context(), token)
	if err != nil {
		return policy.Caller{}, err
	}
	caller, wrong := j.o.Claims.caller(claims)
	if wrong != nil {
		return policy.Caller{}, j.challenge.refuse(invalidToken, wrong.Error())
	}
	for _, scope := range j.o.RequiredScopes {
		if !slices.Contains(caller.Scopes, scope) {
			return policy.Caller{}, j.challenge.refuse(insufficientScope, "the token lacks a scope that every call needs")
		}
	}
	return caller, nil
}

// verify returns the claims of a good token.
func (j *JWT) verify(ctx context.Context, compact string) (map[string]any, error) {
	refuse := func(err error) error { return j.challenge.refuse(invalidToken, err.Error()) }
	t, err := readToken(compact, j.o.MaxToken)
	if err != nil {
		return nil, refuse(err)
	}
	if !slices.Contains(j.o.Algorithms, t.algorithm) {
		return nil, refuse(errors.New("the token is signed by an algorithm that is not accepted"))
	}
	keys, err := j.keys.find(ctx, t)
	switch {
	case err != nil:
		return nil, unavailable("no token can be verified now", err)
	case len(keys) == 0:
		return nil, refuse(errors.New("the token is signed by a key that the issuer doesn't have"))
	case len(keys) > maxTries:
		return nil, refuse(errors.New("the token doesn't say which of the issuer's keys it is signed by"))
	}
	var claims map[string]any
	for _, key := range keys {
		if claims, err = t.claims(key); err == nil {
			break
		}
	}
	if err == nil {
		err = j.check(claims)
	}
	if err != nil {
		return nil, refuse(err)
	}
	return claims, nil
}

// check says why a genuine token is not good here and now.
func (j *JWT) check(claims map[string]any) error {
	if issuer, ok := claims["iss"].(string); !ok || issuer != j.o.Issuer {
		return errors.New("the token is of another issuer")
	}
	audience := []any{claims["aud"]}
	if list, ok := claims["aud"].([]any); ok {
		audience = list
	}
	meant := false
	for _, a := range audience {
		name, ok := a.(string)
		if !ok {
			return errors.New("the token's aud is neither a string nor a list of strings")
		}
		meant = meant || slices.Contains(j.o.Audience, name)
	}
	if !meant {
		return errors.New("the token is for another audience")
	}
	if _, bound := claims["cnf"]; bound {
		return errors.New("the token is bound to a key of its client, which this gate can't check")
	}
	return checkTimes(claims, j.o.Now(), j.o.Leeway)
}

// peer returns the address that a request came from.
func peer(r *http.Request) (netip.Addr, bool) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	return addr.Unmap().WithZone(""), err == nil
}
