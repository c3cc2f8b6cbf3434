package stdioproxy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/decorator/internal/mcpwire"
	"github.com/regogate/regogate/decorator/internal/toolbox"
	"github.com/regogate/regogate/policy"
)

// A proxy stands between one client and one server.
type proxy struct {
	o         *Options
	methods   *mcpwire.Methods
	ids       *mcpwire.OwnIDs
	box       *toolbox.Box
	learner   *toolbox.Learner
	questions *questioner
	queue     *queue
	handshake *handshake
	client    *lineWriter // what the client reads
	server    *lineWriter // what the server reads

	stop       chan struct{} // closed when the client can't be written to
	clientGone sync.Once
	serverDeaf sync.Once
}

// Run runs a server behind a gate until it ends, and returns its exit status: 128 and
// the number of the signal that ended it, if one did. When the client's input ends,
// the server's does after everything that waits has gone out; when ctx ends, at once.
// A server that doesn't end then is made to, see [Options.Grace].
//
// The error says that the options are unusable or that the server could not be
// started (the status is then -1), or it is that of ctx.
func Run(ctx context.Context, o Options) (status int, err error) {
	filled, err := o.filled()
	if err != nil {
		return -1, err
	}
	methods, err := mcpwire.NewMethods(o.Methods)
	if err != nil {
		return -1, fmt.Errorf("stdioproxy: %w", err)
	}
	server, err := start(&filled)
	if err != nil {
		return -1, fmt.Errorf("stdioproxy: %w", err)
	}
	if filled.Ready != nil {
		if err := filled.Ready(ctx); err != nil {
			server.discard()
			return -1, err
		}
	}
	return newProxy(&filled, methods, server).run(ctx, server)
}

func newProxy(o *Options, methods *mcpwire.Methods, server *process) *proxy {
	p := &proxy{
		o:       o,
		methods: methods,
		ids:     mcpwire.NewOwnIDs(),
		box:     toolbox.New(0),
		queue:   newQueue(o.Hold),
		client:  &lineWriter{w: o.Stdout},
		server:  &lineWriter{w: server.stdin},
		stop:    make(chan struct{}),
	}
	p.handshake = &handshake{box: p.box}
	p.questions = &questioner{o: o, server: p.server}
	p.learner = &toolbox.Learner{
		Box:     p.box,
		IDs:     p.ids,
		Ask:     p.questions.ask,
		Tools:   adapter.NewTools(o.Gate, o.Server, func(err error) { o.Logger.Warn(err.Error(), "server", o.Server) }),
		Server:  o.Server,
		Timeout: o.LearnTimeout,
		Logger:  o.Logger,
		OnTools: onTools(o),
	}
	return p
}

// onTools tells whoever wants to know the tools.
func onTools(o *Options) func([]*policy.Tool) {
	declared := adapter.NewDeclarations(o.Gate, o.Server, func(note string) { o.Logger.Warn(note, "server", o.Server) })
	return func(tools []*policy.Tool) {
		declared.Only(tools)
		if o.OnTools != nil {
			o.OnTools(tools)
		}
	}
}

func (p *proxy) run(ctx context.Context, server *process) (int, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go p.readClient(inner) // ends when Read does
	worked, learned, read := async(func() { p.work(inner) }), async(func() { p.learner.Run(inner) }), async(func() { p.readServer(server.stdout) })

	p.pass(inner, server, worked, read)
	interrupted := ctx.Err()
	cancel()
	p.queue.drop()
	server.closeInput()
	p.drain(ctx, read)
	_ = server.stdout.Close()
	waitFor(p.o.KillGrace, read, worked, learned)
	p.client.close()
	if interrupted != nil {
		return server.status(), interrupted
	}
	return server.status(), server.err
}

// pass lets the proxy work until the server has ended.
func (p *proxy) pass(ctx context.Context, server *process, worked, read <-chan struct{}) {
	ending := false
	end := func() {
		server.closeInput()
		if !ending {
			ending = true
			go server.end(p.o.Grace, p.o.KillGrace)
		}
	}
	signals, done, stop := p.o.Signals, ctx.Done(), p.stop
	for {
		select {
		case <-server.exited:
			return
		case s, ok := <-signals:
			if !ok {
				signals = nil
				continue
			}
			server.signal(s)
		case <-worked: // and the client's input has ended
			worked = nil
			end()
		case <-read: // the server will say nothing more
			read = nil
			end()
		case <-done:
			done = nil
			p.queue.drop()
			end()
		case <-stop:
			stop = nil
			p.queue.drop()
			end()
		}
	}
}

// drain waits until the client has got what the server wrote before it ended. It may
// take its time. It ends early if nothing happens: then a child of the server has
// inherited its output.
func (p *proxy) drain(ctx context.Context, read <-chan struct{}) {
	before, signals := -1, p.o.Signals
	for {
		select {
		case <-read:
			return
		case _, ok := <-signals:
			if ok {
				return
			}
			signals = nil
		case <-time.After(p.o.KillGrace):
		}
		writes, writing := p.client.progress()
		if ctx.Err() != nil || !writing && writes == before {
			return
		}
		before = writes
	}
}

// forward sends a line of the client to the server. A server that doesn't read is not
// told to the client, which sees it by itself, as it would without a gate.
func (p *proxy) forward(line []byte) {
	if err := p.server.forward(line); err != nil {
		p.serverDeaf.Do(func() {
			p.o.Logger.Warn("the server doesn't read its input", "server", p.o.Server, "error", err)
		})
	}
}

// answer sends a message of the gate's own to the client.
func (p *proxy) answer(message []byte) { p.sent(p.client.message(message)) }

// async runs f and closes done after it.
func async(f func()) (done <-chan struct{}) {
	c := make(chan struct{})
	go func() {
		defer close(c)
		f()
	}()
	return c
}

// waitFor waits for all of these, but not longer than d.
func waitFor(d time.Duration, all ...<-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for _, c := range all {
		select {
		case <-c:
		case <-timer.C:
			return
		}
	}
}
