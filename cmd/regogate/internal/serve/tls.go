package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"
)

// maxPEM is more than any certificate chain or set of authorities needs.
const maxPEM = 16 << 20

// certificate reads a certificate with its key. One that isn't valid now is an error.
func certificate(certFile, keyFile string) func() (*tls.Certificate, error) {
	return func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "tls: "))
		}
		switch now := time.Now(); {
		case now.After(c.Leaf.NotAfter):
			return nil, fmt.Errorf("%s: the certificate has expired on %s", certFile, c.Leaf.NotAfter.UTC().Format(time.RFC3339))
		case now.Before(c.Leaf.NotBefore):
			return nil, fmt.Errorf("%s: the certificate isn't valid before %s", certFile, c.Leaf.NotBefore.UTC().Format(time.RFC3339))
		}
		return &c, nil
	}
}

// authorities reads certificates of authorities.
func authorities(file string) func() (*x509.CertPool, error) {
	return func() (*x509.CertPool, error) {
		data, err := readFile(file, maxPEM)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%s: there is no certificate in it", file)
		}
		return pool, nil
	}
}

func readFile(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, pathless(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, pathless(err))
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%s: larger than %d bytes", file, most)
	}
	return data, nil
}

// serverTLS is the configuration of a server whose files may change. A nil clients asks
// for no client certificates; otherwise each client must have a good one.
func serverTLS(own *reloaded[*tls.Certificate], clients *reloaded[*x509.CertPool]) *tls.Config {
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own.get(), nil },
	}
	if clients == nil {
		return c
	}
	// Resumed sessions would not be checked against changed authorities.
	c.ClientAuth, c.SessionTicketsDisabled = tls.RequireAndVerifyClientCert, true
	c.ClientCAs = clients.get()
	base := c.Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := base.Clone()
		now.ClientCAs = clients.get()
		return now, nil
	}
	return c
}

// listening reads the files by which the gate speaks TLS; nil when it doesn't.
func (p *Plan) listening(log *slog.Logger) *tls.Config {
	t := p.cfg.TLS
	switch {
	case t.CertFile == "" && t.KeyFile == "" && t.ClientCAFile == "":
		return nil
	case t.CertFile == "" || t.KeyFile == "":
		p.wrong(firstSet(p.cfg, "tls.cert_file", "tls.key_file", "tls.client_ca_file"), "TLS needs a certificate and its key", "give both tls.cert_file and tls.key_file")
		return nil
	}
	own, err := newReloaded(log, certificate(t.CertFile, t.KeyFile), t.CertFile, t.KeyFile)
	p.fault("tls.cert_file", err, "name a certificate that is valid, and its own key, as PEM")
	var clients *reloaded[*x509.CertPool]
	if t.ClientCAFile != "" {
		clients, err = newReloaded(log, authorities(t.ClientCAFile), t.ClientCAFile)
		p.fault("tls.client_ca_file", err, "name a file with certificates of authorities, as PEM")
	}
	if len(p.problems) > 0 {
		return nil
	}
	return serverTLS(own, clients)
}
