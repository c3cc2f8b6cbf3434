// Package outbound posts what a gate has to tell, records and spans, to one URL that the
// configuration names.
//
// Everything about the URL, the token and the certificates that can be wrong is found
// when the [Client] is made, and errors name the key of the configuration. Redirects are
// not followed: what is sent goes where it was meant to go, or nowhere. A token doesn't
// travel in the clear, except to the machine itself, and is read for each request.
//
// # Limits
//
// It doesn't try again and keeps nothing: that is its callers' affair. Of an answer it
// reads 64 KiB.
package outbound

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Options say where to post. Key and URL are required.
type Options struct {
	// Key is the part of the configuration that errors are about, such as decision_log.
	Key string
	// URL gets Path appended unless it ends so.
	URL, Path string
	// ContentType is that of every body. All bodies are gzipped.
	ContentType string
	// TokenFile holds a bearer token, "" for none. It is read for each request, so that it
	// may change.
	TokenFile string
	// CAFile holds the certificates that the server is trusted by, "" for the system's.
	CAFile string
	// Timeout bounds one request with its answer. 0 means 30 s.
	Timeout time.Duration
}

// A Client posts to one URL. Make it with [New]; it is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client
}

const (
	defaultTimeout = 30 * time.Second
	mostAnswer     = 64 << 10
	mostFile       = 1 << 20
)

// New returns a Client, or an error that begins with the key that is wrong. It asks
// nothing of the server.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s.url: not an http or https URL", o.Key)
	case u.User != nil:
		return nil, fmt.Errorf("%s.url: it has credentials in it: use %[1]s.token_file", o.Key)
	case u.Fragment != "":
		return nil, fmt.Errorf("%s.url: it has a fragment, which no server sees", o.Key)
	case o.TokenFile != "" && u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%s.url: a token must not travel over plain http: use https", o.Key)
	}
	if !strings.HasSuffix(u.Path, "/"+o.Path) {
		u = u.JoinPath(o.Path)
	}
	o.URL, o.Timeout = u.String(), cmp.Or(o.Timeout, defaultTimeout)
	c := &Client{o: o}
	if _, err := c.token(); err != nil {
		return nil, fmt.Errorf("%s.token_file: %w", o.Key, err)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	if o.CAFile != "" {
		pem, err := readSmall(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%s.ca_file: %s: %w", o.Key, o.CAFile, err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s.ca_file: %s: no certificate in it", o.Key, o.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func readSmall(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, pathless(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err != nil {
		return nil, pathless(err)
	}
	if len(b) > mostFile {
		return nil, fmt.Errorf("larger than %d bytes", mostFile)
	}
	return b, nil
}

// pathless drops the path that the message has already.
func pathless(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func (c *Client) token() (string, error) {
	if c.o.TokenFile == "" {
		return "", nil
	}
	b, err := readSmall(c.o.TokenFile)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.o.TokenFile, err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: not one token", c.o.TokenFile)
	}
	return token, nil
}

// Name is the URL without its query, which may hold a credential.
func (c *Client) Name() string {
	name, _, _ := strings.Cut(c.o.URL, "?")
	return name
}

// Close gives the connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// An Answer is what a server said.
type Answer struct {
	Code   int
	Status string
	// Wait is how long the server asks not to be asked again.
	Wait time.Duration
}

// Gzipped is what write writes, compressed: a body for Post, made once for all tries.
func Gzipped(write func(w io.Writer)) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b) // writing to memory never fails
	write(w)
	_ = w.Close()
	return b.Bytes()
}

// Post sends one gzipped body. The error says why there was no answer, without the URL's
// query.
func (c *Client) Post(ctx context.Context, body []byte) (Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, fmt.Errorf("no whole answer within %s", c.o.Timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.URL, bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("%s.url: not a URL that can be asked for", c.o.Key)
	}
	req.Header.Set("Content-Type", c.o.ContentType)
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("User-Agent", "regogate")
	token, err := c.token()
	if err != nil {
		return Answer{}, fmt.Errorf("%s.token_file: %w", c.o.Key, err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, causeOf(ctx, err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, mostAnswer)) // for the connection's sake
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	const longest = 24 * 60 * 60
	return Answer{Code: resp.StatusCode, Status: fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)),
		Wait: time.Duration(min(max(seconds, 0), longest)) * time.Second}, nil
}

// causeOf says why a request ended, without the URL.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	var where *url.Error
	if errors.As(err, &where) {
		return where.Err
	}
	return err
}

// OK reports whether the server took what it was sent.
func (a Answer) OK() bool { return a.Code/100 == 2 }
