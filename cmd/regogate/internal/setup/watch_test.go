package setup

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
)

func configured(t *testing.T, yaml string) config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(file, []byte(yaml), 0o600))
	c, err := config.Load(config.Options{File: file})
	require.NoError(t, err)
	return c
}

// What is wrong with keys, URLs and certificates is told before anything starts, with
// the line and the key of the configuration.
func TestWatchRefusesWhatCannotBe(t *testing.T) {
	for yaml, want := range map[string]string{
		"bundle: starter\nbundles:\n  keys:\n    - {id: a, file: nowhere.pem}":              "c.yaml:4: bundles.keys[0].file: ",
		"bundle: https://me:secret@a.test/b":                                                "c.yaml:1: bundle: https://a.test/b: ",
		"bundle: [starter, 'ftp://a.test/b']":                                               "c.yaml:1: bundle[1]: ftp://a.test/b: ",
		"bundle: starter\nservices:\n  - {url: 'https://a.test', ca_file: nowhere.pem}":     "c.yaml:3: services[0].ca_file: ",
		"bundle: starter\nservices:\n  - {url: 'https://a.test', token_env: NO_SUCH_TOKEN}": "c.yaml:3: services[0].token_env: ",
		"bundle: starter\nbundles: {status_url: 'nowhere'}":                                 "c.yaml:2: bundles.status_url: ",
		"bundle: starter\nbundles: {state: c.yaml}":                                         "c.yaml:2: bundles.state: ",
	} {
		s, err := Prepare(configured(t, yaml), nil)
		require.NoError(t, err)
		_, err = s.Watch(t.Context(), slog.New(slog.DiscardHandler), nil)
		var wrong *config.Error
		require.ErrorAs(t, err, &wrong, yaml)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
		if wrong.Problems[0].Key != "bundles.state" && wrong.Problems[0].Key != "bundles.status_url" {
			require.ErrorContains(t, s.Load(t.Context()), want, "once, too")
		}
	}
}

// Every key about bundles reaches them.
func TestWatchOptionsCarryEveryKey(t *testing.T) {
	c := configured(t, `
bundle: [a, b]
settings: s.json
bundles:
  keys: [{id: k, env: K, algorithm: HS256, scope: s}]
  unsigned_settings: allow
  self_test: true
  state: st
  max_age: 1h
  poll: {interval: 2s, backoff: 3s, hold: 4s, timeout: 5s}
  status_url: https://a.test/status
services: [{url: "https://a.test", token_env: T}]
`)
	o := watchOptions(c, bundles.WatchOptions{})
	require.Equal(t, []bundles.Key{{ID: "k", Env: "K", Algorithm: "HS256", Scope: "s"}}, o.Keys)
	require.True(t, o.AllowSettings && o.SelfTest)
	require.Equal(t, c.Bundles.State, o.State)
	require.Equal(t, time.Hour, o.MaxAge)
	require.Equal(t, bundles.Poll{Interval: 2 * time.Second, Backoff: 3 * time.Second, Hold: 4 * time.Second}, o.Poll)
	require.Equal(t, 5*time.Second, o.Timeout)
	require.Equal(t, "https://a.test/status", o.StatusURL)
	require.Equal(t, []bundles.Service{{URL: "https://a.test", TokenEnv: "T"}}, o.Services)
}

// A server that is down at the start leaves the gate not ready, and is tried again.
func TestWatchWaitsForAServer(t *testing.T) {
	up := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-up:
			raw, err := os.ReadFile("../../../../bundles/testdata/bundle.tar.gz")
			if err != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
			_, _ = w.Write(raw)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	s, err := Prepare(configured(t, "bundle: "+server.URL+"/b.tar.gz\nbundles: {poll: {interval: 10ms, backoff: 10ms}}"), nil)
	require.NoError(t, err)
	var log bytes.Buffer
	stop, err := s.Watch(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), nil)
	require.NoError(t, err)
	require.Nil(t, s.Rules)
	require.False(t, s.Bundles.Status().Ready)
	decide := func() policy.Code {
		return s.Gate.Decide(context.Background(), policy.Call{Tool: s.Gate.Tool(policy.ToolSpec{Name: "x", NoSchema: true}), Arguments: []byte(`{"n": 4}`)}).Code()
	}
	require.Equal(t, policy.NotReady, decide())
	close(up)
	require.Eventually(t, func() bool { return decide() == policy.Denied }, 20*time.Second, 5*time.Millisecond)
	stop()
	require.Contains(t, log.String(), "503 Service Unavailable")
	require.NoError(t, s.Load(t.Context()), "once")
	require.Equal(t, policy.Denied, decide())
}
