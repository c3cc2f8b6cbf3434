package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxKeySet      = 1 << 20 // bytes of a JWK set
	fetchTimeout   = 10 * time.Second
	defaultLife    = time.Hour        // of keys whose server doesn't say
	minLife        = time.Minute      // and the shortest and the longest
	maxLife        = time.Hour        // that a server may ask for
	fileLife       = 5 * time.Second  // between two looks at a file
	unknownKeyWait = 10 * time.Second // between two fetches for keys that aren't known
	firstBackOff   = time.Second
	lastBackOff    = 5 * time.Minute
)

// A keySource has the issuer's keys, and fetches them again: when they are old, and
// when a token names one that isn't known. Fetching goes on beside the requests, once
// at a time, and less and less often while it fails. Safe for concurrent use.
type keySource struct {
	fetch      func(context.Context) (keys []verificationKey, life time.Duration, err error)
	retryAfter time.Duration // between two fetches for keys that aren't known
	maxStale   time.Duration
	now        func() time.Time
	report     func(error) // told of each fetch that failed; never nil

	mu       sync.Mutex
	keys     []verificationKey
	fetched  time.Time     // when keys were
	expires  time.Time     // when they are to be fetched again
	tried    time.Time     // when the last fetch began
	failures int           // in a row
	fetching chan struct{} // closed when the fetch under way has ended; nil when none is
	failed   error         // of the last fetch

	stop   context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// start fetches the keys for the first time.
func (s *keySource) start(ctx context.Context) error {
	s.stop, s.cancel = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	keys, life, err := s.fetch(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(keys, life, err)
	return err
}

// take notes what came of a fetch. The lock is held.
func (s *keySource) take(keys []verificationKey, life time.Duration, err error) {
	now := s.now()
	s.failed = err
	if err != nil {
		s.failures++
		return
	}
	s.keys, s.fetched, s.expires, s.failures = keys, now, now.Add(life), 0
}

// find returns the keys that may verify t. It waits for a fetch only if none of the
// known ones may.
func (s *keySource) find(ctx context.Context, t jwsToken) ([]verificationKey, error) {
	s.mu.Lock()
	if s.expired() {
		s.refresh()
	}
	keys, err := s.current()
	found := candidates(keys, t)
	if len(found) > 0 && err == nil {
		s.mu.Unlock()
		return found, nil
	}
	if s.fetching == nil && !s.now().Before(s.tried.Add(max(s.retryAfter, s.backOff()))) {
		s.refresh()
	}
	fetching := s.fetching
	s.mu.Unlock()
	if fetching != nil {
		select {
		case <-fetching:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys, err = s.current()
	return candidates(keys, t), err
}

// current returns the keys, unless they are too old to be trusted. The lock is held.
func (s *keySource) current() ([]verificationKey, error) {
	if s.now().After(s.expires.Add(s.maxStale)) {
		return nil, fmt.Errorf("no fresh keys since %s: %w", s.fetched.UTC().Format(time.RFC3339), s.failed)
	}
	return s.keys, nil
}

// expired reports whether it is time to fetch the keys again. The lock is held.
func (s *keySource) expired() bool {
	now := s.now()
	return s.fetching == nil && now.After(s.expires) && !now.Before(s.tried.Add(s.backOff()))
}

// backOff is how long to wait after the last fetch began. The lock is held.
func (s *keySource) backOff() time.Duration {
	if s.failures == 0 {
		return 0
	}
	return min(firstBackOff<<min(s.failures-1, 20), lastBackOff)
}

// refresh fetches the keys on a goroutine of its own. The lock is held, and no fetch is
// under way.
func (s *keySource) refresh() {
	if s.stop.Err() != nil {
		return
	}
	done := make(chan struct{})
	s.fetching, s.tried = done, s.now()
	s.wg.Go(func() {
		ctx, cancel := context.WithTimeout(s.stop, fetchTimeout)
		defer cancel()
		keys, life, err := s.fetch(ctx)
		if err != nil && s.stop.Err() == nil {
			s.report(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.take(keys, life, err)
		s.fetching = nil
		close(done)
	})
}

// ready says why no token can be verified now, nil when some can.
func (s *keySource) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.current()
	return err
}

func (s *keySource) close() {
	s.mu.Lock()
	s.cancel() // no fetch begins after this
	s.mu.Unlock()
	s.wg.Wait()
}

// fetchURL returns a fetch of the keys at a URL.
func fetchURL(client *http.Client, at string, allowed []string) func(context.Context) ([]verificationKey, time.Duration, error) {
	return func(ctx context.Context) ([]verificationKey, time.Duration, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, 0, fmt.Errorf("keys at %s: %w", at, err)
		}
		req.Header.Set("Accept", "application/jwk-set+json, application/json")
		resp, err := client.Do(req)
		if err != nil {
			return nil, 0, fmt.Errorf("keys at %s: %w", at, withoutURL(err))
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, 0, fmt.Errorf("keys at %s: the answer is %d, not 200", at, resp.StatusCode)
		}
		keys, err := readKeys(resp.Body, allowed)
		if err != nil {
			return nil, 0, fmt.Errorf("keys at %s: %w", at, err)
		}
		return keys, life(resp.Header), nil
	}
}

// withoutURL drops the URL, which the message has already.
func withoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// fetchFile returns a fetch of the keys in a file, which is read again when it changed.
func fetchFile(path string, allowed []string) func(context.Context) ([]verificationKey, time.Duration, error) {
	return func(context.Context) ([]verificationKey, time.Duration, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, 0, fmt.Errorf("keys: %w", err)
		}
		defer f.Close()
		keys, err := readKeys(f, allowed)
		if err != nil {
			return nil, 0, fmt.Errorf("keys in %s: %w", path, err)
		}
		return keys, fileLife, nil
	}
}

func readKeys(r io.Reader, allowed []string) ([]verificationKey, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxKeySet+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxKeySet {
		return nil, fmt.Errorf("more than %d bytes", maxKeySet)
	}
	return parseKeys(data, allowed)
}

// life is how long keys may be kept that came with these headers.
func life(h http.Header) time.Duration {
	for _, value := range h.Values("Cache-Control") {
		for directive := range strings.SplitSeq(value, ",") {
			name, seconds, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch {
			case strings.EqualFold(name, "no-cache"), strings.EqualFold(name, "no-store"):
				return minLife
			case strings.EqualFold(name, "max-age"):
				if n, err := strconv.ParseUint(strings.Trim(seconds, `"`), 10, 32); err == nil {
					return min(max(time.Duration(n)*time.Second, minLife), maxLife)
				}
			}
		}
	}
	return defaultLife
}

// unescape undoes the escapes of a query parameter's name.
func unescape(name string) (string, bool) {
	s, err := url.QueryUnescape(name)
	return s, err == nil
}
