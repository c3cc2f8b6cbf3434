package httpproxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// A Decider decides calls and makes tools ready for that; [*policy.Gate] is one.
type Decider interface {
	Decide(ctx context.Context, call policy.Call) policy.Decision
	Tool(spec policy.ToolSpec) *policy.Tool
}

// A MethodRule says what happens to the messages of one MCP method other than
// tools/call: Name is exact, Action is "pass" or "refuse".
type MethodRule = mcpwire.MethodRule

// Hold bounds what waits while the server's tools are being learned, for each session
// and each Authorization by itself. Zeros mean defaults.
type Hold struct {
	Calls   int           // calls at once; 0 means 64
	Bytes   int           // of all that waits; 0 means 16 MiB
	Timeout time.Duration // of one call; 0 means 10 s
}

// Options say what to gate and how. Gate is required, and Upstream unless there is a
// Transport. Durations and numbers that are zero mean their defaults.
type Options struct {
	Gate Decider
	// Upstream is the server's endpoint, http or https.
	Upstream *url.URL
	// Transport carries requests to the server. nil means one that the proxy makes and
	// closes. It must not follow redirects, and not change what it carries. The contexts of
	// requests have who makes them, see [policy.CallerFrom].
	Transport http.RoundTripper
	// Path is the endpoint's public path. "" means /mcp.
	Path string
	// Server is the configured name of the server, which policies see.
	Server string
	// Methods are exceptions from what passes undecided by default, which is what the
	// specification lets a client send.
	Methods []MethodRule
	// Caller says who makes a request; nil means nobody known. An error is answered 401,
	// or with its StatusCode() int, and with its Challenge() string as WWW-Authenticate;
	// its text goes to the log only.
	Caller func(*http.Request) (policy.Caller, error)
	// ForwardAuthorization sends the client's Authorization on to the server: right
	// only where gate and server are one resource, so that the token is meant for both.
	ForwardAuthorization bool
	// ModifyResponse changes what the server answered before the proxy looks at it.
	ModifyResponse func(*http.Response) error
	// AllowedHosts are the names, or name:port, by which clients may reach the gate, and
	// AllowedOrigins the origins (scheme://name[:port]) of web pages that may. "*" is any.
	// Loopback names are allowed if there are none.
	AllowedHosts, AllowedOrigins []string
	// Logger is told what was refused and what went wrong. nil is silent.
	Logger *slog.Logger
	// OnTools is told a list of tools that was learned and differs from the last that it
	// was told. It must not block.
	OnTools func([]*policy.Tool)
	Hold    Hold
	// LearnTimeout is how long the server may take to list its tools. 0 means 30 s.
	LearnTimeout time.Duration
	// MessageBytes is the greatest length of a request's body. 0 means 16 MiB.
	MessageBytes int
	// PendingBytes is the greatest length of all bodies that are held in memory. 0 means 256 MiB.
	PendingBytes int
	// BodyTimeout is how long a client may take to send a body. 0 means 30 s.
	BodyTimeout time.Duration
	// ResponseTimeout is how long the server may take to begin its answer, or to finish
	// it if it is no stream. 0 means 5 minutes.
	ResponseTimeout time.Duration
	// Sessions is for how many sessions, and Authorization values, the tools are kept at
	// once. 0 means 10,000. Those used least recently go first.
	Sessions int
	// SessionIdle is for how long they are kept without being used. 0 means one hour.
	SessionIdle time.Duration
}

// PassUndecided returns the methods that reach the server without a decision under
// these rules, sorted; see [Options.Methods].
func PassUndecided(rules []MethodRule) ([]string, error) {
	m, err := mcpwire.NewMethods(rules)
	if err != nil {
		return nil, err
	}
	return m.Undecided(), nil
}

const (
	defaultPath         = "/mcp"
	defaultMessageBytes = 16 << 20
)

// bridged stands for the address of a server that only a Transport can reach.
var bridged = url.URL{Scheme: "http", Host: "bridge.invalid", Path: "/mcp"}

// filled returns o with defaults in place of zeros, or an error for each field that is
// missing or has no meaning.
func (o Options) filled() (Options, error) {
	var errs []error
	if err := adapter.CheckDecider(o.Gate); err != nil {
		errs = append(errs, fmt.Errorf("httpproxy: Gate: %w", err))
	}
	if o.Upstream == nil && o.Transport != nil {
		u := bridged
		o.Upstream = &u
	}
	errs = append(errs, checkUpstream(o.Upstream))
	if o.Path == "" {
		o.Path = defaultPath
	}
	if !strings.HasPrefix(o.Path, "/") || strings.ContainsAny(o.Path, "?#%") {
		errs = append(errs, fmt.Errorf("httpproxy: Path %q is no plain absolute path, like %s", o.Path, defaultPath))
	}
	fill(&errs, "Hold.Calls", &o.Hold.Calls, 64)
	fill(&errs, "Hold.Bytes", &o.Hold.Bytes, 16<<20)
	fill(&errs, "Hold.Timeout", &o.Hold.Timeout, 10*time.Second)
	fill(&errs, "LearnTimeout", &o.LearnTimeout, 30*time.Second)
	fill(&errs, "MessageBytes", &o.MessageBytes, defaultMessageBytes)
	fill(&errs, "PendingBytes", &o.PendingBytes, 256<<20)
	fill(&errs, "BodyTimeout", &o.BodyTimeout, 30*time.Second)
	fill(&errs, "ResponseTimeout", &o.ResponseTimeout, 5*time.Minute)
	fill(&errs, "Sessions", &o.Sessions, 10_000)
	fill(&errs, "SessionIdle", &o.SessionIdle, time.Hour)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}

func checkUpstream(u *url.URL) error {
	switch {
	case u == nil:
		return errors.New("httpproxy: Upstream is missing")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("httpproxy: Upstream has scheme %q: want http or https", u.Scheme)
	case u.Host == "" || u.Opaque != "" || u.Fragment != "":
		return errors.New("httpproxy: Upstream is not the URL of an endpoint: want http(s)://host[:port]/path, without a fragment")
	}
	return nil
}

func fill[T int | time.Duration](errs *[]error, name string, field *T, def T) {
	if *field < 0 {
		*errs = append(*errs, fmt.Errorf("httpproxy: %s is negative", name))
	}
	if *field == 0 {
		*field = def
	}
}
