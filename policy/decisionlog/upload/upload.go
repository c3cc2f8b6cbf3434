package upload

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
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/regogate/regogate/policy/decisionlog"
)

// Options say where records go. Zeros mean the defaults.
type Options struct {
	// URL of the service; /logs is appended unless it ends so.
	URL string
	// TokenFile holds a bearer token. It is read for each request, so that it may change.
	TokenFile string
	// CAFile holds the certificates that the server is trusted by, "" for the system's.
	CAFile string
	// ChunkBytes is how much is sent at once, before compression. 0 means 512 KiB.
	ChunkBytes int
	// Delay is how long records are collected. 0 means 1 s.
	Delay time.Duration
	// MinPause and MaxPause bound the pause before another try. 0 means 200 ms and 1 min.
	MinPause, MaxPause time.Duration
	// Timeout bounds one request. 0 means 30 s.
	Timeout time.Duration
	// Logger is told when the server can't be reached, and when it can again. nil is silent.
	Logger *slog.Logger
}

// A Sink is a decisionlog.Sink.
type Sink struct {
	o      Options
	client *http.Client
	down   bool
}

var (
	_ decisionlog.Sink     = (*Sink)(nil)
	_ decisionlog.Lingerer = (*Sink)(nil)
)

// New returns a Sink, or an error that names the key that is wrong. It asks nothing of
// the server.
func New(o Options) (*Sink, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("decision_log.url: not an http or https URL")
	case u.User != nil:
		return nil, errors.New("decision_log.url: it has credentials in it: use decision_log.token_file")
	case o.TokenFile != "" && u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, errors.New("decision_log.url: a token must not travel over plain http: use https")
	}
	if !strings.HasSuffix(u.Path, "/logs") {
		u = u.JoinPath("logs")
	}
	o.URL = u.String()
	o.ChunkBytes = cmp.Or(o.ChunkBytes, 512<<10)
	o.Delay = cmp.Or(o.Delay, time.Second)
	o.MinPause = cmp.Or(o.MinPause, 200*time.Millisecond)
	o.MaxPause = max(cmp.Or(o.MaxPause, time.Minute), o.MinPause)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Sink{o: o}
	if _, err := s.token(); err != nil {
		return nil, fmt.Errorf("decision_log.token_file: %w", err)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, MaxIdleConns: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("decision_log.ca_file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("decision_log.ca_file: %s: no certificate in it", o.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	s.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Sink) token() (string, error) {
	if s.o.TokenFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(s.o.TokenFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s: not one token", s.o.TokenFile)
	}
	return token, nil
}

// Name implements decisionlog.Sink.
func (s *Sink) Name() string { return s.o.URL }

// Linger implements decisionlog.Lingerer.
func (s *Sink) Linger() (time.Duration, int64) { return s.o.Delay, int64(s.o.ChunkBytes) }

// Close implements decisionlog.Sink.
func (s *Sink) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// Write implements decisionlog.Sink. It comes back when the server has taken all, but
// for those that it will never take, or when ctx ends.
func (s *Sink) Write(ctx context.Context, lines [][]byte) (int, error) {
	lost := 0
	var why error
	for taken := 0; taken < len(lines); {
		n, size := 0, 0
		for taken+n < len(lines) && (n == 0 || size+len(lines[taken+n]) <= s.o.ChunkBytes) {
			size += len(lines[taken+n])
			n++
		}
		bad, err := s.deliver(ctx, lines[taken:taken+n])
		if ctx.Err() != nil {
			return taken - lost, err
		}
		if bad > 0 {
			lost, why = lost+bad, err
		}
		taken += n
	}
	return len(lines) - lost, why
}

// errUnacceptable says that the server will never take what it was sent.
var errUnacceptable = errors.New("the server refuses it")

// deliver sends lines until the server takes them. It returns how many it never will.
func (s *Sink) deliver(ctx context.Context, lines [][]byte) (lost int, err error) {
	body := pack(lines)
	for try := 0; ; try++ {
		wait, err := s.post(ctx, body)
		switch {
		case err == nil:
			if s.down {
				s.down = false
				s.o.Logger.Info("decision log: the server takes records again", "url", s.o.URL)
			}
			return 0, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.Is(err, errUnacceptable) && len(lines) == 1:
			return 1, err
		case errors.Is(err, errUnacceptable):
			half := len(lines) / 2
			a, errA := s.deliver(ctx, lines[:half])
			b, errB := s.deliver(ctx, lines[half:])
			return a + b, cmp.Or(errA, errB)
		}
		if !s.down {
			s.down = true
			s.o.Logger.Error("decision log: the server doesn't take records, they wait", "url", s.o.URL, "why", err.Error())
		}
		timer := time.NewTimer(max(wait, s.pause(try)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
	}
}

// pause is a random time up to a bound that doubles with every try.
func (s *Sink) pause(try int) time.Duration {
	most := min(s.o.MinPause<<min(try+1, 20), s.o.MaxPause)
	if most <= 0 {
		most = s.o.MaxPause
	}
	return s.o.MinPause/2 + rand.N(most)
}

// pack makes a gzipped JSON array of lines.
func pack(lines [][]byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b) // writing to memory never fails
	for i, line := range lines {
		if i == 0 {
			_, _ = io.WriteString(w, "[")
		} else {
			_, _ = io.WriteString(w, ",")
		}
		_, _ = w.Write(bytes.TrimSuffix(line, []byte("\n")))
	}
	_, _ = io.WriteString(w, "]")
	_ = w.Close()
	return b.Bytes()
}

// post sends one request. wait is how long the server asks not to be asked again.
func (s *Sink) post(ctx context.Context, body []byte) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.o.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Content-Encoding", "gzip")
	token, err := s.token()
	if err != nil {
		return 0, fmt.Errorf("decision_log.token_file: %w", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // for the connection's sake
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return 0, nil
	case code == http.StatusRequestEntityTooLarge, code == http.StatusBadRequest, code == http.StatusUnprocessableEntity:
		return 0, fmt.Errorf("%w: %s", errUnacceptable, resp.Status)
	default:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return min(time.Duration(max(seconds, 0))*time.Second, s.o.MaxPause), errors.New(resp.Status)
	}
}
