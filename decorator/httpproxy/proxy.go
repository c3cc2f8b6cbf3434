package httpproxy

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/policy"
)

// A Proxy gates a server. Make it with [New]; it is safe for concurrent use.
type Proxy struct {
	o         Options
	methods   *mcpwire.Methods
	hosts     names
	origins   names
	ids       *mcpwire.OwnIDs
	tools     *adapter.Tools
	told      *teller
	lists     *lists
	bindings  bindings
	pending   budget
	transport http.RoundTripper
	own       *http.Transport // the transport, if the proxy made it
	reverse   interface {
		ServeHTTP(http.ResponseWriter, *http.Request)
	}
	quiet *log.Logger

	ctx      context.Context // ends with the proxy
	end      context.CancelFunc
	learning sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   int           // exchanges under way
	idle   chan struct{} // closed when there are none after Close; nil before
}

// New returns a proxy in front of a server. The error names each option that is missing
// or has no meaning. Nothing is asked of the server before a client does.
func New(o Options) (*Proxy, error) {
	filled, err := o.filled()
	if err != nil {
		return nil, err
	}
	methods, err := mcpwire.NewMethods(o.Methods)
	if err != nil {
		return nil, fmt.Errorf("httpproxy: %w", err)
	}
	warn := func(message string) { filled.Logger.Warn(message, "server", filled.Server) }
	p := &Proxy{
		o:         filled,
		methods:   methods,
		hosts:     newNames(o.AllowedHosts, false),
		origins:   newNames(o.AllowedOrigins, true),
		ids:       mcpwire.NewOwnIDs(),
		tools:     adapter.NewTools(filled.Gate, filled.Server, func(err error) { warn(err.Error()) }),
		told:      &teller{declarations: adapter.NewDeclarations(filled.Gate, filled.Server, warn), onTools: filled.OnTools},
		lists:     newLists(filled.Sessions, filled.SessionIdle),
		transport: filled.Transport,
		quiet:     slog.NewLogLogger(filled.Logger.Handler(), slog.LevelDebug),
	}
	p.pending.max = int64(filled.PendingBytes)
	if p.transport == nil {
		p.own = newTransport()
		p.transport = p.own
	}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.reverse = p.newReverseProxy()
	return p, nil
}

// newTransport returns one that changes nothing of what it carries.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// closeGrace is how long Close waits for exchanges to end that were told to.
const closeGrace = 5 * time.Second

// Close ends what is under way: questions to the server, streams, and calls that wait.
// Later requests are answered 503. It waits for all of that, but not for ever: the error
// says how many exchanges are still open, with clients that don't read.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	if p.idle == nil {
		p.idle = make(chan struct{})
		if p.open == 0 {
			close(p.idle)
		}
	}
	idle := p.idle
	p.mu.Unlock()
	p.end()
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	var err error
	select {
	case <-idle:
	case <-timer.C:
		p.mu.Lock()
		err = fmt.Errorf("httpproxy: %d exchanges are still open after %v", p.open, closeGrace)
		p.mu.Unlock()
	}
	p.learning.Wait() // exchanges have it begin
	if p.own != nil {
		p.own.CloseIdleConnections()
	}
	return err
}

// begin counts an exchange, unless the proxy is closed.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.open++
	return true
}

func (p *Proxy) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open--; p.open == 0 && p.closed {
		close(p.idle)
	}
}

// ServeHTTP handles one request of a client.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.begin() {
		p.refuse(w, badRequest(http.StatusServiceUnavailable, "the gate is closing"))
		return
	}
	defer p.done()
	defer p.recovered(w)
	if pr := p.guard(r); pr != nil {
		p.refuse(w, pr)
		return
	}
	c, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	stop := context.AfterFunc(p.ctx, func() { cancel(errClosed) })
	defer stop()
	x := &exchange{p: p, w: w, r: r.WithContext(c), cancel: cancel}
	defer x.end()
	if pr := x.identify(); pr != nil {
		p.refuse(w, pr)
		return
	}
	if x.caller != nil { // a transport may want to know
		x.r = x.r.WithContext(policy.WithCaller(x.r.Context(), *x.caller))
	}
	if r.Method == http.MethodPost {
		x.post()
	} else {
		x.forward()
	}
}

// recovered answers for what went wrong here. ReverseProxy panics on purpose to break
// off an answer that it can't finish.
func (p *Proxy) recovered(w http.ResponseWriter) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v)
	}
	p.o.Logger.Error("a request could not be handled", "error", fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
	f := mcpwire.Fault{Code: mcpwire.CodeInternal, Message: "the gate could not handle the request; tell its operator"}
	answer(w, http.StatusInternalServerError, f.Answer())
}

// An exchange is one request of a client, and its answer.
type exchange struct {
	p      *Proxy
	w      http.ResponseWriter
	r      *http.Request
	cancel context.CancelCauseFunc
	slow   *time.Timer // ends the wait for the server's answer
	caller *policy.Caller

	body      []byte
	reserved  int              // of the budget
	m         *mcpwire.Message // what body says; nil in a GET and a DELETE
	stateless bool
}

func (x *exchange) end() { x.p.pending.give(x.reserved) }

// session returns the id of the session that a request belongs to, "" for none.
func (x *exchange) session() string {
	if x.stateless {
		return ""
	}
	return x.r.Header.Get(headerSession)
}
