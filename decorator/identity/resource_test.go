package identity

import (
	"encoding/json"
	"io"
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
	documents = map[string]string{protectedResource: `{"resource":"x"}`}
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
		require.Equal(t, want, pointAt(in, "M"))
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
