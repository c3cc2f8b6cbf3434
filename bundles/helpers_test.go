package bundles_test

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/x509"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/regoeval"
)

// within is a bound for something that has to be quick: the promised one where
// REGOGATE_STRICT_TIMES says that the machine does nothing else, and a generous one otherwise.
func within(promised, generous time.Duration) time.Duration {
	if os.Getenv("REGOGATE_STRICT_TIMES") != "" {
		return promised
	}
	return generous
}

// zipped is text in a gzip stream.
func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return buf.Bytes()
}

// incompressible is n bytes that look like a gzip stream at the beginning only.
func incompressible(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	out := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}
	for len(out) < n {
		out = append(out, byte(random.Uint32()))
	}
	return out
}

// nothing is a Use for watchers that are never started.
func nothing(*regoeval.Ruleset) {}

// selfSigned makes a certificate for a client.
func selfSigned(t testing.TB) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(crand.Reader, template, template, private.Public(), private)
	cert = writeFile(t, "client.pem", []byte(pemOf(t, "CERTIFICATE", der, err)))
	der, err = x509.MarshalECPrivateKey(private)
	return cert, writeFile(t, "client.key", []byte(pemOf(t, "EC PRIVATE KEY", der, err)))
}
