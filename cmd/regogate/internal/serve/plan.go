package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/decorator/httpproxy"
	"github.com/regogate/regogate/policy"
)

// Options say what to serve. Config, Gate and Logger are required.
type Options struct {
	Config config.Config
	// Command is the stdio server behind the gate; nil when Config names an upstream.
	Command []string
	Gate    *policy.Gate
	// Caller is who calls where Config has no source of identity.
	Caller  policy.Caller
	Logger  *slog.Logger
	OnTools func([]*policy.Tool)
	Stderr  io.Writer // of the processes of Command
}

// A Plan is a configuration in which nothing is wrong that can be known before anything
// listens.
type Plan struct {
	o         Options
	cfg       config.Config
	tls       *tls.Config // nil without TLS
	exposed   bool        // listens beyond this machine
	public    *url.URL    // nil when the configuration doesn't say
	upstream  *url.URL    // nil for Command
	transport http.RoundTripper
	close     []func()
	problems  []config.Problem
}

// Prepare reads the files that the configuration names and checks what they and the
// keys say. The error is a [*config.Error].
func Prepare(o Options) (*Plan, error) {
	p := &Plan{o: o, cfg: o.Config}
	p.checkListen()
	p.tls = p.listening(o.Logger)
	if p.exposed && p.cfg.TLS.CertFile == "" && p.cfg.Listen.Insecure != "allow" {
		p.wrong("listen.address", p.cfg.Listen.Address+" is reachable from other machines, and there is no TLS",
			"give tls.cert_file and tls.key_file, listen on 127.0.0.1, or say listen.insecure: allow")
	}
	p.checkUpstream()
	p.checkIdentity()
	if len(p.problems) > 0 {
		p.Close()
		return nil, &config.Error{Problems: p.problems}
	}
	return p, nil
}

// Close gives back what the plan holds, when it isn't started.
func (p *Plan) Close() {
	for _, f := range slices.Backward(p.close) {
		f()
	}
	p.close = nil
}

func (p *Plan) wrong(key, what, fix string) {
	where := p.cfg.Where(key)
	if where == "" && strings.HasPrefix(key, "identity.") {
		where = p.cfg.Where("identity.source") // which asks for the key
	}
	if where == "" {
		where = "default"
	}
	p.problems = append(p.problems, config.Problem{File: where, Key: key, What: what, Fix: fix})
}

func (p *Plan) fault(key string, err error, fix string) {
	if err != nil {
		p.wrong(key, err.Error(), fix)
	}
}

// firstSet is the first of the keys that somebody has set.
func firstSet(c config.Config, keys ...string) string {
	for _, k := range keys {
		if c.Where(k) != "" {
			return k
		}
	}
	return keys[0]
}

func (p *Plan) checkListen() {
	l := p.cfg.Listen
	var err error
	p.exposed, err = exposed(l.Address)
	p.fault("listen.address", err, "give host:port, like 127.0.0.1:8080")
	if !strings.HasPrefix(l.Path, "/") || strings.ContainsAny(l.Path, "?#% ") || strings.HasPrefix(l.Path, "/.well-known/") {
		p.wrong("listen.path", fmt.Sprintf("%q is no plain absolute path", l.Path), "give a path like /mcp")
	}
	if l.PublicURL == "" {
		return
	}
	u, err := url.Parse(l.PublicURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		p.wrong("listen.public_url", "is not the URL of an endpoint", "give https://host/path, without a query, a fragment or a user")
		return
	}
	p.public = u
}

// exposed reports whether an address can be reached from other machines. It means
// nothing with an error.
func exposed(address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return false, fmt.Errorf("%q is not host:port", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return false, fmt.Errorf("%q is no port", port)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return !ip.Unmap().IsLoopback(), nil
	}
	switch host {
	case "":
		return true, nil
	case "localhost":
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false, fmt.Errorf("%q is no address of this machine", host)
	}
	return len(ips) == 0 || slices.ContainsFunc(ips, func(ip netip.Addr) bool { return !ip.Unmap().IsLoopback() }), nil
}

// allowedHosts are the names that clients may call the gate by; nil for loopback ones.
func (p *Plan) allowedHosts() []string {
	l := p.cfg.Listen
	if len(l.AllowedHosts) > 0 {
		return l.AllowedHosts
	}
	if !p.exposed && p.public == nil {
		return nil
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(l.Address); err == nil {
		if ip, err := netip.ParseAddr(host); host != "" && (err != nil || !ip.IsUnspecified()) {
			hosts = append(hosts, host)
		}
	}
	if p.public != nil {
		hosts = append(hosts, p.public.Hostname())
	}
	return hosts
}

func (p *Plan) methods() []httpproxy.MethodRule {
	var rules []httpproxy.MethodRule
	for _, m := range p.cfg.Methods {
		rules = append(rules, httpproxy.MethodRule{Name: m.Name, Action: m.Action})
	}
	return rules
}
