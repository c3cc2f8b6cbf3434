package identity

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func mustURL(s string) *url.URL { return must(url.Parse(s)) }

func get(t *testing.T, h http.Handler, method, path string) (int, string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	return w.Code, w.Body.String(), w.Header()
}

func TestOwnMetadata(t *testing.T) {
	r, err := NewResource(ResourceOptions{Public: mustURL("https://gate.example/mcp"), AuthorizationServers: []string{issuerName}, Scopes: []string{"a"}})
	require.NoError(t, err)
	require.Equal(t, "https://gate.example/.well-known/oauth-protected-resource/mcp", r.MetadataURL())
	for _, path := range []string{protectedResource, protectedResource + "/mcp"} {
		code, body, header := get(t, r, http.MethodGet, path)
		require.Equal(t, 200, code)
		require.Equal(t, "application/json", header.Get("Content-Type"))
		require.JSONEq(t, `{"resource":"https://gate.example/mcp","authorization_servers":["https://issuer.example"],"scopes_supported":["a"],"bearer_methods_supported":["header"]}`, body)
	}
	for _, path := range []string{protectedResource + "/other", "/.well-known/oauth-authorization-server", "/"} {
		code, _, _ := get(t, r, http.MethodGet, path)
		require.Equal(t, 404, code)
	}
	code, _, header := get(t, r, http.MethodPost, protectedResource)
	require.Equal(t, 405, code)
	require.Equal(t, "GET, HEAD", header.Get("Allow"))
}

func TestSameMetadata(t *testing.T) {
	var asked []string
	documents := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if r.Header.Get("Authorization") != "" {
			t.Error("somebody's credentials were sent")
		}
		if d, ok := documents[r.URL.Path]; ok {
			_, _ = io.WriteString(w, d)
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	transport := &http.Transport{DisableKeepAlives: true}
	r, err := NewResource(ResourceOptions{Layout: Same, Public: mustURL("https://gate.example/mcp"), Upstream: mustURL(server.URL + "/v1/mcp"), Transport: transport})
	require.NoError(t, err)

	documents[protectedResource+"/v1/mcp"] = `{"resource":"` + server.URL + `/v1/mcp","authorization_servers":["https://as.example/a?b=<c>"],"signed_metadata":"eyJ","x":9007199254740993}`
	code, body, _ := get(t, r, http.MethodGet, protectedResource+"/mcp")
	require.Equal(t, 200, code)
	var got map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Equal(t, map[string]json.RawMessage{
		"resource": json.RawMessage(`"https://gate.example/mcp"`), "x": json.RawMessage("9007199254740993"),
		"authorization_servers": json.RawMessage(`["https://as.example/a?b=<c>"]`)}, got)
	require.Equal(t, []string{protectedResource + "/v1/mcp"}, asked)

	// Found at the root when not at the inserted path, and the other way round.
	documents = map[string]string{protectedResource: `{"resource":"` + server.URL + `"}`}
	code, body, _ = get(t, r, http.MethodGet, protectedResource+"/mcp")
	require.Equal(t, 200, code)
	require.JSONEq(t, `{"resource":"https://gate.example/mcp"}`, body)

	documents = map[string]string{serverMetadata[0]: `{"issuer":"as it is"}`}
	code, body, _ = get(t, r, http.MethodGet, serverMetadata[0])
	require.Equal(t, 200, code)
	require.Equal(t, documents[serverMetadata[0]], body)
	code, _, _ = get(t, r, http.MethodGet, protectedResource)
	require.Equal(t, 404, code)

	for name, d := range map[string]string{"page": "<html>", "twice": `{"resource":"a","resource":"b"}`, "list": "[]", "long": `{"a":"` + strings.Repeat("x", maxMetadata) + `"}`} {
		documents = map[string]string{protectedResource: d}
		code, _, _ = get(t, r, http.MethodGet, protectedResource)
		require.Equal(t, 502, code, name)
	}
	server.Close()
	code, _, _ = get(t, r, http.MethodGet, protectedResource)
	require.Equal(t, 502, code)
}

// A client has to see metadata that isn't about this server as they are, for it must
// refuse them.
func TestMetadataOfAnotherResourceStay(t *testing.T) {
	upstream := mustURL("https://server.example/v1/mcp")
	for resource, want := range map[string]bool{
		"https://server.example/v1/mcp": true, "https://server.example/v1/mcp/": true, "https://server.example/v1": true, "https://server.example": true,
		"https://server.example/": true, "https://SERVER.example:443/v1": true,
		"https://server.example/v1/m": false, "https://server.example/v1/mcp/x": false, "https://server.example/v2": false, "https://evil.example/v1/mcp": false,
		"http://server.example/v1/mcp": false, "https://server.example:8443/v1/mcp": false, "https://server.example/?x": false, "https://u@server.example/": false,
		"": false, "x": false, "%": false,
	} {
		require.Equal(t, want, isPartOf(upstream, resource), resource)
		r := &Resource{o: ResourceOptions{Layout: Same, Public: mustURL("https://gate.example/mcp"), Upstream: upstream, Logger: slog.New(slog.DiscardHandler)}}
		document, err := json.Marshal(map[string]string{"resource": resource, "signed_metadata": "s"})
		require.NoError(t, err)
		got, err := r.rewrite(document)
		require.NoError(t, err)
		if want {
			require.JSONEq(t, `{"resource":"https://gate.example/mcp"}`, string(got), resource)
		} else {
			require.Equal(t, string(document), string(got), resource)
		}
	}
	r := &Resource{o: ResourceOptions{Layout: Same, Public: mustURL("https://gate.example/mcp"), Upstream: upstream, Logger: slog.New(slog.DiscardHandler)}}
	got, err := r.rewrite([]byte(`{"authorization_servers":["https://as.example"]}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"authorization_servers":["https://as.example"]}`, string(got))
}

// The server may keep its metadata elsewhere, and says so in its challenge.
func TestMetadataWhereTheServerSays(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere.json" {
			_, _ = io.WriteString(w, `{"resource":"http://`+r.Host+`/mcp","scopes_supported":["a"]}`)
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	r, err := NewResource(ResourceOptions{Layout: Same, Public: mustURL("https://gate.example/mcp"), Upstream: mustURL(server.URL + "/mcp"), Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	challenge := func(metadata string) {
		resp := &http.Response{StatusCode: 401, Header: http.Header{"Www-Authenticate": {`Bearer realm="x", resource_metadata="` + metadata + `"`}}}
		require.NoError(t, r.ModifyResponse(resp))
		require.Equal(t, `Bearer realm="x", resource_metadata="`+r.MetadataURL()+`"`, resp.Header.Get("WWW-Authenticate"))
	}
	challenge("https://evil.example/elsewhere.json")
	challenge("http://127.0.0.1:1/elsewhere.json")
	code, _, _ := get(t, r, http.MethodGet, protectedResource+"/mcp")
	require.Equal(t, 404, code, "the gate doesn't fetch from wherever it is told")
	challenge(server.URL + `/elsew\h` + `ere.json`)
	code, body, _ := get(t, r, http.MethodGet, protectedResource+"/mcp")
	require.Equal(t, 200, code)
	require.JSONEq(t, `{"resource":"https://gate.example/mcp","scopes_supported":["a"]}`, body)
}

func TestModifyResponse(t *testing.T) {
	own, err := NewResource(ResourceOptions{Public: mustURL("https://gate.example/mcp")})
	require.NoError(t, err)
	same, err := NewResource(ResourceOptions{Layout: Same, Public: mustURL("https://gate.example/mcp"), Upstream: mustURL("http://up.example/mcp"), Transport: http.DefaultTransport})
	require.NoError(t, err)
	answer := func(status int) *http.Response {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("old")), ContentLength: 3, Header: http.Header{
			"Www-Authenticate": {`Basic realm="a, resource_metadata=\"x\""`, `Bearer error="x", Resource_Metadata = "http://up.example/.well-known/x", scope="y"`},
			"Content-Length":   {"3"},
		}}
	}
	const at = "https://gate.example/.well-known/oauth-protected-resource/mcp"
	for _, status := range []int{401, 403} {
		a := answer(status)
		require.NoError(t, same.ModifyResponse(a))
		require.Equal(t, status, a.StatusCode)
		require.Equal(t, []string{`Basic realm="a, resource_metadata=\"x\""`, `Bearer error="x", Resource_Metadata="` + at + `", scope="y"`}, a.Header["Www-Authenticate"])
	}
	a := answer(401)
	require.NoError(t, own.ModifyResponse(a))
	require.Equal(t, 502, a.StatusCode)
	require.Empty(t, a.Header.Values("WWW-Authenticate"))
	body := must(io.ReadAll(a.Body))
	require.Contains(t, string(body), `"code":-32603`)
	require.EqualValues(t, len(body), a.ContentLength)
	require.True(t, json.Valid(body))
	a = answer(403)
	require.NoError(t, own.ModifyResponse(a))
	require.Equal(t, 403, a.StatusCode)
	require.Empty(t, a.Header.Values("WWW-Authenticate"))
	require.Equal(t, "old", string(must(io.ReadAll(a.Body))))
}

func TestPointAt(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"Bearer":                            "Bearer",
		"Bearer resource_metadata=http://u": `Bearer resource_metadata="M"`,
		`Bearer resource_metadata="a\"b", error="resource_metadata=x"`: `Bearer resource_metadata="M", error="resource_metadata=x"`,
		`Bearer resource_metadata`:                                     `Bearer resource_metadata`,
		`Bearer resource_metadata=`:                                    `Bearer resource_metadata="M"`,
		`Bearer resource_metadata="unended`:                            `Bearer resource_metadata="M"`,
		`Bearer a="x\`:                                                 `Bearer a="x\`,
		`Bearer resource_metadata="a", DPoP resource_metadata="b"`:     `Bearer resource_metadata="M", DPoP resource_metadata="M"`,
	} {
		pointed, _ := pointAt(in, "M")
		require.Equal(t, want, pointed)
	}
}

func TestResourceOptions(t *testing.T) {
	public := mustURL("https://gate.example/mcp")
	for want, o := range map[string]ResourceOptions{
		"public_url: want":             {},
		"public_url: want the":         {Public: mustURL("/mcp")},
		"public_url: must have":        {Public: mustURL("https://gate.example/mcp?x=1")},
		"resource: same":               {Public: public, Layout: Same},
		`authorization_servers: "nix"`: {Public: public, AuthorizationServers: []string{"nix"}},
	} {
		_, err := NewResource(o)
		require.ErrorContains(t, err, want)
	}
}
