package bundles_test

import (
	"archive/tar"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
)

// A bundleServer answers with whatever it was told last.
type bundleServer struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
}

func serveBundles(t testing.TB) *bundleServer {
	t.Helper()
	s := &bundleServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		(*s.answer.Load())(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *bundleServer) with(h http.HandlerFunc) { s.answer.Store(&h) }

// of answers with an archive, under an ETag.
func (s *bundleServer) of(archive []byte, etag string) {
	s.with(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "application/gzip")
		w.Header().Set("ETag", etag)
		_, _ = w.Write(archive)
	})
}

func (s *bundleServer) bundle() string { return s.URL + "/policy/bundle.tar.gz" }

func quickPoll() bundles.Poll {
	return bundles.Poll{Interval: 20 * time.Millisecond, Backoff: 50 * time.Millisecond}
}

// Whatever a server has that is not a good bundle: it is refused, the reason is told,
// and what was in force still decides.
func TestBadBundlesAreRefused(t *testing.T) {
	s, other := newSigner(t, "ES256"), newSigner(t, "ES256")
	start := s.sign(t, sequenced("r1", 5, 3), "k1")
	signed := func(changes ...string) map[string]string {
		files := sequenced("r2", 6, 100)
		for i := 0; i < len(changes); i += 2 {
			if changes[i+1] == "" {
				delete(files, changes[i])
			} else {
				files[changes[i]] = changes[i+1]
			}
		}
		return s.sign(t, files, "k1")
	}
	without := func(files map[string]string, name string) map[string]string {
		out := maps.Clone(files)
		delete(out, name)
		return out
	}
	good := pack(t, signed())
	damaged := append([]byte(nil), good...)
	damaged[len(damaged)-8] ^= 0xff
	many, contents := []tar.Header{}, []string{}
	for i := range 20_000 {
		many, contents = append(many, tar.Header{Name: fmt.Sprintf("f%d.txt", i)}), append(contents, "")
	}
	dirs := make([]tar.Header, 60_000)
	for i := range dirs {
		dirs[i] = tar.Header{Name: fmt.Sprintf("d%d/", i), Typeflag: tar.TypeDir}
	}
	const deny = "package tools.x\n\nimport rego.v2\n\n"
	link := func(kind byte) []byte {
		return archive(t, []tar.Header{{Name: "x.rego", Typeflag: kind, Linkname: "/etc/hostname"}}, []string{""})
	}
	serve := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	away := serveBundles(t)
	away.of(good, `"away"`)
	raw := func(name, body string) []byte { return archive(t, []tar.Header{{Name: name}}, []string{body}) }
	manifest := func(text string) map[string]string { return signed(".manifest", text) }
	pax := tar.Header{Name: "x.rego", PAXRecords: map[string]string{"REGOGATE.x": strings.Repeat("x", 900_000)}}
	deep := strings.Repeat(`{"a":`, 15_000) + "1" + strings.Repeat("}", 15_000)
	tests := []struct {
		name   string
		answer any // archive, files, or http.HandlerFunc
		want   []string
	}{
		{"wrong signature", other.sign(t, sequenced("r2", 6, 100), "k1"), []string{"signature"}},
		{"stripped signature", sequenced("r2", 6, 100), []string{"not signed"}},
		{"other key id", s.sign(t, sequenced("r2", 6, 100), "k2"), []string{`key id`, "k2"}},
		{"a file changed after signing", replaced(signed(), "data.json", `{"settings": {"max": 99}}`), []string{"data.json", "digest"}},
		{"a file added after signing", replaced(signed(), "y.rego", deny+"deny contains \"a\" if true\n"), []string{"y.rego", "not included"}},
		{"a signed file removed", without(signed(), "data.json"), []string{"data.json"}},
		{"delta", pack(t, map[string]string{"patch.json": `{"data": []}`}), []string{"delta"}},
		{"delta beside files", pack(t, signed("patch.json", `{"data": []}`)), []string{"delta"}},
		{"truncated", good[:len(good)/2], []string{"unexpected EOF"}},
		{"damaged", damaged, []string{"checksum"}},
		{"gzip bomb", pack(t, replaced(signed(), "data.json", `{"a": "`+strings.Repeat("a", 8<<20)+`"}`)), []string{"larger than"}},
		{"many small files", archive(t, many, contents), []string{"larger than"}},
		{"nothing but directories", archive(t, dirs, make([]string, len(dirs))), []string{"larger than"}},
		{"path traversal", archive(t, []tar.Header{{Name: "../../x.rego"}}, []string{deny}), []string{"plain path"}},
		{"path traversal inside", archive(t, []tar.Header{{Name: "a/../../x.rego"}}, []string{deny}), []string{"plain path"}},
		{"symbolic link", link(tar.TypeSymlink), []string{"link"}},
		{"hard link", link(tar.TypeLink), []string{"link"}},
		{"device", link(tar.TypeChar), []string{"device"}},
		{"a file twice", archive(t, []tar.Header{{Name: "x.rego"}, {Name: "./x.rego"}}, []string{deny, deny}), []string{"twice"}},
		{"absolute path beside a file", archive(t, []tar.Header{{Name: "/x.rego"}, {Name: "x.rego"}}, []string{deny, deny}), []string{"twice"}},
		{"path of another system", raw(`..\..\x.rego`, deny), []string{"plain path"}},
		{"block device", link(tar.TypeBlock), []string{"device"}},
		{"pipe", link(tar.TypeFifo), []string{"device"}},
		{"a directory called like a policy", archive(t, []tar.Header{{Name: "x.rego/", Typeflag: tar.TypeDir}}, []string{""}), []string{"no .rego file"}},
		{"PAX bomb", archive(t, []tar.Header{pax, pax, pax}, []string{deny, deny, deny}), []string{"larger than"}},
		{"two archives", append(append([]byte{}, good...), good...), []string{"after the archive"}},
		{"manifest that is none", manifest(`[]`), []string{"manifest"}},
		{"manifest with an unknown member", manifest(`{"revision": "r2", "rots": ["tools"], "metadata": {"regogate": {"sequence": 6}}}`), []string{".manifest", "rots"}},
		{"manifest with a name twice", replaced(signed(), ".manifest", `{"revision": "r2", "revision": "r3", "metadata": {"regogate": {"sequence": 6}}}`), []string{".manifest:1:", "twice"}},
		{"manifest with something after it", replaced(signed(), ".manifest", `{"revision": "r2", "metadata": {"regogate": {"sequence": 6}}} {}`), []string{".manifest:1:", "after"}},
		{"manifest not at the root", signed("settings/.manifest", `{"roots": [""]}`), []string{"manifest"}},
		{"unknown member for the gate", manifest(`{"revision": "r2", "metadata": {"regogate": {"sequence": 6, "comon": []}}}`), []string{".manifest", "comon"}},
		{"Rego that isn't UTF-8", signed("x.rego", deny+"deny contains \"\xff\" if true\n"), []string{"x.rego"}},
		{"empty Rego", signed("x.rego", " \n"), []string{"x.rego"}},
		{"data nested very deeply", replaced(signed(), "data.json", deep), []string{"data.json:1:"}},
		{"data that is no object", signed("data.json", `[1]`), []string{"data"}},
		{"data that is cut off", replaced(signed(), "data.json", "{\"settings\": {\"max\": 3}"), []string{"data.json:1:"}},
		{"YAML and JSON of one place", signed("data.yaml", "settings: {max: 1000}\n"), []string{"data"}},
		{"WebAssembly", signed("policy.wasm", "\x00asm\x01\x00\x00\x00"), []string{"compiled modules are not accepted"}},
		{"a plan", signed("plan.json", `{"static": {}, "plans": {"plans": []}, "funcs": {}}`), []string{"compiled modules are not accepted"}},
		{"a built-in that can't be bounded", signed("x.rego", deny+"deny contains \"a\" if bits.lsh(1, input.arguments.n) > 1\n"), []string{"x.rego:5:", "bits.lsh"}},
		{"an unsigned alg", replaced(signed(), ".signatures.json", `{"signatures": ["eyJhbGciOiJub25lIiwia2lkIjoiazEifQ.eyJmaWxlcyI6W119."]}`), []string{"signature"}},
		{"two files with signatures", replaced(signed(), "x/.signatures.json", signed()[".signatures.json"]), []string{"not at the bundle's root"}},
		{"signatures with a name twice", replaced(signed(), ".signatures.json", `{"signatures": [], "signatures": ["a.b.c"]}`), []string{".signatures.json:1:", "twice"}},
		{"sequence too large", manifest(`{"metadata": {"regogate": {"sequence": 99999999999999999999}}}`), []string{"sequence"}},
		{"negative sequence", manifest(`{"metadata": {"regogate": {"sequence": -1}}}`), []string{"sequence"}},
		{"sequence with a fraction", manifest(`{"metadata": {"regogate": {"sequence": 6.5}}}`), []string{"sequence"}},
		{"roots overlapping in one bundle", signed(".manifest", `{"revision": "r2", "roots": ["tools", "tools/x", "settings"], "metadata": {"regogate": {"sequence": 6}}}`), []string{"overlap"}},
		{"roots that leave out the package", signed(".manifest", `{"revision": "r2", "roots": ["settings"], "metadata": {"regogate": {"sequence": 6}}}`), []string{"roots"}},
		{"missing package", signed(".manifest", `{"revision": "r2", "roots": ["tools", "settings"], "metadata": {"regogate": {"sequence": 6, "common": [{"package": "shared.all"}]}}}`), []string{"package-missing", ".manifest:1:1"}},
		{"no package that decides", signed("x.rego", "package tools.x\n\nhelper := 1\n"), []string{"deny-missing"}},
		{"deni", signed("x.rego", deny+"deni contains \"a\" if true\n"), []string{"x.rego:5:"}},
		{"deny that is no set", signed("x.rego", deny+"deny if input.arguments.n > 3\n"), []string{"x.rego:5:", "deny-kind"}},
		{"no Rego", signed("x.rego", ""), []string{"no .rego file"}},
		{"empty archive", archive(t, nil, nil), []string{"no .rego file"}},
		{"data missing", signed("data.json", ""), []string{"x.rego:5:", "data-missing"}},
		{"data supplying a deny", signed("data.json", `{"settings": {"max": 3}, "tools": {"x": {"deny": []}}}`, "x.rego", "package tools.y\n\nimport rego.v2\n\ndeny contains \"a\" if input.arguments.n > data.settings.max\n"), []string{"tools"}},
		{"data in the place of a deny", signed("data.json", `{"settings": {"max": 3}, "tools": {"x": {"deny": []}}}`), []string{"data-deny"}},
		{"data gives a name twice", signed("data.json", "{\"settings\": {\"max\": 3,\n\"max\": 1000}}"), []string{"data.json:2:", "twice"}},
		{"v0 syntax", signed("x.rego", "package tools.x\n\ndeny[msg] { msg := \"a\" }\n"), []string{"x.rego:3:", "parse"}},
		{"v0 by manifest", signed(".manifest", `{"rego_version": 0, "metadata": {"regogate": {"sequence": 6}}}`, "x.rego", "package tools.x\n\ndeny[msg] { msg := \"a\" }\n"), []string{"rego-version"}},
		{"syntax error", signed("x.rego", deny+"deny contains \"a\" if {\n"), []string{"x.rego:6:", "parse"}},
		{"removed built-in", signed("x.rego", deny+"deny contains \"a\" if http.send({\"method\": \"get\", \"url\": \"http://a\"}).status_code == 200\n"), []string{"x.rego:5:", "http.send"}},
		{"built-in that OPA doesn't have", signed("x.rego", deny+"deny contains \"a\" if nothing.such(input.arguments.n)\n"), []string{"x.rego:5:"}},
		{"rollback", s.sign(t, sequenced("r2", 4, 100), "k1"), []string{"sequence is 4, and 5 was in force"}},
		{"sequence gone", s.sign(t, revision("r2", 100), "k1"), []string{"sequence is gone"}},
		{"sequence that is no number", signed(".manifest", `{"metadata": {"regogate": {"sequence": "7"}}}`), []string{"sequence"}},
		{"oversize", pack(t, signed("more.txt", strings.Repeat("0123456789", 20_000))), []string{"larger than"}},
		{"oversize and packed so", incompressible(300_000), []string{"larger than"}},
		{"not gzip", []byte("hello"), []string{"not a .tar.gz"}},
		{"a tar without gzip", []byte(strings.Repeat("\x00", 1024)), []string{"not a .tar.gz"}},
		{"gzip of something else", zipped(t, "hello"), []string{"damaged archive"}},
		{"200 with HTML", serve(200, "text/html; charset=utf-8", "<html>sign in</html>"), []string{"text/html", "not a .tar.gz"}},
		{"200 with nothing", serve(200, "application/gzip", ""), []string{"not a .tar.gz"}},
		{"204", serve(204, "application/gzip", ""), []string{"204"}},
		{"500", serve(500, "text/plain", "oops"), []string{"500 Internal Server Error"}},
		{"404", serve(404, "text/plain", "no"), []string{"404 Not Found"}},
		{"403", serve(403, "application/xml", "<Error/>"), []string{"403 Forbidden"}},
		{"redirect to another host", http.RedirectHandler(away.bundle(), http.StatusFound).ServeHTTP, []string{"redirected to another host"}},
		{"redirected for ever", http.RedirectHandler("/again", http.StatusTemporaryRedirect).ServeHTTP, []string{"redirected more than"}},
		{"slow loris", slowly(good), []string{"no whole answer within"}},
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []string{"no whole answer within"}},
		{"the connection breaks", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(good[:100])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, []string{"unexpected EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := serveBundles(t)
			server.of(pack(t, start), `"1"`)
			w := watch(t, bundles.WatchOptions{Options: bundles.Options{
				Bundles: []string{server.bundle()}, Keys: []bundles.Key{s.key("k1")}, MaxBytes: 100_000,
				Timeout: time.Second, Poll: quickPoll(),
			}})
			require.Equal(t, "r1", w.gate.Revision())
			switch a := tt.answer.(type) {
			case []byte:
				server.of(a, `"2"`)
			case map[string]string:
				server.of(pack(t, a), `"2"`)
			case http.HandlerFunc:
				server.with(a)
			case func(http.ResponseWriter, *http.Request):
				server.with(a)
			}
			w.untilLogged(t, append(tt.want, "revision r1 stays in force")...)
			require.Equal(t, "r1", w.gate.Revision())
			require.Equal(t, policy.Denied, w.decide(t, 4).Code())
			require.True(t, w.decide(t, 3).Allowed)
			status := w.Status()
			require.True(t, status.Ready)
			require.Equal(t, int64(1), status.Activations)
			for _, want := range tt.want {
				require.Contains(t, status.Bundles[0].Error, want)
			}
			server.of(pack(t, s.sign(t, sequenced("r9", 9, 8), "k1")), `"9"`)
			w.until(t, "r9")
			require.True(t, w.decide(t, 8).Allowed)
			require.Empty(t, w.Status().Bundles[0].Error)
		})
	}
}

// 304 without a bundle, and every other bad answer at the start: not ready.
func TestBadAnswersAtTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"304 without a bundle": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, "304"},
		"500":                  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "500"},
		"HTML":                 {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "not a .tar.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			server := serveBundles(t)
			server.with(c.answer)
			w := watch(t, bundles.WatchOptions{Options: bundles.Options{Bundles: []string{server.bundle()}, Poll: quickPoll()}})
			w.untilLogged(t, c.want, "every call is not_ready")
			require.Equal(t, policy.NotReady, w.decide(t, 1).Code())
			require.False(t, w.Status().Ready)
			server.of(pack(t, revision("r1", 3)), `"1"`)
			w.until(t, "r1")
		})
	}
}

// Two bundles that claim the same are refused, also when only one of them changes.
func TestOverlappingRootsAreRefused(t *testing.T) {
	a, b := serveBundles(t), serveBundles(t)
	rest := func(r, roots string) map[string]string {
		return map[string]string{".manifest": fmt.Sprintf(`{"revision": %q, "roots": [%s]}`, r, roots), "s.rego": "package lib.s\n\nimport rego.v2\n\none := 1\n"}
	}
	a.of(pack(t, revision("a1", 3)), `"1"`)
	b.of(pack(t, rest("b1", `"lib"`)), `"1"`)
	w := watch(t, bundles.WatchOptions{Options: bundles.Options{Bundles: []string{a.bundle(), b.bundle()}, Poll: quickPoll()}})
	require.Equal(t, "a1+b1", w.gate.Revision())
	b.of(pack(t, rest("b2", `"lib", "tools"`)), `"2"`)
	w.untilLogged(t, `both claim \"tools\"`, "a1+b1 stays in force")
	a.of(pack(t, revision("a2", 5)), `"2"`)
	w.until(t, "a2+b1")
	require.NotEmpty(t, w.Status().Bundles[1].Error)
}

// replaced is files with another content of one.
func replaced(files map[string]string, name, content string) map[string]string {
	out := maps.Clone(files)
	out[name] = content
	return out
}

// slowly answers a byte now and then.
func slowly(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := range body {
			if _, err := w.Write(body[i : i+1]); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}
