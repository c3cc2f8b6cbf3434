package bundles

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
)

const (
	signaturesFile = "/.signatures.json"
	ownPlugin      = "_default" // what opa build calls OPA's own way to sign
)

// hashes are those that a signature may name for a file. OPA's own signer uses
// SHA-256; a file that two contents can be made for is not signed.
var hashes = []string{string(bundle.SHA256), string(bundle.SHA384), string(bundle.SHA512), string(bundle.SHA512256)}

// verify checks that p is signed with a key of k, each file of it and nothing else. It
// returns the id of that key. A keyring without keys accepts what is not signed.
//
// OPA's own check of the signature and of the files' digests is used. Around it:
// which key counts is decided by the id that the signature names, and by that alone;
// there is exactly one file with signatures; none is excepted.
func (k keyring) verify(p *payload) (string, error) {
	if len(k) == 0 {
		return "", nil // OPA refuses signatures that there is no key for
	}
	fail := func(format string, args ...any) (string, error) {
		return "", fmt.Errorf("bundle %s: signature: %w", p.label, fmt.Errorf(format, args...))
	}
	var signatures bundle.SignaturesConfig
	signed := false
	for _, f := range p.files {
		switch {
		case f.path == signaturesFile:
			signed = true
			dec := json.NewDecoder(bytes.NewReader(f.content))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&signatures); err != nil {
				return fail("%s: %w", f.path, err)
			}
		case bundle.IsSignaturesFile(f.path):
			return fail("%s is not at the bundle's root", f.path)
		}
	}
	if !signed || len(signatures.Signatures) == 0 {
		return fail("not signed, and bundles.keys says that it has to be: sign it with opa sign or opa build --signing-key")
	}
	if signatures.Plugin != "" && signatures.Plugin != ownPlugin {
		return fail("made by the plugin %q: only OPA's own signatures are known", signatures.Plugin)
	}
	if len(signatures.Signatures) > 1 {
		return fail("%d signatures: exactly one is expected", len(signatures.Signatures))
	}
	id, key, err := k.keyOf(signatures.Signatures[0])
	if err != nil {
		return fail("%w", err)
	}
	files, err := key.check(id, signatures)
	if err != nil {
		return fail("key %q: %w", id, err)
	}
	if err := checkFiles(p.files, below(p.dir, files)); err != nil {
		return fail("%w", err)
	}
	return id, nil
}

// keyOf finds the key that a signature names: in its header, or in the claim that OPA
// wrote before. One that names none was made with the only key, if there is but one.
func (k keyring) keyOf(token string) (string, signingKey, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", signingKey{}, errors.New("not a JWT")
	}
	var header struct {
		KeyID string `json:"kid"`
	}
	var claims struct {
		KeyID string `json:"keyid"`
	}
	for i, into := range []any{&header, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return "", signingKey{}, errors.New("not a JWT: not base64")
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return "", signingKey{}, errors.New("not a JWT: not JSON")
		}
	}
	known := slices.Sorted(maps.Keys(k))
	id := header.KeyID
	if id == "" {
		id = claims.KeyID
	}
	if id == "" && len(known) == 1 {
		id = known[0]
	}
	key, ok := k[id]
	switch {
	case id == "":
		return "", key, fmt.Errorf("it names no key id, and bundles.keys has %d keys", len(known))
	case !ok:
		return "", key, fmt.Errorf("made with the key id %q, and bundles.keys has %q", id, known)
	case claims.KeyID != "" && claims.KeyID != id:
		return "", key, fmt.Errorf("it names two key ids, %q and %q", id, claims.KeyID)
	}
	return id, key, nil
}

// check returns the files that the signature is about.
func (s signingKey) check(id string, signatures bundle.SignaturesConfig) (files map[string]bundle.FileInfo, err error) {
	for _, text := range s.texts {
		keys := map[string]*bundle.KeyConfig{id: {Key: text, Algorithm: s.algorithm, Scope: s.scope}}
		files, err = new(bundle.DefaultVerifier).VerifyBundleSignature(signatures, bundle.NewVerificationConfig(keys, id, s.scope, nil))
		if err == nil {
			return files, nil
		}
	}
	return nil, err
}

// below drops from the names what opa sign puts before those of a directory's files: the
// directory's path as it was given, which is how the path here ends.
func below(dir string, signed map[string]bundle.FileInfo) map[string]bundle.FileInfo {
	dir = filepath.ToSlash(dir)
	for end := dir; dir != "" && end != ""; {
		_, end, _ = strings.Cut(end, "/")
		out := map[string]bundle.FileInfo{}
		for name, info := range signed {
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "/"), end+"/"); ok && end != "" {
				out[rest] = info
			}
		}
		if len(out) == len(signed) {
			return out
		}
	}
	return signed
}

// checkFiles checks that all files are signed, and that all that are signed are there.
func checkFiles(files []file, signed map[string]bundle.FileInfo) error {
	for name, info := range signed {
		if !slices.Contains(hashes, info.Algorithm) {
			return fmt.Errorf("%s is signed by its %q digest: use one of %q", name, info.Algorithm, hashes)
		}
	}
	for _, f := range files {
		if f.path == signaturesFile {
			continue
		}
		name := strings.TrimPrefix(f.path, "/")
		if err := bundle.VerifyBundleFile(name, *bytes.NewBuffer(f.content), signed); err != nil {
			return err
		}
	}
	if len(signed) > 0 { // VerifyBundleFile takes out what it has seen
		return fmt.Errorf("these files are signed and not there: %q", slices.Sorted(maps.Keys(signed)))
	}
	return nil
}
