package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A Layout says how a gate and the server behind it look to an authorization server.
// The zero Layout is Own.
type Layout int

const (
	// Own makes the gate a protected resource by itself: it checks the clients' tokens and
	// keeps them, and the server behind it gets the gate's own credential, or none.
	Own Layout = iota
	// Same declares the gate and the server one resource: the clients' tokens go on to the
	// server, and what the server says about where to get them is passed on with the
	// gate's address in place of its own.
	Same
)

// ResourceOptions describe a protected resource. Public is required; Upstream and
// Transport are in the layout Same.
type ResourceOptions struct {
	Layout Layout
	// Public is the URL of the gate's endpoint as clients know it.
	Public *url.URL
	// AuthorizationServers are the issuers that clients may get a token from, in the
	// layout Own.
	AuthorizationServers []string
	Scopes               []string // that a client may ask for, in the layout Own
	// Upstream is the URL of the server's endpoint, and Transport reaches it.
	Upstream  *url.URL
	Transport http.RoundTripper
	// Logger is told when the server doesn't accept the gate. nil is silent.
	Logger *slog.Logger
}

// A Resource answers for the protected-resource metadata (RFC 9728) and keeps what the
// server says about authorization consistent with it.
type Resource struct {
	o ResourceOptions
	// advertised is where the server said that its metadata is, when that is beside its
	// endpoint.
	advertised atomic.Pointer[string]
}

const (
	protectedResource = "/.well-known/oauth-protected-resource"
	maxMetadata       = 1 << 20 // bytes of a server's metadata
	metadataTimeout   = 10 * time.Second
)

// serverMetadata are documents that clients of 2025-03-26 look for beside the server,
// which was its own authorization server then.
var serverMetadata = [...]string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}

// NewResource returns a Resource, or what is wrong with the options.
func NewResource(o ResourceOptions) (*Resource, error) {
	if o.Public == nil || o.Public.Host == "" || o.Public.Scheme != "https" && o.Public.Scheme != "http" {
		return nil, errors.New("public_url: want the URL of the gate's endpoint as clients know it")
	}
	if o.Public.RawQuery != "" || o.Public.Fragment != "" || o.Public.User != nil {
		return nil, errors.New("public_url: must have no query, fragment or user")
	}
	if o.Layout == Same && (o.Upstream == nil || o.Transport == nil) {
		return nil, errors.New("resource: same needs an HTTP server to be one resource with")
	}
	for _, s := range o.AuthorizationServers {
		if u, err := url.Parse(s); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("authorization_servers: %q is no URL", s)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Resource{o: o}, nil
}

// MetadataURL is where clients find the metadata: the well-known path before the
// endpoint's own.
func (r *Resource) MetadataURL() string {
	return (&url.URL{Scheme: r.o.Public.Scheme, Host: r.o.Public.Host, Path: protectedResource + endpoint(r.o.Public)}).String()
}

// endpoint is the path of a URL, "" for the root.
func endpoint(u *url.URL) string { return strings.TrimSuffix(u.Path, "/") }

// Paths returns the paths that [Resource.ServeHTTP] answers.
func (r *Resource) Paths() []string {
	both := func(p string) []string {
		if e := endpoint(r.o.Public); e != "" {
			return []string{p, p + e}
		}
		return []string{p}
	}
	paths := both(protectedResource)
	if r.o.Layout == Same {
		for _, p := range serverMetadata {
			paths = append(paths, both(p)...)
		}
	}
	return paths
}

// ServeHTTP answers a GET of a path in [Resource.Paths]; everything else is 404.
func (r *Resource) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	known := false
	for _, p := range r.Paths() {
		known = known || req.URL.Path == p
	}
	switch {
	case !known:
		http.Error(w, "not found", http.StatusNotFound)
		return
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	document, status := r.own(), http.StatusOK
	if r.o.Layout == Same {
		document, status = r.upstream(req)
	}
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Access-Control-Allow-Origin", "*") // it is public, and browsers' clients need it
	h.Set("Cache-Control", "max-age=300")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(document) // whether the client reads it changes nothing
}

// own is the gate's own metadata.
func (r *Resource) own() []byte {
	document := map[string]any{"resource": r.o.Public.String(), "bearer_methods_supported": []string{"header"}}
	if len(r.o.AuthorizationServers) > 0 {
		document["authorization_servers"] = r.o.AuthorizationServers
	}
	if len(r.o.Scopes) > 0 {
		document["scopes_supported"] = r.o.Scopes
	}
	return encode(document)
}

// encode writes strings and lists of strings, which can't fail.
func encode(document any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(document)
	return b.Bytes()
}

// upstream is the server's metadata, as the gate's.
func (r *Resource) upstream(req *http.Request) ([]byte, int) {
	base, inserted := req.URL.Path, false
	if e := endpoint(r.o.Public); e != "" {
		base, inserted = strings.CutSuffix(req.URL.Path, e)
	}
	ctx, cancel := context.WithTimeout(req.Context(), metadataTimeout)
	defer cancel()
	paths := []string{base + endpoint(r.o.Upstream), base}
	if !inserted {
		slices.Reverse(paths)
	}
	if at := r.advertised.Load(); at != nil && base == protectedResource {
		paths = slices.Insert(paths, 0, *at)
	}
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			continue
		}
		data, status, err := r.get(ctx, path)
		switch {
		case err != nil:
			r.o.Logger.Warn("the server's metadata can't be had", "path", path, "error", withoutURL(err))
			return nil, http.StatusBadGateway
		case status != http.StatusOK:
			continue
		case base != protectedResource:
			return data, http.StatusOK
		}
		if data, err = r.rewrite(data); err != nil {
			r.o.Logger.Warn("the server's metadata can't be used", "path", path, "error", err)
			return nil, http.StatusBadGateway
		}
		return data, http.StatusOK
	}
	return nil, http.StatusNotFound
}

// get fetches a document beside the server's endpoint, without anybody's credentials.
func (r *Resource) get(ctx context.Context, path string) ([]byte, int, error) {
	at := &url.URL{Scheme: r.o.Upstream.Scheme, Host: r.o.Upstream.Host, Path: path}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.o.Transport.RoundTrip(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata+1))
	if err == nil && len(data) > maxMetadata {
		err = fmt.Errorf("it has more than %d bytes", maxMetadata)
	}
	return data, resp.StatusCode, err
}

// ModifyResponse makes an answer of the server say about authorization what is right
// for the gate's clients; it is a hook for [net/http/httputil.ReverseProxy].
//
// In the layout Same, a challenge points at the gate's metadata. In the layout Own, a
// challenge is about the gate's own credential and none of the client's business: it is
// taken out, and a 401, which would send the client for a token that doesn't help,
// becomes a 502.
func (r *Resource) ModifyResponse(resp *http.Response) error {
	challenges := resp.Header.Values("WWW-Authenticate")
	if r.o.Layout == Same {
		for i, c := range challenges {
			var was string
			challenges[i], was = pointAt(c, r.MetadataURL())
			r.learn(was)
		}
		return nil
	}
	for name := range resp.Header {
		if strings.EqualFold(name, "WWW-Authenticate") {
			delete(resp.Header, name)
		}
	}
	if resp.StatusCode != http.StatusUnauthorized {
		return nil
	}
	r.o.Logger.Error("the server refuses the gate's own credential: it answered 401")
	const body = `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the server behind the gate doesn't accept the gate; tell its operator"}}`
	err := resp.Body.Close()
	resp.StatusCode, resp.Status = http.StatusBadGateway, ""
	resp.Header.Set("Content-Type", "application/json")
	resp.Header.Del("Content-Encoding")
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.Body, resp.ContentLength, resp.TransferEncoding = io.NopCloser(strings.NewReader(body)), int64(len(body)), nil
	return err
}
