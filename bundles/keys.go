package bundles

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A Key is one that bundles may be signed with.
type Key struct {
	// ID is the key id that a signature has to name, as opa sign and opa build write it.
	ID string
	// File holds the public key or certificate in PEM, or the secret of HS256. Env names
	// an environment variable that holds the same. One of them.
	File, Env string
	// Algorithm is RS256, ES256 or HS256. "" means RS256.
	Algorithm string
	// Scope is what the signature has to say in its scope claim; "" means nothing.
	Scope string
}

const (
	rs256 = "RS256"
	es256 = "ES256"
	hs256 = "HS256"
)

// A keyring has the keys by their ids, each as the texts that OPA takes; HS256 secrets
// may be meant with or without the newline at the end of their file.
type keyring map[string]signingKey

type signingKey struct {
	algorithm, scope string
	texts            []string
}

// newKeyring reads the keys. Each line of the error begins with the key of the
// configuration that it is about.
func newKeyring(keys []Key) (keyring, error) {
	ring := keyring{}
	var errs []error
	for i, k := range keys {
		field := fmt.Sprintf("bundles.keys[%d]", i)
		_, taken := ring[k.ID]
		switch {
		case k.ID == "":
			errs = append(errs, fmt.Errorf("%s.id: is missing: say what the signatures call this key", field))
			continue
		case taken:
			errs = append(errs, fmt.Errorf("%s.id: %q is the id of another key as well", field, k.ID))
			continue
		case (k.File == "") == (k.Env == ""):
			errs = append(errs, fmt.Errorf("%s.file: give either file or env", field))
			continue
		}
		key, err := k.read(field)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ring[k.ID] = key
	}
	return ring, errors.Join(errs...)
}

func (k Key) read(field string) (signingKey, error) {
	key := signingKey{algorithm: k.Algorithm, scope: k.Scope}
	if key.algorithm == "" {
		key.algorithm = rs256
	}
	where := field + ".file: " + k.File
	var text []byte
	if k.Env != "" {
		where = field + ".env: " + k.Env
		text = []byte(os.Getenv(k.Env))
	} else {
		var err error
		if text, err = readSmall(k.File); err != nil {
			return key, fmt.Errorf("%s: %w", where, err)
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return key, fmt.Errorf("%s: there is nothing in it", where)
	}
	if err := fits(key.algorithm, text); err != nil {
		return key, fmt.Errorf("%s: %w", where, err)
	}
	key.texts = []string{string(text)}
	if trimmed := strings.TrimRight(string(text), "\r\n"); key.algorithm == hs256 && trimmed != string(text) {
		key.texts = append(key.texts, trimmed)
	}
	return key, nil
}

// fits says why a key can't verify signatures of an algorithm.
func fits(algorithm string, text []byte) error {
	block, _ := pem.Decode(text)
	if algorithm == hs256 {
		if block != nil {
			return errors.New("a PEM file is no secret for HS256: everybody may know a public key")
		}
		return nil
	}
	if block == nil {
		return fmt.Errorf("not a PEM file: %s needs the public key, or a certificate, in PEM", algorithm)
	}
	public, err := publicKey(block)
	if err != nil {
		return err
	}
	switch p := public.(type) {
	case *rsa.PublicKey:
		if algorithm != rs256 {
			return fmt.Errorf("an RSA key can't verify %s", algorithm)
		}
		if p.N.BitLen() < 2048 {
			return fmt.Errorf("an RSA key of %d bits is too short: 2048 are the least", p.N.BitLen())
		}
	case *ecdsa.PublicKey:
		if algorithm != es256 {
			return fmt.Errorf("an EC key can't verify %s", algorithm)
		}
		if p.Curve != elliptic.P256() {
			return fmt.Errorf("%s needs a key on the curve P-256, not %s", es256, p.Curve.Params().Name)
		}
	default:
		return fmt.Errorf("a key of type %T can't verify %s", public, algorithm)
	}
	return nil
}

func publicKey(block *pem.Block) (any, error) {
	switch block.Type {
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "CERTIFICATE":
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return cert.PublicKey, nil
	}
	if strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return nil, errors.New("a private key: keep it where bundles are signed, and give the gate the public key")
	}
	return nil, fmt.Errorf("a PEM block of type %q holds no public key", block.Type)
}

// readSmall reads a file with a key, a token or a certificate.
func readSmall(path string) ([]byte, error) {
	const most = 1 << 20
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, reason(err)
	}
	if len(data) > most {
		return nil, fmt.Errorf("larger than %d bytes", most)
	}
	return data, nil
}
