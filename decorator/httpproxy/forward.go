package httpproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

var (
	errSlow   = errors.New("the server has not answered in time")
	errClosed = errors.New("the gate is closing")
)

type exchangeKey struct{}

// newReverseProxy returns what carries the exchanges that pass.
func (p *Proxy) newReverseProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     p.transport,
		FlushInterval: -1,
		BufferPool:    &buffers{},
		ErrorLog:      p.quiet,
		Rewrite: func(r *httputil.ProxyRequest) {
			x, ok := r.In.Context().Value(exchangeKey{}).(*exchange)
			u := *p.o.Upstream
			r.Out.URL, r.Out.Host = &u, ""
			p.outgoing(r.Out.Header, ok && x.stateless)
		},
		ModifyResponse: func(res *http.Response) error {
			x, ok := res.Request.Context().Value(exchangeKey{}).(*exchange)
			if !ok {
				return errors.New("an answer to nothing")
			}
			return x.response(res)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
				x.failed(w, err)
			}
		},
	}
}

// forward sends a request on, with the body that was decided if it has one.
func (x *exchange) forward() {
	r := x.r.WithContext(context.WithValue(x.r.Context(), exchangeKey{}, x))
	r.Body, r.ContentLength = http.NoBody, 0
	if x.m != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(x.body)), int64(len(x.body))
	}
	r.TransferEncoding, r.Trailer = nil, nil
	if r.Method != http.MethodGet {
		x.slow = time.AfterFunc(x.p.o.ResponseTimeout, func() { x.cancel(errSlow) })
		defer x.slow.Stop()
	}
	x.p.reverse.ServeHTTP(x.w, r)
}

// response looks at what the server answered, before the client gets it. An error has
// the client get that of failed instead.
func (x *exchange) response(res *http.Response) error {
	p := x.p
	if p.o.ModifyResponse != nil {
		if err := p.o.ModifyResponse(res); err != nil {
			return err
		}
	}
	if res.StatusCode/100 == 3 && res.StatusCode != http.StatusNotModified {
		// The client would go there and leave the gate aside.
		return fmt.Errorf("the server redirects (HTTP status %d): give its final URL as the upstream", res.StatusCode)
	}
	res.Header.Del("Alt-Svc")
	x.follow(res.StatusCode)
	owed := x.m != nil && x.m.Kind == mcpwire.Request
	kind := mediaType(res.Header)
	switch encoded := isEncoded(res.Header); {
	case encoded && conclusive(res.StatusCode):
		return errors.New("the server's answer has a content encoding, which nobody asked for")
	case encoded:
	case kind == eventStreamType:
		x.stopTimer()
		res.Body = newStream(x, res.Body)
		res.ContentLength = -1
		res.Header.Del("Content-Length")
		res.Header.Set("X-Accel-Buffering", "no")
	case owed:
		return x.whole(res, kind)
	}
	return nil
}

// conclusive reports whether a client takes an answer with that HTTP status for one to its
// request, or for none, rather than for being told what to do else.
func conclusive(status int) bool { return status/100 == 2 || status/100 == 5 }

// isEncoded reports whether a body is something else than what its media type says.
func isEncoded(h http.Header) bool {
	for _, v := range h.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(v), "identity") {
			return true
		}
	}
	return false
}

func (x *exchange) stopTimer() {
	if x.slow != nil {
		x.slow.Stop()
	}
}

// follow takes note of what an answer means for the tools that are known.
func (x *exchange) follow(status int) {
	switch {
	case x.r.Method == http.MethodDelete && (status/100 == 2 || status == http.StatusNotFound):
		x.p.lists.drop(x.listKey())
	case x.m != nil && x.m.Kind == mcpwire.Notification && x.m.Method == mcpwire.Initialized && status/100 == 2:
		x.toolList() // the client may call now
	}
}

// whole reads the answer to a request, which is to be JSON.
func (x *exchange) whole(res *http.Response, kind string) error {
	if kind != "application/json" {
		if conclusive(res.StatusCode) {
			return fmt.Errorf("the server answers with HTTP status %d and something else than JSON or an event stream", res.StatusCode)
		}
		return nil
	}
	body, rest, err := x.readAnswer(res)
	if err != nil {
		return fmt.Errorf("the server's answer ended before it was complete: %w", err)
	}
	if rest {
		return nil
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if res.ContentLength = int64(len(body)); res.Header.Get("Content-Length") == "" {
		res.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	switch {
	case !conclusive(res.StatusCode):
	case !isJSON(body):
		return errors.New("the server's answer is not JSON")
	case !x.answeredBy(body, res.StatusCode/100 == 5):
		return errors.New("the server's answer is not one to this request")
	}
	if bytes.Contains(body, []byte("list_changed")) {
		x.heard(body)
	}
	return nil
}

// readAnswer reads a body that is not too long. rest reports that it is, and that
// what was read was put back.
func (x *exchange) readAnswer(res *http.Response) (body []byte, rest bool, err error) {
	var b bytes.Buffer
	if n := res.ContentLength; n > 0 && n <= firstAnswer {
		b.Grow(int(n) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(res.Body, answerBytes+1))
	switch {
	case err != nil:
		return nil, false, err
	case n > answerBytes:
		from := res.Body
		res.Body = readCloser{io.MultiReader(&b, from), from}
		return nil, true, nil
	}
	return b.Bytes(), false, res.Body.Close()
}

const (
	answerBytes = 16 << 20
	firstAnswer = 1 << 20 // what a Content-Length is believed up to
)

type readCloser struct {
	io.Reader
	io.Closer
}

func isJSON(text []byte) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// answeredBy reports whether what the server says has the answer to the request, or an
// error that names no request. any takes every error for one.
func (x *exchange) answeredBy(text []byte, any bool) bool {
	messages, _ := mcpwire.ReadServer(text)
	for _, m := range messages {
		failure := m.Method == "" && m.Error != nil
		if failure && (any || m.ID == nil) || m.IsResponse() && mcpwire.SameID(m.ID, x.m.ID) {
			return true
		}
	}
	return false
}

// heard takes note of what the server says beside its answers.
func (x *exchange) heard(text []byte) {
	messages, _ := mcpwire.ReadServer(text)
	for _, m := range messages {
		if m.Method != mcpwire.ToolsListChanged {
			continue
		}
		if x.stateless {
			x.p.lists.outdated()
		} else if t := x.p.lists.find(x.listKey()); t != nil {
			t.box.Changed() // before the client learns of it and calls a new tool
			x.p.learn(t)
		}
	}
}

// failed answers in the place of a server that didn't.
func (x *exchange) failed(w http.ResponseWriter, err error) {
	cause := context.Cause(x.r.Context())
	status, message := http.StatusBadGateway, "the server can't be reached, or its answer can't be used"
	switch {
	case errors.Is(cause, errSlow):
		status, message, err = http.StatusGatewayTimeout, "the server has not answered in time", cause
	case errors.Is(cause, errClosed):
		status, message = http.StatusServiceUnavailable, "the gate is closing"
	case cause != nil: // the client went away
		x.p.o.Logger.Debug("the client didn't wait for the answer", "error", cause)
	}
	x.p.o.Logger.Warn("no answer by the server", "server", x.p.o.Server, "status", status, "error", err)
	f := mcpwire.Fault{Code: mcpwire.CodeInternal, Message: message}
	if x.m != nil && x.m.Kind == mcpwire.Request {
		f.ID = x.m.ID
	}
	answer(w, status, f.Answer())
}

// buffers are what answers are copied through.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 32<<10)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }
