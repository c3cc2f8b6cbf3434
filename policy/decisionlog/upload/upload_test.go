package upload_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
	"github.com/regogate/regogate/policy/decisionlog/upload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a decision log API.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	ids      []string
	requests int
	answer   func(n int, events []json.RawMessage) int
	auth     string
}

func serve(t *testing.T, answer func(n int, events []json.RawMessage) int) *server {
	t.Helper()
	s := &server{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests++
		s.auth = r.Header.Get("Authorization")
		zr, err := gzip.NewReader(r.Body)
		var events []json.RawMessage
		if err == nil {
			err = json.NewDecoder(zr).Decode(&events)
		}
		if err != nil || r.URL.Path != "/base/logs" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		code := s.answer(s.requests, events)
		if code == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(code)
		if code == http.StatusOK {
			for _, e := range events {
				var event struct {
					ID string `json:"decision_id"`
				}
				if json.Unmarshal(e, &event) == nil {
					s.ids = append(s.ids, event.ID)
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.ids...)
}

func sink(t *testing.T, o upload.Options) *upload.Sink {
	t.Helper()
	o.MinPause, o.MaxPause = time.Millisecond, 5*time.Millisecond
	s, err := upload.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func lines(n, size int) [][]byte {
	var out [][]byte
	for i := range n {
		out = append(out, fmt.Appendf(nil, `{"decision_id":"%d","x":"%s"}`+"\n", i, strings.Repeat("x", size)))
	}
	return out
}

func ids(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func TestChunks(t *testing.T) {
	srv := serve(t, func(int, []json.RawMessage) int { return 200 })
	n, err := sink(t, upload.Options{URL: srv.URL + "/base", ChunkBytes: 1000}).Write(t.Context(), lines(25, 100))
	require.NoError(t, err)
	require.Equal(t, 25, n)
	require.Equal(t, ids(25), srv.got())
	require.Equal(t, 4, srv.requests)
}

// The server fails in every way for a while: everything arrives, in order.
func TestTriesAgain(t *testing.T) {
	fails := []int{500, 503, 429, 401, 404, 302, 418}
	srv := serve(t, func(n int, _ []json.RawMessage) int {
		if n <= len(fails) {
			return fails[n-1]
		}
		return 200
	})
	n, err := sink(t, upload.Options{URL: srv.URL + "/base/logs"}).Write(t.Context(), lines(3, 10))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, ids(3), srv.got())
	require.Equal(t, len(fails)+1, srv.requests)
}

// One record that the server never takes is lost alone.
func TestPoison(t *testing.T) {
	for _, code := range []int{400, 413, 422} {
		srv := serve(t, func(_ int, events []json.RawMessage) int {
			for _, e := range events {
				if bytes.Contains(e, []byte(`"5"`)) {
					return code
				}
			}
			return 200
		})
		n, err := sink(t, upload.Options{URL: srv.URL + "/base"}).Write(t.Context(), lines(9, 10))
		require.ErrorContains(t, err, "refuses")
		require.Equal(t, 8, n)
		require.Len(t, srv.got(), 8)
	}
}

func TestGivesUpWhenTold(t *testing.T) {
	srv := serve(t, func(int, []json.RawMessage) int { return 503 })
	ctx, cancel := context.WithCancel(t.Context())
	s := sink(t, upload.Options{URL: srv.URL + "/base"})
	done := make(chan error, 1)
	go func() { _, err := s.Write(ctx, lines(3, 10)); done <- err }()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("one\n"), 0o600))
	srv := serve(t, func(int, []json.RawMessage) int { return 200 })
	s := sink(t, upload.Options{URL: srv.URL + "/base", TokenFile: file})
	for _, token := range []string{"one", "two"} {
		require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
		_, err := s.Write(t.Context(), lines(1, 1))
		require.NoError(t, err)
		require.Equal(t, "Bearer "+token, srv.auth)
	}
}

func TestBadOptions(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for want, o := range map[string]upload.Options{
		"decision_log.url: not an http": {URL: "ftp://x"},
		"decision_log.url: not":         {URL: "logs"},
		"decision_log.url: it has":      {URL: "https://a:b@x"},
		"decision_log.url: a token":     {URL: "http://example.com", TokenFile: empty},
		"a fragment":                    {URL: "https://example.com/#logs"},
		"decision_log.url":              {URL: "https://:443/"},
		"decision_log.token_file":       {URL: "https://example.com", TokenFile: empty},
		"x: no such file":               {URL: "https://example.com", TokenFile: empty + "x"},
		"decision_log.ca_file":          {URL: "https://example.com", CAFile: empty + "x"},
		"no certificate in it":          {URL: "https://example.com", CAFile: empty},
	} {
		_, err := upload.New(o)
		require.ErrorContains(t, err, want)
	}
}

type rules struct{}

func (rules) Revision() string { return "r" }
func (rules) Cover(*policy.Tool) policy.Coverage {
	return policy.Coverage{Own: true, Deny: policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })}
}

// Servers that accept and never answer, or aren't there at all, delay no decision. What
// was decided meanwhile arrives when there is a server, as far as it was kept.
func TestDeadServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	for name, address := range map[string]string{"silent": silent.Addr().String(), "nobody": "127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			s := sink(t, upload.Options{URL: "http://" + address, Delay: time.Millisecond})
			l, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{s}, BufferBytes: 100 << 10})
			require.NoError(t, err)
			g, err := policy.NewGate(policy.Options{Recorder: l})
			require.NoError(t, err)
			g.Use(rules{})
			tool := g.Tool(policy.ToolSpec{Name: "t", NoSchema: true})
			slowest := time.Duration(0)
			for range 2000 {
				began := time.Now()
				require.True(t, g.Decide(t.Context(), policy.Call{Tool: tool, Arguments: []byte(`{}`)}).Allowed)
				slowest = max(slowest, time.Since(began))
			}
			require.Less(t, slowest, time.Second)
			require.Eventually(t, func() bool { return l.Stats().Dropped > 0 }, 20*time.Second, time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			require.ErrorContains(t, l.Close(ctx), "gave up")
		})
	}
}

// From decision to server, through the log.
func TestEndToEnd(t *testing.T) {
	srv := serve(t, func(n int, _ []json.RawMessage) int {
		if n == 1 {
			return 500
		}
		return 200
	})
	l, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{sink(t, upload.Options{URL: srv.URL + "/base", Delay: time.Hour, ChunkBytes: 10 << 10})}})
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{Recorder: l})
	require.NoError(t, err)
	g.Use(rules{})
	tool := g.Tool(policy.ToolSpec{Name: "t", NoSchema: true})
	var want []string
	for range 100 {
		want = append(want, g.Decide(t.Context(), policy.Call{Tool: tool, Arguments: []byte(`{}`)}).ID)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, l.Close(ctx))
	require.Equal(t, want, srv.got())
}
