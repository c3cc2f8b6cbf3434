package bundles_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		runChild(child)
		return
	}
	goleak.VerifyTestMain(m)
}

// A watched gate is one whose bundles are kept up to date.
type watched struct {
	*bundles.Watcher
	gate *policy.Gate
	log  *lockedBuffer
	stop func()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// watch starts a gate and follows its bundles until the test ends.
func watch(t testing.TB, o bundles.WatchOptions) *watched {
	t.Helper()
	w := prepare(t, o)
	require.NoError(t, w.Start(context.Background()))
	w.run(t)
	return w
}

func prepare(t testing.TB, o bundles.WatchOptions) *watched {
	t.Helper()
	gate, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	w := &watched{gate: gate, log: &lockedBuffer{}}
	o.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	o.Use = func(rs *regoeval.Ruleset) {
		if rs == nil {
			gate.Use(nil)
			return
		}
		gate.Use(rs)
	}
	w.Watcher, err = bundles.NewWatcher(o)
	require.NoError(t, err)
	return w
}

func (w *watched) run(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	var once sync.Once
	w.stop = func() { once.Do(func() { cancel(); <-done }) }
	t.Cleanup(w.stop)
}

// decide decides a call of the tool x with the argument n.
func (w *watched) decide(t testing.TB, n int) policy.Decision {
	t.Helper()
	return w.gate.Decide(context.Background(), policy.Call{Tool: w.gate.Tool(policy.ToolSpec{Name: "x", NoSchema: true}), Arguments: fmt.Appendf(nil, `{"n":%d}`, n)})
}

// until waits for a revision to be in force, and in the status, and returns how long that took.
func (w *watched) until(t testing.TB, revision string) time.Duration {
	t.Helper()
	began := time.Now()
	for ; w.gate.Revision() != revision || w.Status().Revision != revision; time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			require.FailNow(t, "not in force", "%s is not in force, %s is\n%s", revision, w.gate.Revision(), w.log)
		}
	}
	return time.Since(began)
}

// untilLogged waits for all of the texts in the log.
func (w *watched) untilLogged(t testing.TB, texts ...string) {
	t.Helper()
	logged := func() bool {
		log := w.log.String()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(log, text) })
	}
	for deadline := time.Now().Add(20 * time.Second); !logged(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "not all in the log", "%q\n%s", texts, w.log)
		}
	}
}

// revision is the good bundle, called r and allowing n up to max.
func revision(r string, max int) map[string]string {
	return with(
		".manifest", fmt.Sprintf(`{"revision": %q, "roots": ["tools", "settings"]}`, r),
		"data.json", fmt.Sprintf(`{"settings": {"max": %d}}`, max),
	)
}

func sequenced(r string, sequence, max int) map[string]string {
	files := revision(r, max)
	files[".manifest"] = fmt.Sprintf(`{"revision": %q, "roots": ["tools", "settings"], "metadata": {"regogate": {"sequence": %d}}}`, r, sequence)
	return files
}

// replace writes a file as careful programs do: beside, and renamed.
func replace(t testing.TB, path string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", content, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func watchOf(names ...string) bundles.WatchOptions {
	return bundles.WatchOptions{Options: bundles.Options{Bundles: names}}
}

func TestDirectoryIsWatched(t *testing.T) {
	dir := writeDir(t, revision("r1", 3))
	w := watch(t, watchOf(dir))
	require.Equal(t, policy.Denied, w.decide(t, 4).Code())
	require.True(t, w.decide(t, 3).Allowed)

	put := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	put("data.json", `{"settings": {"max": 10}}`) // in place
	require.Eventually(t, func() bool { return w.decide(t, 10).Allowed }, 20*time.Second, 5*time.Millisecond)

	replace(t, filepath.Join(dir, ".manifest"), []byte(revision("r2", 0)[".manifest"])) // as editors do
	w.until(t, "r2")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "more"), 0o755)) // a new directory
	put("more/y.rego", "package tools.y\n\nimport rego.v2\n\ndeny contains \"no\" if input.arguments.n == 1\n")
	require.Eventually(t, func() bool { return w.gate.Cover(w.gate.Tool(policy.ToolSpec{Name: "y"})).Own }, 20*time.Second, 5*time.Millisecond)
	put("more/y.rego", "package tools.y\n\nimport rego.v2\n\ndeny contains \"no\" if {\n") // in the new one, broken
	w.untilLogged(t, "y.rego:6", "revision r2 stays in force")
	require.True(t, w.decide(t, 10).Allowed)
	require.Equal(t, policy.Denied, w.decide(t, 11).Code())
	s := w.Status()
	require.True(t, s.Ready)
	require.Equal(t, "r2", s.Revision)
	require.Contains(t, s.Bundles[0].Error, "y.rego:6")
	require.NotEmpty(t, s.Bundles[0].Refused)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "more")))
	require.Eventually(t, func() bool { return w.Status().Bundles[0].Error == "" }, 20*time.Second, 5*time.Millisecond)
	require.False(t, w.gate.Cover(w.gate.Tool(policy.ToolSpec{Name: "y"})).Own)

	require.NoError(t, os.Rename(dir, dir+".away"))
	w.untilLogged(t, "no such file or directory")
	require.Equal(t, policy.Denied, w.decide(t, 11).Code(), "what was in force still is")
	require.NoError(t, os.Rename(writeDir(t, revision("r3", 1)), dir))
	w.until(t, "r3")
}

func TestLinksAreSwappedAsAWhole(t *testing.T) {
	tests := map[string]func(t *testing.T, base, release string) (path, link string){
		"a link to the directory": func(_ *testing.T, base, _ string) (string, string) {
			return filepath.Join(base, "current"), filepath.Join(base, "current")
		},
		"a link above it": func(_ *testing.T, base, _ string) (string, string) {
			return filepath.Join(base, "current", "policy"), filepath.Join(base, "current")
		},
		"a mount of Kubernetes": func(t *testing.T, base, _ string) (string, string) {
			mount := filepath.Join(base, "mount")
			require.NoError(t, os.Mkdir(mount, 0o755))
			for _, name := range []string{".manifest", "x.rego", "data.json"} {
				require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(mount, name)))
			}
			return mount, filepath.Join(mount, "..data")
		},
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			release := func(r string, max int) string {
				dir := writeDir(t, revision(r, max))
				if name == "a mount of Kubernetes" {
					inside := filepath.Join(base, "mount", "..2026_"+r)
					require.NoError(t, os.Rename(dir, inside))
					return filepath.Base(inside)
				}
				if name == "a link above it" {
					return filepath.Dir(dir)
				}
				return dir
			}
			path, link := make(t, base, "")
			point := func(to string) {
				require.NoError(t, os.Symlink(to, link+".new"))
				require.NoError(t, os.Rename(link+".new", link))
			}
			point(release("r1", 3))
			w := watch(t, watchOf(path))
			require.Equal(t, "r1", w.gate.Revision())
			for i := range 5 {
				r := fmt.Sprintf("r%d", i+2)
				point(release(r, i))
				require.Less(t, w.until(t, r), 10*time.Second)
				require.Equal(t, policy.Denied, w.decide(t, i+1).Code())
				require.True(t, w.decide(t, i).Allowed)
			}
		})
	}
}

func TestArchiveIsWatched(t *testing.T) {
	path := writeFile(t, "p.tar.gz", pack(t, revision("r1", 3)))
	w := watch(t, watchOf(path))
	replace(t, path, pack(t, revision("r2", 5)))
	w.until(t, "r2")
	before := w.Status().Activations
	replace(t, path, pack(t, revision("r2", 5))) // the same again, in another archive
	whole := pack(t, revision("r3", 7))
	require.NoError(t, os.WriteFile(path, whole[:len(whole)/2], 0o600))
	w.untilLogged(t, "unexpected EOF", "revision r2 stays in force")
	require.Equal(t, before, w.Status().Activations)
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	w.until(t, "r3")
	require.NoError(t, os.Remove(path))
	w.untilLogged(t, "no such file")
	require.Equal(t, policy.Denied, w.decide(t, 8).Code())
	require.Equal(t, "r3", w.Status().Revision)
}

func TestSettingsAreWatched(t *testing.T) {
	dir := writeDir(t, revision("r1", 3))
	settings := writeFile(t, "settings.json", []byte(`{"max": 10}`))
	o := watchOf(dir)
	o.SettingsFile = settings
	w := watch(t, o)
	require.True(t, w.decide(t, 10).Allowed)
	replace(t, settings, []byte(`{"max": 20}`))
	require.Eventually(t, func() bool { return w.decide(t, 20).Allowed }, 20*time.Second, 5*time.Millisecond)
	replace(t, settings, []byte(`{"max": "many"`))
	w.untilLogged(t, "settings.json:1:")
	require.True(t, w.decide(t, 20).Allowed)
	require.Equal(t, policy.Denied, w.decide(t, 21).Code())
}

// Two bundles that need each other's newest are put in force together, and one that is
// refused doesn't hold up the other.
func TestSeveralBundlesAreWatched(t *testing.T) {
	rules := func(r, setting string) map[string]string {
		return map[string]string{".manifest": fmt.Sprintf(`{"revision": %q, "roots": ["tools"]}`, r),
			"x.rego": strings.ReplaceAll(good, "settings.max", "settings."+setting)}
	}
	data := func(r, settings string) map[string]string {
		return map[string]string{".manifest": fmt.Sprintf(`{"revision": %q, "roots": ["settings", "lib"]}`, r), "data.json": `{"settings": ` + settings + `}`,
			"lib.rego": "package lib\n\nimport rego.v2\n\none := 1\n"}
	}
	a, b := writeFile(t, "a.tar.gz", pack(t, rules("a1", "max"))), writeFile(t, "b.tar.gz", pack(t, data("b1", `{"max": 3}`)))
	w := watch(t, watchOf(a, b))
	require.Equal(t, "a1+b1", w.gate.Revision())

	replace(t, a, pack(t, rules("a2", "limit"))) // needs b2
	w.untilLogged(t, "data.settings.limit", "revision a1+b1 stays in force")
	replace(t, b, pack(t, data("b2", `{"limit": 5}`))) // without which a1 can't be
	w.until(t, "a2+b2")
	require.True(t, w.decide(t, 5).Allowed)

	replace(t, a, pack(t, rules("a3", "gone")))
	w.untilLogged(t, "data.settings.gone")
	replace(t, b, pack(t, data("b3", `{"limit": 6}`)))
	w.until(t, "a2+b3")
	require.True(t, w.decide(t, 6).Allowed)
	require.Equal(t, policy.Denied, w.decide(t, 7).Code())
	require.NotEmpty(t, w.Status().Bundles[0].Error)
	require.Empty(t, w.Status().Bundles[1].Error)
}

func TestStartWithoutAPolicyIsAnError(t *testing.T) {
	w := prepare(t, watchOf(writeDir(t, with("x.rego", "package tools.x\n\ndeny contains \"a\" if {"))))
	require.ErrorContains(t, w.Start(context.Background()), "x.rego:3:")
	require.Equal(t, policy.NotReady, w.decide(t, 1).Code())
	w = prepare(t, watchOf(writeDir(t, goodFiles()), filepath.Join(t.TempDir(), "nothing")))
	require.ErrorContains(t, w.Start(context.Background()), "no such file")
	require.Equal(t, policy.NotReady, w.decide(t, 1).Code())
	require.False(t, w.Status().Ready)
}

// An events recorder remembers what it was told.
type events struct {
	mu  sync.Mutex
	all []bundles.Event
}

func (e *events) BundleEvent(event bundles.Event, s bundles.Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) of(kind bundles.EventKind) (out []bundles.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.all {
		if event.Kind == kind {
			out = append(out, event)
		}
	}
	return out
}

func TestObserverIsTold(t *testing.T) {
	path := writeFile(t, "p.tar.gz", pack(t, revision("r1", 3)))
	seen := &events{}
	o := watchOf(path)
	o.Observer = seen
	w := watch(t, o)
	require.Len(t, seen.of(bundles.Activated), 1)
	require.Equal(t, "r1", seen.of(bundles.Activated)[0].Revision)
	replace(t, path, pack(t, with("x.rego", "package tools.x\n\ndeni contains \"a\" if true")))
	require.Eventually(t, func() bool { return len(seen.of(bundles.Refused)) == 1 }, 20*time.Second, 5*time.Millisecond)
	e := seen.of(bundles.Refused)[0]
	require.Equal(t, "r1", e.Revision)
	require.Equal(t, path, e.Bundle)
	var load *regoeval.LoadError
	require.ErrorAs(t, e.Err, &load)
	require.NoError(t, os.Remove(path))
	require.Eventually(t, func() bool { return len(seen.of(bundles.Unreachable)) > 0 }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, int64(1), w.Status().Activations)
	require.Equal(t, int64(1), w.Status().Refusals)
}
