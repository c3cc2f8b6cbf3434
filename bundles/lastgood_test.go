package bundles_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
)

func stateDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state")
}

// blob returns the only archive of a state directory.
func blob(t testing.TB, state string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(state, "*.tar.gz"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

func TestLastGoodDecidesWhileTheSourceIsDown(t *testing.T) {
	s := newSigner(t, "ES256")
	server := serveBundles(t)
	url := server.bundle()
	options := func(state string) bundles.WatchOptions {
		return bundles.WatchOptions{State: state, Options: bundles.Options{Bundles: []string{url}, Keys: []bundles.Key{s.key("k1")}, Poll: quickPoll()}}
	}
	state := stateDir(t)
	server.of(pack(t, s.sign(t, sequenced("r1", 5, 3), "k1")), `"1"`)
	w := watch(t, options(state))
	server.of(pack(t, s.sign(t, sequenced("r2", 6, 5), "k1")), `"2"`)
	w.until(t, "r2")
	w.stop()
	info, err := os.Stat(state)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	file := blob(t, state)

	server.with(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }) // up, and silent
	began := time.Now()
	w = watch(t, options(state))
	require.Equal(t, policy.Denied, w.decide(t, 6).Code())
	require.True(t, w.decide(t, 5).Allowed)
	took := time.Since(began)
	t.Logf("with a server that is silent: decided %s after the start (promised: 1s)", took)
	require.Less(t, took, within(time.Second, 5*time.Second))
	require.Equal(t, "r2", w.Status().Revision)
	require.True(t, w.Status().Bundles[0].LastGood)
	require.Equal(t, "k1", w.Status().Bundles[0].KeyID)

	asked := make(chan string, 100)
	server.with(func(w http.ResponseWriter, r *http.Request) { // it comes back, and has the same
		select {
		case asked <- r.Header.Get("If-None-Match"):
		default:
		}
		w.WriteHeader(http.StatusNotModified)
	})
	w.stop()
	w = watch(t, options(state))
	require.Equal(t, `"2"`, <-asked, "the ETag is remembered")
	require.Eventually(t, func() bool { return !w.Status().Bundles[0].LastGood }, 20*time.Second, 5*time.Millisecond)

	server.of(pack(t, s.sign(t, sequenced("r1", 5, 3), "k1")), `"1"`) // an older one, after restarts
	w.untilLogged(t, "sequence is 5, and 6 was in force")
	w.stop()
	server.of(pack(t, s.sign(t, revision("r0", 3), "k1")), `"0"`)
	w = watch(t, options(state))
	w.untilLogged(t, "sequence is gone")
	require.Equal(t, "r2", w.gate.Revision())
	server.of(pack(t, s.sign(t, sequenced("r1-again", 7, 3), "k1")), `"7"`) // the way back
	w.until(t, "r1-again")
	w.stop()
	require.NotEqual(t, file, blob(t, state), "what is not in force any more is removed")

	server.Close()
	check := func(name string, o bundles.WatchOptions, want string) {
		t.Helper()
		w := watch(t, o)
		w.untilLogged(t, want)
		require.Equal(t, policy.NotReady, w.decide(t, 1).Code(), name)
		w.stop()
	}
	check("no state", options(stateDir(t)), "every call is not_ready")
	check("no state at all", options(""), "every call is not_ready")
	other := options(state)
	other.Keys = []bundles.Key{newSigner(t, "ES256").key("k1")}
	check("the signature is checked again", other, "signature")
	raw := []byte(readAll(t, blob(t, state)))
	raw[len(raw)/2] ^= 1
	require.NoError(t, os.WriteFile(blob(t, state), raw, 0o600))
	check("damaged", options(state), "not what was written")
	require.NoError(t, os.Remove(blob(t, state)))
	check("gone", options(state), "no such file")
}

func TestLastGoodOfADirectory(t *testing.T) {
	dir, state := writeDir(t, sequenced("r1", 1, 3)), stateDir(t)
	o := watchOf(dir)
	o.State = state
	w := watch(t, o)
	w.stop()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.rego"), []byte("package tools.x\n\ndeny contains \"a\" if {\n"), 0o600))
	w = watch(t, o)
	w.untilLogged(t, "x.rego:4", "last good")
	require.Equal(t, policy.Denied, w.decide(t, 4).Code())
	require.NotEmpty(t, w.Status().Bundles[0].Error)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.rego"), []byte(strings.ReplaceAll(good, "tools.x", "tools.y")), 0o600))
	require.Eventually(t, func() bool { return w.decide(t, 4).Code() == policy.Unmapped }, 20*time.Second, 5*time.Millisecond)
	w.stop()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.rego"), []byte("package tools.x\n\ndeni := 1\n"), 0o600)) // parses, and breaks the contract
	w = watch(t, o)
	w.untilLogged(t, "x.rego:3:", "going on with the last good ones")
	require.Equal(t, policy.Unmapped, w.decide(t, 4).Code())
	require.NotEmpty(t, w.Status().Bundles[0].Error)
	require.True(t, w.Status().Bundles[0].LastGood)
	w.stop()
	require.NoError(t, os.RemoveAll(dir))
	w = watch(t, o)
	require.Equal(t, policy.Unmapped, w.decide(t, 4).Code())
}

func TestBadState(t *testing.T) {
	dir := writeDir(t, goodFiles())
	make := func(index string, mode os.FileMode) bundles.WatchOptions {
		o := watchOf(dir)
		o.Use = nothing
		o.State = stateDir(t)
		require.NoError(t, os.Mkdir(o.State, 0o700))
		if index != "" {
			require.NoError(t, os.WriteFile(filepath.Join(o.State, "index.json"), []byte(index), 0o600))
		}
		require.NoError(t, os.Chmod(o.State, mode))
		return o
	}
	for name, c := range map[string]struct {
		o    bundles.WatchOptions
		want string
	}{
		"others may write": {make("", 0o777), "others may write"},
		"not JSON":         {make("{", 0o700), "index.json:1:"},
		"empty":            {make(" ", 0o700), "index.json:1:"},
		"unknown members":  {make(`{"version": 1, "bundle": {}}`, 0o700), "index.json"},
		"another version":  {make(`{"version": 2, "bundles": {}}`, 0o700), "version 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bundles.NewWatcher(c.o)
			require.ErrorContains(t, err, "bundles.state: ")
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Two processes that share a directory don't forget what the other knows.
func TestSharedState(t *testing.T) {
	state := stateDir(t)
	server := serveBundles(t)
	server.of(pack(t, sequenced("r1", 1, 3)), `"1"`)
	o := bundles.WatchOptions{State: state, Options: bundles.Options{Bundles: []string{server.bundle()}, Poll: quickPoll()}}
	a, b := watch(t, o), watch(t, o)
	local := watchOf(writeDir(t, revision("d1", 3)))
	local.State = state
	c := watch(t, local)
	for i := range 5 {
		r := fmt.Sprintf("r%d", i+2)
		server.of(pack(t, sequenced(r, i+2, 3)), fmt.Sprintf("%q", r))
		a.until(t, r)
		b.until(t, r)
	}
	a.stop()
	b.stop()
	c.stop()
	require.Empty(t, a.Status().StateError+b.Status().StateError+c.Status().StateError)
	server.Close()
	d := watch(t, o)
	require.Equal(t, "r6", d.gate.Revision())
	found, err := filepath.Glob(filepath.Join(state, "*.tar.gz"))
	require.NoError(t, err)
	require.Len(t, found, 2)
}

func TestMaxAge(t *testing.T) {
	server := serveBundles(t)
	server.of(pack(t, revision("r1", 3)), `"1"`)
	seen := &events{}
	state := stateDir(t)
	o := bundles.WatchOptions{MaxAge: 300 * time.Millisecond, State: state, Observer: seen, Options: bundles.Options{Bundles: []string{bundles.Starter, server.bundle()}, Map: nil, Poll: quickPoll()}}
	o.Bundles = []string{server.bundle()}
	w := watch(t, o)
	for began := time.Now(); time.Since(began) < time.Second; time.Sleep(5 * time.Millisecond) {
		require.Empty(t, seen.of(bundles.Expired), "it is refreshed")
	}
	server.with(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	require.Eventually(t, func() bool { return w.decide(t, 3).Code() == policy.NotReady }, 20*time.Second, 5*time.Millisecond)
	require.True(t, w.Status().Expired)
	require.False(t, w.Status().Ready)
	require.Len(t, seen.of(bundles.Expired), 1)
	require.Contains(t, w.log.String(), "bundles.max_age")
	server.of([]byte("hello"), `"2"`) // an answer, but none that confirms anything
	time.Sleep(100 * time.Millisecond)
	require.Equal(t, policy.NotReady, w.decide(t, 3).Code())
	server.of(pack(t, revision("r1", 3)), `"1"`)
	require.Eventually(t, func() bool { return w.decide(t, 3).Allowed }, 20*time.Second, 5*time.Millisecond)
	require.False(t, w.Status().Expired)
	w.stop()
	server.Close()
	time.Sleep(2 * o.MaxAge)
	w = watch(t, o)
	require.Equal(t, policy.NotReady, w.decide(t, 3).Code(), "the last good one is too old")
	w.stop()
	o.MaxAge = time.Hour
	w = watch(t, o)
	require.True(t, w.decide(t, 3).Allowed)
}

func TestMaxAgeOfADirectory(t *testing.T) {
	dir := writeDir(t, revision("r1", 3))
	o := watchOf(dir)
	o.MaxAge = 400 * time.Millisecond
	w := watch(t, o)
	require.NoError(t, os.Rename(dir, dir+".away"))
	require.Eventually(t, func() bool { return w.decide(t, 3).Code() == policy.NotReady }, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, os.Rename(dir+".away", dir))
	require.Eventually(t, func() bool { return w.decide(t, 3).Allowed }, 20*time.Second, 5*time.Millisecond)
}

func TestSelfTest(t *testing.T) {
	const tests = "package tests.tools.x\n\nimport rego.v2\n\ntest_limit if count(data.tools.x.deny) == %s with input as {\"arguments\": {\"n\": 4}}\n"
	files := func(tests string) map[string]string {
		return with(".manifest", `{"revision": "r2", "roots": ["tools", "settings", "tests"]}`, "tests/x_test.rego", tests)
	}
	path := writeFile(t, "p.tar.gz", pack(t, files(fmt.Sprintf(tests, "1"))))
	o := watchOf(path)
	o.SelfTest = true
	w := watch(t, o)
	for want, bad := range map[string]map[string]string{
		"tests/x_test.rego:5:":  files(fmt.Sprintf(tests, "0")),
		"there is no test":      with(),
		"undefined function":    files("package tests.x\n\nimport rego.v2\n\ntest_x if http.send({}).status_code == 200\n"),
		"data.tests.x.test_err": files("package tests.x\n\nimport rego.v2\n\ntest_err if to_number(\"x\") == 1\n"),
	} {
		replace(t, path, pack(t, bad))
		w.untilLogged(t, want, "revision r2 stays in force")
	}
	o.SettingsFile = writeFile(t, "s.json", []byte(`{"max": 100}`)) // of this installation, and not what was published
	replace(t, path, pack(t, files(fmt.Sprintf(tests, "1"))))
	require.NoError(t, prepare(t, o).Start(context.Background()))
	o.SelfTest, o.SettingsFile = false, ""
	replace(t, path, pack(t, files(fmt.Sprintf(tests, "0"))))
	require.NoError(t, prepare(t, o).Start(context.Background()))
}
