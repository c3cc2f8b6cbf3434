package bundles_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
)

// nginx finds the program, which Debian puts where not everybody looks.
func nginx(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("nginx is not installed: skipping bundles served by nginx")
	return ""
}

// startNginx serves a directory, and returns its URL and a way to stop it.
func startNginx(t *testing.T, root string) (url string, stop func()) {
	t.Helper()
	program, home := nginx(t), t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	config := fmt.Sprintf(`%s
daemon off;
pid %[2]s/pid;
error_log %[2]s/error.log;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/fastcgi; uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;
	gzip on; gzip_types *;
	server { listen %[3]s; root %[4]s; }
}
`, user, home, address, root)
	server := exec.Command(program, "-p", home, "-e", filepath.Join(home, "error.log"), "-c", writeFile(t, "nginx.conf", []byte(config)))
	require.NoError(t, server.Start())
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = server.Process.Signal(os.Interrupt)
			_ = server.Wait()
		}
	}
	t.Cleanup(stop)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	require.Eventually(t, func() bool {
		resp, err := client.Get("http://" + address + "/")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil
	}, 20*time.Second, 20*time.Millisecond)
	return "http://" + address, stop
}

// What nginx serves is in force within two seconds of its publication, with the
// intervals of the defaults; while nginx is down, the last good bundle decides.
func TestNginxServesBundles(t *testing.T) {
	root := t.TempDir()
	url, stop := startNginx(t, root)
	s := newSigner(t, "RS256")
	publish := func(n int) {
		replace(t, filepath.Join(root, "bundle.tar.gz"), pack(t, s.sign(t, sequenced(fmt.Sprintf("r%d", n), n, n), "k1")))
	}
	publish(1)
	o := bundles.WatchOptions{State: stateDir(t), Options: bundles.Options{Bundles: []string{url + "/bundle.tar.gz"}, Keys: []bundles.Key{s.key("k1")}}}
	w := watch(t, o)
	var slowest time.Duration
	for n := 2; n <= 6; n++ {
		publish(n)
		slowest = max(slowest, w.until(t, fmt.Sprintf("r%d", n)))
		require.Equal(t, policy.Denied, w.decide(t, n+1).Code())
		require.True(t, w.decide(t, n).Allowed)
	}
	t.Logf("polling nginx, from publication until in force: slowest of 5 %s (promised: 2s)", slowest)
	require.Less(t, slowest, within(2*time.Second, 10*time.Second))
	require.Eventually(t, func() bool { return w.Status().Bundles[0].ETag != "" }, 20*time.Second, 20*time.Millisecond, "which counts after its second")
	require.Equal(t, int64(6), w.Status().Activations)
	require.NoError(t, os.Remove(filepath.Join(root, "bundle.tar.gz")))
	w.untilLogged(t, "404 Not Found")
	stop()
	w.stop()
	began := time.Now()
	w = watch(t, o)
	require.True(t, w.decide(t, 6).Allowed)
	took := time.Since(began)
	t.Logf("with nginx stopped: decided %s after the start (promised: 1s)", took)
	require.Less(t, took, within(time.Second, 10*time.Second))
}
