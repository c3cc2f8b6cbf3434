package decorator_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/policy"
)

// A spyHTTP remembers what it got.
type spyHTTP struct {
	bodies  []string
	callers []string
}

func (s *spyHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || int64(len(body)) != r.ContentLength {
		panic("the body is not what the request says")
	}
	s.bodies = append(s.bodies, string(body))
	s.callers = append(s.callers, policy.CallerFrom(r.Context()).Subject)
	w.WriteHeader(http.StatusAccepted)
}

func denyShadow(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	switch v, _ := in.Arguments().Lookup("/path"); v {
	case "/etc/shadow":
		return []policy.Refusal{{Message: "not <that> file", Location: "/path", Rule: "secrets"}}, nil
	case "error":
		return nil, errors.New("operator's secret")
	case "panic":
		panic("operator's secret")
	}
	return nil, nil
}

func post(body string, change ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/tools/read", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, f := range change {
		f(r)
	}
	return r
}

func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = values }
}

func TestHTTPHandlersRunOnlyForCallsThatAreLetThrough(t *testing.T) {
	chunked := func(r *http.Request) { r.ContentLength, r.TransferEncoding = -1, []string{"chunked"} }
	broken := func(r *http.Request) {
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"path":"a"}`), failing{}))
	}
	tests := []struct {
		name   string
		r      *http.Request
		status int
		code   policy.Code
		want   string // the body that the handler gets
	}{
		{"allowed", post(`{"path":"a"}`), 202, "", `{"path":"a"}`},
		{"exact bytes", post(" {\"path\": \"a\",\t\"n\":9007199254740993}\n"), 202, "", " {\"path\": \"a\",\t\"n\":9007199254740993}\n"},
		{"charset", post(`{"path":"a"}`, header("Content-Type", "Application/JSON; charset=UTF-8")), 202, "", `{"path":"a"}`},
		{"chunked", post(`{"path":"a"}`, chunked), 202, "", `{"path":"a"}`},
		{"denied", post(`{"path":"/etc/shadow"}`), 403, policy.Denied, ""},
		{"malformed", post(`{"path":"a","path":"/etc/shadow"}`), 400, policy.Malformed, ""},
		{"more than the gate takes", post(`{"path":"` + strings.Repeat("a", 1<<20) + `"}`), 400, policy.Malformed, ""},
		{"schema", post(`{"path":7}`), 400, policy.SchemaViolation, ""},
		{"no body", post(``), 400, policy.SchemaViolation, ""},
		{"null", post(`null`), 400, policy.SchemaViolation, ""},
		{"error", post(`{"path":"error"}`), 503, policy.Undecided, ""},
		{"panic", post(`{"path":"panic"}`), 503, policy.Undecided, ""},
		{"GET", httptest.NewRequest(http.MethodGet, "/", nil), 405, "", ""},
		{"PUT", func() *http.Request { r := post(`{"path":"a"}`); r.Method = "PUT"; return r }(), 405, "", ""},
		{"no media type", post(`{"path":"a"}`, header("Content-Type")), 415, "", ""},
		{"two media types", post(`{"path":"a"}`, header("Content-Type", "application/json", "text/plain")), 415, "", ""},
		{"another media type", post(`{"path":"a"}`, header("Content-Type", "application/x-www-form-urlencoded")), 415, "", ""},
		{"another JSON type", post(`{"path":"a"}`, header("Content-Type", "application/merge-patch+json")), 415, "", ""},
		{"another charset", post(`{"path":"a"}`, header("Content-Type", "application/json; charset=utf-16")), 415, "", ""},
		{"another parameter", post(`{"path":"a"}`, header("Content-Type", "application/json; version=2")), 415, "", ""},
		{"encoded", post(`{"path":"a"}`, header("Content-Encoding", "gzip")), 415, "", ""},
		{"encoded as itself", post(`{"path":"a"}`, header("Content-Encoding", "identity")), 415, "", ""},
		{"query", post(`{"path":"a"}`, func(r *http.Request) { r.URL.RawQuery = "path=/etc/shadow" }), 400, "", ""},
		{"too large", post(`{"path":"` + strings.Repeat("a", 5<<20) + `"}`), 413, "", ""},
		{"too large, chunked", post(strings.Repeat(" ", 5<<20), chunked), 413, "", ""},
		{"broken off", post("", broken), 400, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spy := &spyHTTP{}
			h, err := decorator.WrapHTTP(gateWith(t, policy.Options{}, denyShadow), policy.ToolSpec{Name: "read", InputSchema: []byte(schema)}, spy, decorator.HTTPOptions{})
			require.NoError(t, err)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, tt.r)
			require.Equal(t, tt.status, w.Code, w.Body.String())
			if tt.status == 202 {
				require.Equal(t, []string{tt.want}, spy.bodies)
				return
			}
			require.Empty(t, spy.bodies, "the handler must not run")
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			require.Equal(t, tt.status == 405, w.Header().Get("Allow") == "POST")
			require.NotContains(t, w.Body.String(), "operator's secret")
			var got struct {
				ID       string           `json:"decision_id"`
				Code     policy.Code      `json:"code"`
				Message  string           `json:"message"`
				Refusals []policy.Refusal `json:"refusals"`
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got), w.Body.String())
			require.Equal(t, tt.code, got.Code)
			require.Equal(t, tt.code != "", got.ID != "" && len(got.Refusals) > 0)
			require.Contains(t, got.Message, string(tt.code))
			require.NotEmpty(t, got.Message)
			if tt.code == policy.Denied {
				require.Equal(t, []policy.Refusal{{Code: policy.Denied, Message: "not <that> file", Location: "/path", Rule: "secrets"}}, got.Refusals)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Each code has the status that its documentation names.
func TestHTTPStatusOfEachCode(t *testing.T) {
	for code, status := range map[policy.Code]int{
		policy.Malformed: 400, policy.SchemaViolation: 400, policy.Denied: 403, policy.Unmapped: 403, policy.ToolChanged: 403,
		policy.UnknownTool: 404, policy.NotReady: 503, policy.Undecided: 503, policy.SchemaUnusable: 503, "": 503, "other": 503,
	} {
		d := refuser{policy.Decision{Refusals: []policy.Refusal{{Code: code, Message: "m"}}}}
		h, err := decorator.WrapHTTP(d, policy.ToolSpec{Name: "read"}, &spyHTTP{}, decorator.HTTPOptions{})
		require.NoError(t, err)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, post(`{}`))
		require.Equal(t, status, w.Code, code)
	}
}

type refuser struct{ d policy.Decision }

func (r refuser) Decide(context.Context, policy.Call) policy.Decision { return r.d }

func (r refuser) Tool(policy.ToolSpec) *policy.Tool {
	return policy.NewNoopGate().Tool(policy.ToolSpec{Name: "read"})
}

func TestHTTPCallers(t *testing.T) {
	tests := []struct {
		name   string
		o      decorator.HTTPOptions
		change func(*http.Request)
		caller string // "" when the call is undecided
		why    string
	}{
		{"from the context", decorator.HTTPOptions{}, func(r *http.Request) {
			*r = *r.WithContext(policy.WithCaller(r.Context(), policy.Caller{Subject: "ctx"}))
		}, "ctx", ""},
		{"from the request", decorator.HTTPOptions{Caller: func(r *http.Request) (policy.Caller, error) {
			return policy.Caller{Subject: r.Header.Get("X-User")}, nil
		}}, header("X-User", "ann"), "ann", ""},
		{"error", decorator.HTTPOptions{Caller: func(*http.Request) (policy.Caller, error) { return policy.Caller{Subject: "x"}, errors.New("no token") }}, nil, "", "caller: no token"},
		{"panic", decorator.HTTPOptions{Caller: func(*http.Request) (policy.Caller, error) { panic("oops") }}, nil, "", "caller: panic: oops"},
		{"session panics", decorator.HTTPOptions{Session: func(*http.Request) string { panic("oops") }}, func(r *http.Request) {
			*r = *r.WithContext(policy.WithCaller(r.Context(), policy.Caller{Subject: "ctx"}))
		}, "", "session: panic: oops"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log recorder
			gate := gateWith(t, policy.Options{CallerRequire: []string{"subject"}, Recorder: &log}, noObjection)
			spy := &spyHTTP{}
			h, err := decorator.WrapHTTP(gate, policy.ToolSpec{Name: "read", InputSchema: []byte(schema)}, spy, tt.o)
			require.NoError(t, err)
			r := post(`{"path":"a"}`)
			if tt.change != nil {
				tt.change(r)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Len(t, log.records, 1)
			require.Equal(t, "http", log.records[0].Input.Call().Transport)
			if tt.caller == "" {
				require.Equal(t, 503, w.Code)
				require.Empty(t, spy.bodies)
				require.Equal(t, policy.Undecided, log.records[0].Decision.Code())
				require.ErrorContains(t, log.records[0].Decision.Err, tt.why)
				return
			}
			require.Equal(t, []string{tt.caller}, spy.callers)
		})
	}
}

type recorder struct{ records []policy.Record }

func (l *recorder) Record(_ context.Context, r policy.Record) { l.records = append(l.records, r) }

func TestHTTPOptionsInUse(t *testing.T) {
	spy := &spyHTTP{}
	var log recorder
	gate := gateWith(t, policy.Options{Recorder: &log}, noObjection)
	h, err := decorator.WrapHTTP(gate, policy.ToolSpec{Name: "read", InputSchema: []byte(schema)}, spy,
		decorator.HTTPOptions{MaxBody: 12, Query: true, Session: func(*http.Request) string { return "s1" }})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, post(`{"path":"a"}`, func(r *http.Request) { r.URL.RawQuery = "v=1" }))
	require.Equal(t, 202, w.Code)
	require.Equal(t, "s1", log.records[0].Input.Call().Session)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, post(`{"path":"ab"}`))
	require.Equal(t, 413, w.Code)
}

func TestWrapHTTPRefusesWhatCanNeverWork(t *testing.T) {
	g := gateWith(t, policy.Options{}, noObjection)
	ok := policy.ToolSpec{Name: "t", InputSchema: []byte(schema)}
	for _, tt := range []struct {
		name string
		d    decorator.Decider
		spec policy.ToolSpec
		h    http.Handler
		o    decorator.HTTPOptions
		want string
	}{
		{"nil decider", nil, ok, &spyHTTP{}, decorator.HTTPOptions{}, "decider is nil"},
		{"nil gate", (*policy.Gate)(nil), ok, &spyHTTP{}, decorator.HTTPOptions{}, "decider is nil"},
		{"nil handler", g, ok, nil, decorator.HTTPOptions{}, "handler is nil"},
		{"nil function", g, ok, http.HandlerFunc(nil), decorator.HTTPOptions{}, "handler is nil"},
		{"no name", g, policy.ToolSpec{InputSchema: ok.InputSchema}, &spyHTTP{}, decorator.HTTPOptions{}, "no name"},
		{"no schema", g, policy.ToolSpec{Name: "t"}, &spyHTTP{}, decorator.HTTPOptions{}, "declares no inputSchema"},
		{"negative", g, ok, &spyHTTP{}, decorator.HTTPOptions{MaxBody: -1}, "MaxBody is negative"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := decorator.WrapHTTP(tt.d, tt.spec, tt.h, tt.o)
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, h)
		})
	}
}

func TestWrapHTTPWithNoRulesChangesNothing(t *testing.T) {
	spy := &spyHTTP{}
	h, err := decorator.WrapHTTP(policy.NewNoopGate(), policy.ToolSpec{Name: "t"}, spy, decorator.HTTPOptions{})
	require.NoError(t, err)
	require.Same(t, spy, h)
}

// A body that a handler can read a second time, as a form say, is the one that was
// decided, too.
func TestHTTPBodyIsTheOnlyOne(t *testing.T) {
	h, err := decorator.WrapHTTP(gateWith(t, policy.Options{}, noObjection), policy.ToolSpec{Name: "read", NoSchema: true},
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			require.Empty(t, r.FormValue("path"))
			again, err := r.GetBody()
			require.NoError(t, err)
			body, err := io.ReadAll(again)
			require.NoError(t, err)
			require.Equal(t, `{}`, string(body))
			require.Nil(t, r.Trailer)
		}), decorator.HTTPOptions{})
	require.NoError(t, err)
	h.ServeHTTP(httptest.NewRecorder(), post(``, func(r *http.Request) {
		r.Form = map[string][]string{"path": {"/etc/shadow"}}
		r.Trailer = http.Header{"X": {"y"}}
	}))
}

// keeper keeps the trace of each decision.
type keeper struct{ traces []string }

func (k *keeper) Record(ctx context.Context, _ policy.Record) {
	k.traces = append(k.traces, policy.TraceparentFrom(ctx))
}

func TestHTTPDecisionsContinueTheTrace(t *testing.T) {
	const trace, other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
	var k keeper
	h, err := decorator.WrapHTTP(gateWith(t, policy.Options{Recorder: &k}, noObjection), policy.ToolSpec{Name: "t", InputSchema: []byte(schema)},
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), decorator.HTTPOptions{})
	require.NoError(t, err)
	for _, values := range [][]string{{trace}, nil, {"x"}, {trace, other}} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"path":"a"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header["Traceparent"] = values
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	require.Equal(t, []string{trace, "", "", ""}, k.traces)
}
