package bundles_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/compile"
	"github.com/open-policy-agent/opa/v1/util"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
)

// A signer signs bundles as opa sign does, and has the file that a gate verifies with.
type signer struct {
	algorithm, private string
	file               string
}

func pemOf(t testing.TB, kind string, der []byte, err error) string {
	t.Helper()
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func newSigner(t testing.TB, algorithm string) signer {
	t.Helper()
	s := signer{algorithm: algorithm}
	var public any
	switch algorithm {
	case "HS256":
		s.private = "a secret of this test"
		s.file = writeFile(t, "secret", []byte(s.private+"\n"))
		return s
	case "RS256":
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(t, err)
		s.private, public = pemOf(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key), nil), key.Public()
	default:
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		der, err := x509.MarshalECPrivateKey(key)
		s.private, public = pemOf(t, "EC PRIVATE KEY", der, err), key.Public()
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	s.file = writeFile(t, "public.pem", []byte(pemOf(t, "PUBLIC KEY", der, err)))
	return s
}

// token signs files, as they are named, under a key id.
func (s signer) token(t testing.TB, files map[string]string, id string) string {
	t.Helper()
	var infos []bundle.FileInfo
	for name, content := range files {
		var value any = []byte(content)
		if bundle.IsStructuredDoc(name) {
			require.NoError(t, util.Unmarshal([]byte(content), &value))
		}
		hasher, err := bundle.NewSignatureHasher(bundle.SHA256)
		require.NoError(t, err)
		sum, err := hasher.HashFile(value)
		require.NoError(t, err)
		infos = append(infos, bundle.NewFile(name, hex.EncodeToString(sum), string(bundle.SHA256)))
	}
	token, err := bundle.GenerateSignedToken(infos, bundle.NewSigningConfig(s.private, s.algorithm, ""), id)
	require.NoError(t, err)
	return token
}

// sign returns the files with their signature.
func (s signer) sign(t testing.TB, files map[string]string, id string) map[string]string {
	t.Helper()
	out := maps.Clone(files)
	signatures, err := json.Marshal(bundle.SignaturesConfig{Signatures: []string{s.token(t, files, id)}})
	require.NoError(t, err)
	out[".signatures.json"] = string(signatures)
	return out
}

func (s signer) key(id string) bundles.Key {
	return bundles.Key{ID: id, File: s.file, Algorithm: s.algorithm}
}

func load(t testing.TB, o bundles.Options) error {
	t.Helper()
	rs, err := bundles.Load(t.Context(), o)
	if err == nil {
		require.Equal(t, policy.Denied, decide(t, rs, `{"n":4}`).Code())
	}
	return err
}

func TestSignatures(t *testing.T) {
	for _, algorithm := range []string{"RS256", "ES256", "HS256"} {
		t.Run(algorithm, func(t *testing.T) {
			s, other := newSigner(t, algorithm), newSigner(t, algorithm)
			if algorithm == "HS256" {
				other.private += "!"
			}
			with := func(files map[string]string, keys ...bundles.Key) error {
				dir := load(t, bundles.Options{Bundles: []string{writeDir(t, files)}, Keys: keys})
				archive := load(t, bundles.Options{Bundles: []string{writeFile(t, "p.tar.gz", pack(t, files))}, Keys: keys})
				require.Equal(t, dir == nil, archive == nil, "%v, %v", dir, archive)
				return archive
			}
			signed := s.sign(t, goodFiles(), "k1")
			require.NoError(t, with(signed, s.key("k1")))
			require.NoError(t, with(signed, bundles.Key{ID: "k2", File: newSigner(t, "ES256").file, Algorithm: "ES256"}, s.key("k1")), "of several")
			require.NoError(t, with(s.sign(t, goodFiles(), ""), s.key("k1")), "opa sign names no key")
			require.ErrorContains(t, with(goodFiles(), s.key("k1")), "not signed")
			require.ErrorContains(t, with(signed), "verif", "signed, and no key")
			require.ErrorContains(t, with(signed, s.key("k2")), `"k1"`)
			require.ErrorContains(t, with(s.sign(t, goodFiles(), ""), s.key("k1"), bundles.Key{ID: "k2", File: s.file, Algorithm: algorithm}), "names no key id")
			require.ErrorContains(t, with(other.sign(t, goodFiles(), "k1"), s.key("k1")), "signature")
			scoped := s.key("k1")
			scoped.Scope = "gates"
			require.ErrorContains(t, with(signed, scoped), "scope")

			changed := maps.Clone(signed)
			changed["x.rego"] += "\n# more\n"
			require.ErrorContains(t, with(changed, s.key("k1")), "x.rego")
			changed = maps.Clone(signed)
			changed["data.json"] = `{"settings": {"max": 1000}}`
			require.ErrorContains(t, with(changed, s.key("k1")), "data.json")
			changed = maps.Clone(signed)
			changed["y.rego"] = "package tools.y\n\nimport rego.v2\n\ndeny contains \"a\" if false\n"
			require.ErrorContains(t, with(changed, s.key("k1")), "y.rego")
			changed = maps.Clone(signed)
			delete(changed, "data.json")
			require.ErrorContains(t, with(changed, s.key("k1")), "data.json")
			changed = maps.Clone(signed)
			changed["lib/.signatures.json"] = changed[".signatures.json"]
			require.ErrorContains(t, with(changed, s.key("k1")), "root")

			two, err := json.Marshal(bundle.SignaturesConfig{Signatures: []string{s.token(t, goodFiles(), "k1"), other.token(t, goodFiles(), "k1")}})
			require.NoError(t, err)
			changed[".signatures.json"] = string(two)
			delete(changed, "lib/.signatures.json")
			require.ErrorContains(t, with(changed, s.key("k1")), "exactly one")
			for _, odd := range []string{`{}`, `{"signatures": []}`, `{"signatures": null}`, `{"signatures": ["a.b"]}`, `{"signatures": ["!.!.!"]}`, `{"signatures": ["e30.e30.e30"]}`, `{"plugin": "mine", "signatures": ["e30.e30.e30"]}`, `{"sig": 1}`, `[]`} {
				changed[".signatures.json"] = odd
				require.Error(t, with(changed, s.key("k1")), odd)
			}
		})
	}
}

// A token that says of itself how it is to be verified is not asked.
func TestAlgorithmIsThatOfTheKey(t *testing.T) {
	s := newSigner(t, "ES256")
	forger := signer{algorithm: "HS256", private: strings.TrimSpace(readAll(t, s.file))}
	files := forger.sign(t, goodFiles(), "k1")
	require.ErrorContains(t, load(t, bundles.Options{Bundles: []string{writeDir(t, files)}, Keys: []bundles.Key{s.key("k1")}}), "signature")
	token := strings.Split(s.token(t, goodFiles(), "k1"), ".")
	files[".signatures.json"] = `{"signatures": ["eyJhbGciOiJub25lIiwia2lkIjoiazEifQ.` + token[1] + `."]}` // alg: none
	require.ErrorContains(t, load(t, bundles.Options{Bundles: []string{writeDir(t, files)}, Keys: []bundles.Key{s.key("k1")}}), "signature")
}

func TestSettingsBesideSignedBundles(t *testing.T) {
	s := newSigner(t, "ES256")
	o := bundles.Options{Bundles: []string{writeDir(t, s.sign(t, goodFiles(), "k1"))}, Keys: []bundles.Key{s.key("k1")}, SettingsFile: writeFile(t, "s.json", []byte(`{"max": 3}`))}
	err := load(t, o)
	require.ErrorContains(t, err, "settings: ")
	require.ErrorContains(t, err, "bundles.unsigned_settings: allow")
	var wrong *bundles.ConfigError
	require.ErrorAs(t, err, &wrong)
	o.AllowSettings = true
	require.NoError(t, load(t, o))
}

func TestBadKeys(t *testing.T) {
	es, rs := newSigner(t, "ES256"), newSigner(t, "RS256")
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	shortDER, err := x509.MarshalPKIXPublicKey(short.Public())
	shortFile := writeFile(t, "short.pem", []byte(pemOf(t, "PUBLIC KEY", shortDER, err)))
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	p384DER, err := x509.MarshalPKIXPublicKey(p384.Public())
	p384File := writeFile(t, "p384.pem", []byte(pemOf(t, "PUBLIC KEY", p384DER, err)))
	for name, c := range map[string]struct {
		keys []bundles.Key
		want string
	}{
		"no such file":        {[]bundles.Key{{ID: "a", File: "nowhere.pem"}}, "bundles.keys[0].file: nowhere.pem: no such file"},
		"empty file":          {[]bundles.Key{{ID: "a", File: writeFile(t, "e", []byte("\n"))}}, "there is nothing in it"},
		"not PEM":             {[]bundles.Key{es.key("x"), {ID: "a", File: writeFile(t, "e", []byte("hello"))}}, "bundles.keys[1].file: "},
		"damaged":             {[]bundles.Key{{ID: "a", File: writeFile(t, "e", []byte("-----BEGIN PUBLIC KEY-----\naGVsbG8=\n-----END PUBLIC KEY-----\n"))}}, "bundles.keys[0].file: "},
		"a private key":       {[]bundles.Key{{ID: "a", File: writeFile(t, "e", []byte(es.private)), Algorithm: "ES256"}}, "private key"},
		"EC for RS256":        {[]bundles.Key{{ID: "a", File: es.file}}, "can't verify RS256"},
		"RSA for ES256":       {[]bundles.Key{{ID: "a", File: rs.file, Algorithm: "ES256"}}, "can't verify ES256"},
		"too short":           {[]bundles.Key{{ID: "a", File: shortFile}}, "1024 bits"},
		"another curve":       {[]bundles.Key{{ID: "a", File: p384File, Algorithm: "ES256"}}, "P-384"},
		"a public key, HS256": {[]bundles.Key{{ID: "a", File: es.file, Algorithm: "HS256"}}, "secret"},
		"no id":               {[]bundles.Key{{File: es.file}}, "bundles.keys[0].id"},
		"an id twice":         {[]bundles.Key{es.key("a"), es.key("a")}, "bundles.keys[1].id"},
		"neither":             {[]bundles.Key{{ID: "a"}}, "either file or env"},
		"no such variable":    {[]bundles.Key{{ID: "a", Env: "REGOGATE_NO_SUCH_VARIABLE"}}, "bundles.keys[0].env: REGOGATE_NO_SUCH_VARIABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bundles.Load(t.Context(), bundles.Options{Bundles: []string{"starter"}, Keys: c.keys})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestKeyFromTheEnvironment(t *testing.T) {
	s := newSigner(t, "HS256")
	t.Setenv("REGOGATE_TEST_KEY", s.private)
	dir := writeDir(t, s.sign(t, goodFiles(), "k1"))
	require.NoError(t, load(t, bundles.Options{Bundles: []string{dir}, Keys: []bundles.Key{{ID: "k1", Env: "REGOGATE_TEST_KEY", Algorithm: "HS256"}}}))
}

func readAll(t testing.TB, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(raw)
}

// What opa build writes and signs, from a directory as guides/publishing.md has it.
func TestBundlesThatOPABuilds(t *testing.T) {
	for _, algorithm := range []string{"RS256", "ES256", "HS256"} {
		s := newSigner(t, algorithm)
		dir := writeDir(t, with("sub/lib.rego", "package lib.sub\n\nimport rego.v2\n\none := 1\n", "settings/deep/data.yaml", "a: 1\n",
			".manifest", `{"roots": ["tools", "settings", "lib"], "metadata": {"regogate": {"sequence": 3}}}`))
		var out bytes.Buffer
		require.NoError(t, compile.New().WithAsBundle(true).WithPaths(dir).WithOutput(&out).WithRevision("built").
			WithBundleSigningConfig(bundle.NewSigningConfig(s.private, algorithm, "")).WithBundleVerificationKeyID("prod-2026").Build(t.Context()))
		o := bundles.Options{Bundles: []string{writeFile(t, "bundle.tar.gz", out.Bytes())}, Keys: []bundles.Key{s.key("prod-2026")}}
		require.NoError(t, load(t, o))
		o.Keys = []bundles.Key{newSigner(t, "ES256").key("prod-2026")}
		require.ErrorContains(t, load(t, o), "signature")
	}
}

// opa sign --bundle DIR signs names that begin with the directory as it was given.
func TestDirectoriesThatOPASigns(t *testing.T) {
	s := newSigner(t, "ES256")
	dir := writeDir(t, goodFiles())
	for prefix, want := range map[string]string{"": "", "policy/": "", dir[1:] + "/": "", dir + "/": "", "other/": "not included", "icy/": "not included"} {
		named := map[string]string{}
		for name, content := range goodFiles() {
			named[prefix+name] = content
		}
		signatures := s.sign(t, named, "")[".signatures.json"]
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".signatures.json"), []byte(signatures), 0o600))
		err := load(t, bundles.Options{Bundles: []string{dir}, Keys: []bundles.Key{s.key("k1")}})
		if want == "" {
			require.NoError(t, err, prefix)
			continue
		}
		require.ErrorContains(t, err, want, prefix)
	}
	files := goodFiles()
	files[".signatures.json"] = readAll(t, filepath.Join(dir, ".signatures.json"))
	require.Error(t, load(t, bundles.Options{Bundles: []string{writeFile(t, "policy", pack(t, files))}, Keys: []bundles.Key{s.key("k1")}}), "an archive is no directory")
}
