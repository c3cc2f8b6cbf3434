package bundles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Poll says how often a server is asked. Zeros mean the defaults.
type Poll struct {
	// Interval lies between two questions, give or take a quarter. 0 means a second.
	Interval time.Duration
	// Backoff is the longest time between two after failures. 0 means 30 seconds.
	Backoff time.Duration
	// Hold asks the server to keep a question until there is something new, at most so
	// long (long polling, as OPA asks for it). 0 doesn't ask for it.
	Hold time.Duration
}

const (
	defaultInterval = time.Second
	defaultBackoff  = 30 * time.Second
	// bundleType is the media type by which a server says that it holds questions.
	bundleType = "application/vnd.openpolicyagent.bundles"
	userAgent  = "regogate"
)

// An httpSource is a bundle on a server: an OPA bundle server, an object store or any
// other that serves files. The questions are OPA's own (ETag, Prefer), and so are the
// credentials; the answer is read here, within a limit that counts the whole bundle.
type httpSource struct {
	url  *url.URL
	end  *endpoint
	max  int64
	poll Poll

	holds bool // the server said that it holds questions
}

// fetch implements source.
func (s *httpSource) fetch(ctx context.Context, have string, hold bool) (*payload, error) {
	p, err := s.ask(ctx, have, hold && s.poll.Hold > 0)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("bundle %s: %w", display(s.url.String()), err)
	}
	return p, err
}

func (s *httpSource) ask(ctx context.Context, have string, hold bool) (*payload, error) {
	patience := s.end.timeout
	if hold {
		patience += s.poll.Hold
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no whole answer within %s (bundles.poll.timeout)", patience))
	defer cancel()
	req, err := s.request(ctx, have, hold)
	if err != nil {
		return nil, err
	}
	resp, err := s.end.do(ctx, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		s.holds = mediaType(resp) == bundleType
		return s.read(ctx, resp)
	case http.StatusNotModified:
		if have == "" {
			return nil, errors.New("the server says that nothing changed (304), and no bundle was fetched yet")
		}
		return nil, nil
	case http.StatusNoContent:
		return nil, errors.New("the server has no bundle (204)")
	default:
		return nil, fmt.Errorf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
}

func (s *httpSource) request(ctx context.Context, have string, hold bool) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return nil, errors.New("not a URL that can be asked for")
	}
	prefer := "modes=snapshot"
	if hold {
		prefer += ";wait=" + strconv.Itoa(max(1, int(s.poll.Hold/time.Second)))
	}
	req.Header.Set("Prefer", prefer)
	if have != "" {
		req.Header.Set("If-None-Match", have)
	}
	return req, nil
}

// read reads the body, which may be as large packed as it may be unpacked.
func (s *httpSource) read(ctx context.Context, resp *http.Response) (*payload, error) {
	if resp.ContentLength > s.max {
		return nil, fmt.Errorf("larger than %d bytes: raise limits.bundle_bytes or make the bundle smaller", s.max)
	}
	raw, err := readAtMost(resp.Body, s.max)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	c := newCollector(s.label(), s.max)
	if err := c.fromArchive(bytes.NewReader(raw)); err != nil {
		if kind := mediaType(resp); strings.HasPrefix(kind, "text/") {
			return nil, fmt.Errorf("the server answered with %s and not with a bundle: %w", kind, err)
		}
		return nil, err
	}
	p := c.payload(raw)
	if !mayChangeUnseen(resp) {
		p.etag = resp.Header.Get("ETag")
	}
	return p, nil
}

// mayChangeUnseen reports whether the content may become another under the same ETag:
// servers that make it of time and size (nginx) give two files of one size within one
// second the same. While that second isn't over, the bundle is asked for as a whole.
func mayChangeUnseen(resp *http.Response) bool {
	modified, err := http.ParseTime(resp.Header.Get("Last-Modified"))
	if err != nil {
		return false // the ETag is made of something else
	}
	now, err := http.ParseTime(resp.Header.Get("Date"))
	return err == nil && now.Sub(modified) < 2*time.Second
}

// label is the URL as findings name it, a path below which the bundle's files lie.
func (s *httpSource) label() string { return s.url.Host + s.url.Path }

func mediaType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

// do sends a request with the service's headers and credentials. What went wrong is
// told without the URL, in which there may be a signature.
func (e *endpoint) do(ctx context.Context, req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", userAgent)
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	if err := e.prepare(req); err != nil {
		return nil, fmt.Errorf("credentials: %w", causeOf(ctx, withoutBody(err)))
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	return resp, nil
}

func (e *endpoint) prepare(req *http.Request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.auth.Prepare(req)
}

// withoutBody drops what a token endpoint answered: it may repeat what it was sent.
func withoutBody(err error) error {
	var where *url.Error
	if errors.As(err, &where) {
		return where.Err
	}
	const marker = "error in response from OAuth2 token endpoint"
	if strings.Contains(err.Error(), marker) {
		return errors.New(marker)
	}
	return reason(err)
}

// causeOf says why a request ended: the deadline's reason, or the error without the URL.
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

// wait implements source: not at all after a question that was held, a jittered
// interval after others, and longer and longer after failures.
func (s *httpSource) wait(ctx context.Context, last outcome) error {
	interval := s.poll.Interval
	if interval <= 0 {
		interval = defaultInterval
	}
	if last.failures > 0 {
		return sleep(ctx, s.backoff(interval, last.failures))
	}
	// A server that answers at once that nothing is new doesn't hold, whatever it says.
	if held := !last.unchanged || last.took >= min(interval/4, s.poll.Hold/2); s.poll.Hold > 0 && s.holds && held {
		return ctx.Err()
	}
	return sleep(ctx, jitter(interval))
}

func (s *httpSource) backoff(interval time.Duration, failures int) time.Duration {
	longest := s.poll.Backoff
	if longest <= 0 {
		longest = defaultBackoff
	}
	d := min(interval, longest)
	for range failures - 1 {
		if d *= 2; d >= longest {
			d = longest
			break
		}
	}
	return jitter(d)
}

// jitter is d, give or take a quarter, so that many gates don't ask at once.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + time.Duration(rand.Int64N(int64(d)/2+1))
}

func (s *httpSource) close() { s.end.client.CloseIdleConnections() }
