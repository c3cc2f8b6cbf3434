package identity

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

// An algorithm is one that tokens may be signed with. There are no symmetric ones.
type algorithm struct {
	id   jwa.SignatureAlgorithm
	fits func(public any) bool
}

var algorithms = map[string]algorithm{
	"RS256": {jwa.RS256(), isRSA}, "RS384": {jwa.RS384(), isRSA}, "RS512": {jwa.RS512(), isRSA},
	"PS256": {jwa.PS256(), isRSA}, "PS384": {jwa.PS384(), isRSA}, "PS512": {jwa.PS512(), isRSA},
	"ES256": {jwa.ES256(), onCurve("P-256")}, "ES384": {jwa.ES384(), onCurve("P-384")}, "ES512": {jwa.ES512(), onCurve("P-521")},
	"EdDSA": {jwa.EdDSA(), isEd25519}, "Ed25519": {jwa.EdDSAEd25519(), isEd25519},
}

// Algorithms returns the names of all algorithms that can be configured, sorted.
func Algorithms() []string {
	names := make([]string, 0, len(algorithms))
	for name := range algorithms {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

const (
	minRSABits = 2048
	maxRSABits = 8192 // verifying with a larger one costs more than a request is worth
	maxKeys    = 1000
)

func isRSA(public any) bool {
	k, ok := public.(*rsa.PublicKey)
	return ok && k.N != nil && k.N.BitLen() >= minRSABits && k.N.BitLen() <= maxRSABits && k.E >= 3 && k.E%2 == 1
}

func onCurve(name string) func(any) bool {
	return func(public any) bool {
		k, ok := public.(*ecdsa.PublicKey)
		return ok && k.Curve != nil && k.Curve.Params().Name == name
	}
}

func isEd25519(public any) bool {
	k, ok := public.(ed25519.PublicKey)
	return ok && len(k) == ed25519.PublicKeySize
}

// A verificationKey is a public key of the issuer that may verify tokens.
type verificationKey struct {
	id        string // "" when it has none
	algorithm string // the only one that it may be used with; "" for all of its type
	public    any
}

func (k verificationKey) fits(algorithm string) bool {
	return (k.algorithm == "" || k.algorithm == algorithm) && algorithms[algorithm].fits != nil && algorithms[algorithm].fits(k.public)
}

// parseKeys reads a JWK set and keeps the keys that can verify a token by one of the
// algorithms. Keys of other kinds are normal in a set; none at all is an error.
func parseKeys(data []byte, allowed []string) (keys []verificationKey, err error) {
	defer func() {
		if p := recover(); p != nil {
			keys, err = nil, errors.New("not a JWK set")
		}
	}()
	set, err := jwk.Parse(data, jwk.WithIgnoreParseError(true))
	if err != nil {
		return nil, errors.New("not a JWK set")
	}
	if set.Len() > maxKeys {
		return nil, fmt.Errorf("more than %d keys", maxKeys)
	}
	for i := range set.Len() {
		if key, ok := set.Key(i); ok {
			if k, ok := usable(key); ok && slices.ContainsFunc(allowed, k.fits) {
				keys = append(keys, k)
			}
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("no key in it verifies by the configured algorithms")
	}
	for i, k := range keys {
		twin := func(o verificationKey) bool { return o.id != "" && o.id == k.id && o.algorithm == k.algorithm }
		if slices.ContainsFunc(keys[:i], twin) {
			return nil, errors.New("two keys have the same kid")
		}
	}
	return keys, nil
}

// usable returns a key of a set, if it is a public one for signatures.
func usable(key jwk.Key) (verificationKey, bool) {
	private, err := jwk.IsPrivateKey(key)
	if err != nil || private {
		return verificationKey{}, false // symmetric, or a secret that everybody can read
	}
	if use, ok := key.KeyUsage(); ok && use != "" && use != "sig" {
		return verificationKey{}, false
	}
	if ops, ok := key.KeyOps(); ok && len(ops) > 0 && !slices.Contains(ops, jwk.KeyOpVerify) {
		return verificationKey{}, false
	}
	k := verificationKey{}
	k.id, _ = key.KeyID()
	if alg, ok := key.Algorithm(); ok && alg.String() != "" {
		k.algorithm = alg.String()
	}
	var raw any
	if err := jwk.Export(key, &raw); err != nil {
		return verificationKey{}, false
	}
	switch public := raw.(type) {
	case rsa.PublicKey:
		k.public = &public
	case ecdsa.PublicKey:
		k.public = &public
	default:
		k.public = raw
	}
	return k, true
}

// candidates returns the keys that a token may have been signed with.
func candidates(keys []verificationKey, t jwsToken) []verificationKey {
	var out []verificationKey
	for _, k := range keys {
		if k.fits(t.algorithm) && (t.keyID == "" || k.id == t.keyID) {
			out = append(out, k)
		}
	}
	return out
}
