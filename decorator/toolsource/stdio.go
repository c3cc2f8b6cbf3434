package toolsource

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// StdioOptions say which server to start.
type StdioOptions struct {
	Command []string  // the program and its arguments
	Dir     string    // "" for this process's own
	Env     []string  // nil for this process's own
	Stderr  io.Writer // where the server's standard error goes; nil discards it
	Server  string    // what the configuration calls the server
	Timeout time.Duration
}

const (
	endGrace  = 2 * time.Second // for a server to end by itself once its input has ended
	killGrace = 2 * time.Second // and once it was asked to
)

// Stdio starts a server, lists its tools and ends it.
func Stdio(ctx context.Context, o StdioOptions) (_ List, err error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return List{}, errors.New("no command")
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	p, err := start(o)
	if err != nil {
		return List{}, err
	}
	defer p.end()
	l, err := list(ctx, p, o.Server)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the server took longer than %s: %w", o.Timeout, err)
	}
	return l, err
}

// A process is a server that was started.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan []byte // messages of the server; closed when there are no more
	done   chan struct{}
	exited chan error
}

func start(o StdioOptions) (*process, error) {
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = o.Dir, o.Env, o.Stderr
	cmd.WaitDelay = killGrace // for a child of the server that keeps its standard error open
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("the server could not be started: %w", err), read.Close(), write.Close())
	}
	_ = write.Close() // the server has its own
	p := &process{cmd: cmd, stdin: stdin, lines: make(chan []byte), done: make(chan struct{}), exited: make(chan error, 1)}
	go func() { p.exited <- cmd.Wait() }()
	go p.read(read)
	return p, nil
}

// read hands out the server's lines until there are no more or nobody wants them.
func (p *process) read(r io.ReadCloser) {
	defer close(p.lines)
	defer r.Close()
	go func() { // unblocks the reader when a child of the server keeps the pipe open
		<-p.done
		_ = r.Close()
	}()
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxMessage)
	for s.Scan() {
		select {
		case p.lines <- bytes.Clone(s.Bytes()):
		case <-p.done:
			return
		}
	}
}

// begun implements conn: a line looks alike in every version.
func (*process) begun(string) {}

func (p *process) tell(_ context.Context, message []byte) error {
	_, err := p.stdin.Write(append(bytes.Clone(message), '\n'))
	return err
}

func (p *process) ask(ctx context.Context, id, _ string, request []byte) (json.RawMessage, error) {
	if err := p.tell(ctx, request); err != nil {
		return nil, p.gone(err)
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case line, ok := <-p.lines:
			if !ok {
				return nil, p.gone(errors.New("it closed its output, or a line of it is too long"))
			}
			messages, _ := mcpwire.ReadServer(line)
			for _, m := range messages {
				if m.IsResponse() && mcpwire.IDKey(m.ID) == mcpwire.IDKey(json.RawMessage(id)) {
					return result(m)
				}
				if answer := reply(m); answer != nil {
					if err := p.tell(ctx, answer); err != nil {
						return nil, p.gone(err)
					}
				}
			}
		}
	}
}

// gone says that the server ended instead of answering.
func (p *process) gone(err error) error {
	select {
	case why := <-p.exited:
		p.exited <- why
		if why == nil {
			why = errors.New("exit status 0")
		}
		return fmt.Errorf("the server ended before it answered (%w): what it says on its standard error tells why", why)
	case <-time.After(time.Second):
		return fmt.Errorf("the server doesn't answer: %w", err)
	}
}

// end ends the server: by the end of its input, by a signal, by force.
func (p *process) end() {
	close(p.done)
	_ = p.stdin.Close()
	for _, step := range []struct {
		wait time.Duration
		then os.Signal
	}{{endGrace, syscall.SIGTERM}, {killGrace, os.Kill}} {
		select {
		case <-p.exited:
			return
		case <-time.After(step.wait):
			_ = p.cmd.Process.Signal(step.then) // it has ended, or ends with the next step
		}
	}
	<-p.exited
}
