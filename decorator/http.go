package decorator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/regogate/regogate/policy"
)

// HTTPOptions configure a tool that is exposed over HTTP. The zero value is ready to use.
type HTTPOptions struct {
	// MaxBody is the greatest length of a body that is read, in bytes. 0 means 4 MiB:
	// more than a gate takes by default, so that the gate is who refuses the rest.
	MaxBody int64
	// Caller says who calls. An error, or a panic, makes the call undecided. A nil Caller
	// means the one that is in the request's context, see [policy.WithCaller].
	Caller func(*http.Request) (policy.Caller, error)
	// Session names the session of a request; nil means that there is none.
	Session func(*http.Request) string
	// Query lets requests with a query through. Without it they are refused: nobody
	// decides what a query says, and http.Request.FormValue mixes it with the body.
	Query bool
}

const defaultMaxBody = 4 << 20

// WrapHTTP returns a handler that runs h for the calls to one tool that d lets through.
// A call is a POST whose body is the arguments, a JSON object; no body, or null, is
// decided as {}. The body that h reads is exactly what was decided.
//
// The answer to a refused call is JSON, {"decision_id", "code", "message", "refusals"},
// and its status says what kind of refusal it is:
//
//	400 malformed, schema_violation
//	403 denied, unmapped, tool_changed
//	404 unknown_tool
//	503 not_ready, undecided, schema_unusable and whatever else there is
//
// What is no call is answered before anybody is asked, with {"message"}: 405 for
// another method than POST, 415 for a media type other than application/json in UTF-8
// or a content encoding, 413 for a body beyond MaxBody, 400 for a query or for a body
// that can't be read.
//
// A nil decider or handler is an error, and so is a tool whose schema can't be used.
// With a no-op gate, it is h that is returned.
func WrapHTTP(d Decider, spec policy.ToolSpec, h http.Handler, o HTTPOptions) (http.Handler, error) {
	if f, isFunc := h.(http.HandlerFunc); h == nil || isFunc && f == nil {
		return nil, fmt.Errorf("decorator.WrapHTTP: tool %q: the handler is nil", spec.Name)
	}
	tool, err := prepare(d, spec)
	if err != nil {
		return nil, fmt.Errorf("decorator.WrapHTTP: %w", err)
	}
	if o.MaxBody < 0 {
		return nil, fmt.Errorf("decorator.WrapHTTP: tool %q: MaxBody is negative", spec.Name)
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	if g, isGate := d.(*policy.Gate); isGate && g.Noop() {
		return h, nil
	}
	return &httpTool{d, tool, h, o}, nil
}

type httpTool struct {
	decider Decider
	tool    *policy.Tool
	next    http.Handler
	o       HTTPOptions
}

// ServeHTTP decides one request.
func (t *httpTool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, problem := t.notACall(r); problem != "" {
		if status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		answer(w, status, verdict{Message: problem})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, t.o.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		answer(w, http.StatusRequestEntityTooLarge, verdict{Message: fmt.Sprintf("the body is longer than %d bytes", t.o.MaxBody)})
		return
	case err != nil:
		answer(w, http.StatusBadRequest, verdict{Message: "the body could not be read"})
		return
	}
	ctx, err := t.withCaller(r)
	call := policy.Call{Tool: t.tool, Arguments: orEmptyObject(body), Transport: "http"}
	if err == nil {
		call.Session, err = t.session(r)
	}
	call.Unfaithful = err
	if d := t.decider.Decide(withTrace(ctx, r), call); !d.Effective {
		answer(w, statusOf(d.Code()), verdict{ID: d.ID, Code: d.Code(), Message: d.Text(), Refusals: d.Refusals})
		return
	}
	t.next.ServeHTTP(w, withBody(r.WithContext(ctx), call.Arguments))
}

// withTrace returns ctx with the trace that a request continues; of two, nobody knows
// which is meant.
func withTrace(ctx context.Context, r *http.Request) context.Context {
	if values := r.Header.Values("Traceparent"); len(values) == 1 {
		return policy.WithTraceparent(ctx, values[0])
	}
	return ctx
}

// notACall says why a request is none that could be decided, "" when it may be one.
func (t *httpTool) notACall(r *http.Request) (status int, problem string) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, "a tool is called with POST"
	}
	if len(r.Header.Values("Content-Encoding")) > 0 {
		return http.StatusUnsupportedMediaType, "the body must have no content encoding"
	}
	if types := r.Header.Values("Content-Type"); len(types) != 1 || !isJSON(types[0]) {
		return http.StatusUnsupportedMediaType, "the body must be application/json, in UTF-8"
	}
	if !t.o.Query && (r.URL.RawQuery != "" || r.URL.ForceQuery) {
		return http.StatusBadRequest, "arguments belong into the body: a query is not taken"
	}
	return 0, ""
}

func isJSON(contentType string) bool {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "application/json" {
		return false
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

func (t *httpTool) withCaller(r *http.Request) (ctx context.Context, err error) {
	ctx = r.Context()
	if t.o.Caller == nil {
		return ctx, nil
	}
	defer recovered("caller", &err)
	c, err := t.o.Caller(r)
	if err != nil {
		return ctx, fmt.Errorf("caller: %w", err)
	}
	return policy.WithCaller(ctx, c), nil
}

func (t *httpTool) session(r *http.Request) (name string, err error) {
	if t.o.Session == nil {
		return "", nil
	}
	defer recovered("session", &err)
	return t.o.Session(r), nil
}

// recovered makes an error of a panic in the application's code.
func recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: panic: %v\n%s", what, p, debug.Stack())
	}
}

// withBody returns a request whose body is what was decided, and that says so.
func withBody(r *http.Request, body []byte) *http.Request {
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	r.TransferEncoding, r.Trailer = nil, nil
	r.Form, r.PostForm, r.MultipartForm = nil, nil, nil
	return r
}

func statusOf(c policy.Code) int {
	switch c {
	case policy.Malformed, policy.SchemaViolation:
		return http.StatusBadRequest
	case policy.Denied, policy.Unmapped, policy.ToolChanged:
		return http.StatusForbidden
	case policy.UnknownTool:
		return http.StatusNotFound
	default:
		return http.StatusServiceUnavailable
	}
}

// A verdict is the part of a decision that a client may have.
type verdict struct {
	ID       string           `json:"decision_id,omitempty"`
	Code     policy.Code      `json:"code,omitempty"`
	Message  string           `json:"message"`
	Refusals []policy.Refusal `json:"refusals,omitempty"`
}

func answer(w http.ResponseWriter, status int, v verdict) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // nothing in it can fail; an empty refusal is one all the same
		b.Reset()
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whether the client reads it changes nothing
}
