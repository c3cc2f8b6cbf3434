package admin_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/cmd/regogate/internal/admin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(ready *error) admin.Options {
	return admin.Options{
		Listen:  "127.0.0.1:0",
		Ready:   func() error { return *ready },
		Status:  func() any { return map[string]any{"ready": *ready == nil} },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "figures") }),
	}
}

func ask(h http.Handler, method, path, host string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestWhatIsAnswered(t *testing.T) {
	notReady := errors.New("nothing is in force")
	ready := notReady
	h := admin.Handler(options(&ready))
	for _, tt := range []struct {
		path   string
		ready  error
		status int
		body   string
	}{
		{"/healthz", notReady, 200, "ok\n"}, {"/healthz", nil, 200, "ok\n"},
		{"/readyz", notReady, 503, "not ready: nothing is in force\n"}, {"/readyz", nil, 200, "ready\n"},
		{"/status", notReady, 200, "{\n  \"ready\": false\n}\n"}, {"/metrics", notReady, 200, "figures"},
		{"/", nil, 404, ""}, {"/status/x", nil, 404, ""}, {"/debug/pprof/", nil, 404, ""},
	} {
		ready = tt.ready
		w := ask(h, http.MethodGet, tt.path, "127.0.0.1:1")
		require.Equal(t, tt.status, w.Code, tt.path)
		if tt.body != "" {
			require.Equal(t, tt.body, w.Body.String())
		}
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	}
}

func TestNothingCanBeChanged(t *testing.T) {
	var ready error
	h := admin.Handler(options(&ready))
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "get"} {
		for _, path := range []string{"/status", "/readyz", "/metrics", "/"} {
			require.Equal(t, http.StatusMethodNotAllowed, ask(h, method, path, "localhost").Code, method)
		}
	}
	require.Equal(t, http.StatusOK, ask(h, "HEAD", "/status", "localhost").Code)
}

// A web page that has its own name resolve to loopback is not answered.
func TestHostHasToBeLoopback(t *testing.T) {
	var ready error
	o := options(&ready)
	for _, host := range []string{"127.0.0.1", "127.0.0.1:9400", "localhost", "LOCALHOST:1", "[::1]:9400", "[::1]", "127.8.9.1", "[::ffff:127.0.0.1]:1"} {
		require.Equal(t, http.StatusOK, ask(admin.Handler(o), "GET", "/status", host).Code, host)
	}
	foreign := []string{"", "evil.example", "evil.example:9400", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1:9400", "0.0.0.0:9400", "[::]:1", "127.1", "0x7f.0.0.1", "localhost@evil.example"}
	for _, host := range foreign {
		require.Equal(t, http.StatusMisdirectedRequest, ask(admin.Handler(o), "GET", "/status", host).Code, host)
	}
	o.Anywhere = true
	for _, host := range foreign {
		require.Equal(t, http.StatusOK, ask(admin.Handler(o), "GET", "/status", host).Code, host)
	}
}

func TestListen(t *testing.T) {
	var ready error
	s, err := admin.Listen(options(&ready))
	require.NoError(t, err)
	transport := &http.Transport{}
	response, err := (&http.Client{Transport: transport}).Get("http://" + s.Addr() + "/readyz")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, response.Body.Close())
	transport.CloseIdleConnections()
	taken := options(&ready)
	taken.Listen = s.Addr()
	_, err = admin.Listen(taken)
	require.ErrorContains(t, err, "admin.listen: ")
	s.Close()
	s.Close()
	for address, want := range map[string]string{
		"0.0.0.0:0": "admin.access: any", ":0": "admin.access: any", "[::]:0": "admin.access: any", "10.1.2.3:9400": "admin.access: any", "example.com:80": "admin.access: any",
		"9400": "HOST:PORT", "127.0.0.1": "HOST:PORT", "127.0.0.1:99999": "admin.listen", "127.0.0.1:http:1": "HOST:PORT",
	} {
		o := options(&ready)
		o.Listen = address
		_, err := admin.Listen(o)
		require.ErrorContains(t, err, want, address)
		require.True(t, strings.HasPrefix(err.Error(), "admin.listen: "), "%v", err)
	}
	anywhere := options(&ready)
	anywhere.Listen, anywhere.Anywhere = "0.0.0.0:0", true
	s, err = admin.Listen(anywhere)
	require.NoError(t, err)
	s.Close()
}
