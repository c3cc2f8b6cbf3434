package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/regogate/regogate/cmd/regogate/internal/report"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/decorator/httpproxy/bridge"
)

// A Server listens. Run serves, and Close gives everything back where Run isn't called.
type Server struct {
	plan     *Plan
	listener net.Listener
	http     *http.Server
	who      *who
	proxy    *httpproxy.Proxy
	bridge   *bridge.Bridge // nil for an upstream
	drain    drain
	public   *url.URL
}

// serverMessage is how long a message of a stdio server may be at least: the limit for
// bodies is about clients.
const serverMessage = 64 << 20

// lastAnswers is how long streams stay open after the last call has finished.
const lastAnswers = 250 * time.Millisecond

// endGrace is how long requests that were told to end may take.
const endGrace = 5 * time.Second

// Start listens, and makes what is needed to serve. Errors name a key of the
// configuration.
func (p *Plan) Start(ctx context.Context) (_ *Server, err error) {
	s := &Server{plan: p}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.listener, err = net.Listen("tcp", p.cfg.Listen.Address); err != nil {
		p.wrong("listen.address", "can't be listened on: "+strings.TrimPrefix(err.Error(), "listen tcp "), "choose an address and a port that are free")
		return nil, &config.Error{Problems: p.problems}
	}
	s.public = p.public
	if s.public == nil {
		s.public = &url.URL{Scheme: "http", Host: s.listener.Addr().String(), Path: p.cfg.Listen.Path}
		if p.tls != nil {
			s.public.Scheme = "https"
		}
	}
	if p.upstream == nil {
		if err := s.startBridge(); err != nil {
			return nil, err
		}
	}
	if s.who, err = p.identify(ctx, s.public); err != nil {
		return nil, err
	}
	if s.proxy, err = httpproxy.New(s.proxyOptions()); err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler:           patient(s.drain.wrap(s.handler()), p.cfg.HTTP.WriteTimeout),
		TLSConfig:         p.tls,
		ReadHeaderTimeout: p.cfg.HTTP.HeaderTimeout,
		IdleTimeout:       p.cfg.HTTP.IdleTimeout,
		MaxHeaderBytes:    p.cfg.HTTP.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(p.o.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func (s *Server) startBridge() (err error) {
	p, b := s.plan, s.plan.cfg.Bridge
	s.bridge, err = bridge.New(bridge.Options{
		Command: p.o.Command, Stderr: p.o.Stderr, Logger: p.o.Logger, MessageBytes: max(p.cfg.HTTP.BodyBytes, serverMessage),
		Processes: b.Processes, Pool: b.Pool, Idle: b.Idle, Pause: b.Pause, Start: b.Start, Grace: b.Grace,
	})
	p.transport = s.bridge
	return err
}

func (s *Server) proxyOptions() httpproxy.Options {
	p := s.plan
	transport := p.transport
	if s.who.strip != nil {
		transport = &stripper{transport, s.who.strip}
	}
	return httpproxy.Options{
		Gate:                 p.o.Gate,
		Upstream:             p.upstream,
		Transport:            transport,
		Path:                 p.cfg.Listen.Path,
		Server:               p.cfg.Server.Name,
		Methods:              p.methods(),
		Caller:               s.who.caller,
		ForwardAuthorization: p.cfg.Upstream.Resource == "same",
		ModifyResponse:       s.who.resource.ModifyResponse,
		AllowedHosts:         p.allowedHosts(),
		AllowedOrigins:       p.cfg.Listen.AllowedOrigins,
		Logger:               p.o.Logger,
		OnTools:              p.o.OnTools,
		Hold:                 httpproxy.Hold(p.cfg.Hold),
		MessageBytes:         p.cfg.HTTP.BodyBytes,
		BodyTimeout:          p.cfg.HTTP.BodyTimeout,
		ResponseTimeout:      p.cfg.Upstream.Timeout,
	}
}

// handler is the endpoint, and the metadata beside it.
func (s *Server) handler() http.Handler {
	if !s.who.metadata {
		return s.proxy
	}
	paths := s.who.resource.Paths()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(paths, r.URL.Path) {
			s.who.resource.ServeHTTP(w, r)
			return
		}
		s.proxy.ServeHTTP(w, r)
	})
}

// URL is the endpoint's, as clients know it.
func (s *Server) URL() string { return s.public.String() }

// Address is what is listened on.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Facts are what the start-up report tells.
func (s *Server) Facts() report.Serving {
	p := s.plan
	f := report.Serving{
		URL: s.URL(), Address: s.Address(), Server: p.cfg.Upstream.URL, Identity: p.cfg.Identity.Source, Resource: p.cfg.Upstream.Resource,
		TLS: p.tls != nil, Clients: p.cfg.TLS.ClientCAFile != "", Exposed: p.exposed, Hosts: p.allowedHosts(),
	}
	if p.upstream == nil {
		f.Server = p.o.Command[0]
	}
	return f
}

// Ready says why requests can't be served well now, nil when they can: for a health check.
func (s *Server) Ready() error {
	switch {
	case s.drain.isDraining():
		return errors.New("the gate is shutting down")
	case s.plan.o.Gate.Revision() == "":
		return errors.New("no policy is in force")
	}
	return s.who.ready()
}

// Run serves until a signal comes or ctx ends, and then drains: requests may finish, for
// as long as the configuration says, and streams are closed. A second signal ends all at
// once. The error says why the gate couldn't go on; it is nil after a drain.
func (s *Server) Run(ctx context.Context, signals <-chan os.Signal) error {
	failed := make(chan error, 1)
	go func() {
		l := limit(s.listener, s.plan.cfg.HTTP.Connections)
		if s.http.TLSConfig != nil {
			failed <- s.http.ServeTLS(l, "", "")
			return
		}
		failed <- s.http.Serve(l)
	}()
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("serve: %w", err), s.Close())
	case sig := <-signals:
		s.plan.o.Logger.Info("shutting down: requests may finish", "signal", fmt.Sprint(sig), "timeout", s.plan.cfg.HTTP.DrainTimeout.String())
	case <-ctx.Done():
	}
	s.finish(signals)
	<-failed
	return s.Close()
}

// finish lets requests end.
func (s *Server) finish(signals <-chan os.Signal) {
	finished := s.drain.begin()
	stopped := make(chan struct{})
	bounded, cancel := context.WithTimeout(context.Background(), s.plan.cfg.HTTP.DrainTimeout+endGrace)
	defer cancel()
	go func() {
		defer close(stopped)
		_ = s.http.Shutdown(bounded) // an error is that of bounded
	}()
	timer := time.NewTimer(s.plan.cfg.HTTP.DrainTimeout)
	defer timer.Stop()
	select {
	case <-finished:
		// Clients give up on a call whose stream breaks: let them read the last answers.
		select {
		case <-time.After(lastAnswers):
		case <-signals:
		}
		s.drain.end(false)
	case <-timer.C:
		s.plan.o.Logger.Warn("requests have not finished in time, and are broken off")
		s.drain.end(true)
	case <-signals:
		s.drain.end(true)
	}
	last := time.NewTimer(endGrace)
	defer last.Stop()
	select {
	case <-stopped:
	case <-last.C:
	case <-signals:
	}
	cancel()
	<-stopped
}

// Close ends everything at once.
func (s *Server) Close() error {
	var errs []error
	if s.http != nil {
		errs = append(errs, s.http.Close())
	}
	if s.listener != nil {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.proxy != nil {
		errs = append(errs, s.proxy.Close())
	}
	if s.bridge != nil {
		errs = append(errs, s.bridge.Close())
	}
	if s.who != nil {
		s.who.close()
	}
	s.plan.Close()
	return errors.Join(errs...)
}
