package bridge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// writeTimeout is how long a server may take to read a message.
const writeTimeout = 30 * time.Second

var (
	errEnded = errors.New("the server has ended")
	errDeaf  = errors.New("the server doesn't read its input")
)

// A process is one running server.
type process struct {
	o      *Options
	cmd    *exec.Cmd
	stdout *os.File
	spoke  atomic.Bool   // it has said something
	ending atomic.Bool   // it was told to end
	ended  chan struct{} // closed when it has ended and all that it said was heard

	mu     sync.Mutex // of what is written
	stdin  *os.File
	closed bool
}

// start starts a server. heard is called with each message of it, one after the other,
// and gone once at the end, when nothing more will be heard.
func start(o *Options, heard func(mcpwire.ServerMessage), gone func(*process)) (*process, error) {
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = o.Dir, o.Env, o.Stderr
	cmd.WaitDelay = o.Grace // for a child of the server that keeps its standard error open
	apart(cmd)
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inRead.Close(), inWrite.Close())
	}
	cmd.Stdin, cmd.Stdout = inRead, outWrite
	err = cmd.Start()
	closed := errors.Join(inRead.Close(), outWrite.Close())
	if err = errors.Join(err, closed); err != nil {
		if cmd.Process != nil {
			kill(cmd)
			_ = cmd.Wait()
		}
		return nil, errors.Join(fmt.Errorf("server %q could not be started: %w", o.Command[0], err), inWrite.Close(), outRead.Close())
	}
	p := &process{o: o, cmd: cmd, stdin: inWrite, stdout: outRead, ended: make(chan struct{})}
	go p.run(heard, gone)
	return p, nil
}

// run hears the server out and waits for it.
func (p *process) run(heard func(mcpwire.ServerMessage), gone func(*process)) {
	read := make(chan error, 1)
	go func() { read <- p.read(heard) }()
	exited := make(chan error, 1)
	go func() { exited <- p.cmd.Wait() }()
	var status, failed error
	byItself := false
	select {
	case status = <-exited:
		byItself = !p.ending.Load()
		// What it wrote before is still to be read; a child of it that keeps the pipe open
		// isn't waited for.
		kill(p.cmd)
		select {
		case failed = <-read:
		case <-time.After(p.o.Grace):
			_ = p.stdout.Close()
			failed = <-read
		}
	case failed = <-read:
		// It can't be heard any more, so it is of no use.
		byItself = !p.ending.Load()
		p.end()
		status = <-exited
		kill(p.cmd)
	}
	p.closeInput()
	_ = p.stdout.Close()
	if byItself || failed != nil {
		p.o.Logger.Warn("a server process has ended by itself", "pid", p.cmd.Process.Pid, "status", fmt.Sprint(status), "error", failed)
	}
	gone(p)
	close(p.ended)
}

// read hears what the server says until it ends, or says something too long.
func (p *process) read(heard func(mcpwire.ServerMessage)) error {
	r := bufio.NewReaderSize(p.stdout, 64<<10)
	for {
		line, err := readLine(r, p.o.MessageBytes)
		if len(line) > 0 {
			p.line(line, heard)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
			return nil
		case err != nil:
			return err
		}
	}
}

// readLine returns a line without its ending. The last one may come with an error.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > most {
			return nil, fmt.Errorf("a message of the server has more than %d bytes", most)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), err
		}
	}
}

func (p *process) line(line []byte, heard func(mcpwire.ServerMessage)) {
	messages, _ := mcpwire.ReadServer(line)
	if len(messages) == 0 {
		p.o.Logger.Warn("a server process wrote something that is no message", "pid", p.cmd.Process.Pid, "bytes", len(line))
		return
	}
	p.spoke.Store(true)
	for _, m := range messages {
		heard(m)
	}
}

// write sends one message. A server that doesn't take it whole is of no further use.
func (p *process) write(message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errEnded
	}
	// Blanks around a message end the connection for some readers of lines, and with it
	// the process that others may share.
	message = bytes.Trim(message, " \t\r\n")
	line := make([]byte, 0, len(message)+1)
	line = append(line, message...)
	for i, c := range line { // white space between tokens; inside one neither may stand
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	_ = p.stdin.SetWriteDeadline(time.Now().Add(writeTimeout)) // where there are none, writing may block
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		p.closed = true
		_ = p.stdin.Close()
		go p.end()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errDeaf
		}
		return errEnded
	}
	return nil
}

func (p *process) closeInput() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		_ = p.stdin.Close()
	}
}

// end makes the process end: by itself, then asked, then killed. It returns when it was
// told so, and not when it has; only the first call does anything.
func (p *process) end() {
	if p.ending.Swap(true) {
		return
	}
	p.closeInput()
	go func() {
		for _, next := range []func(*exec.Cmd){terminate, kill} {
			timer := time.NewTimer(p.o.Grace)
			select {
			case <-p.ended:
				timer.Stop()
				return
			case <-timer.C:
				next(p.cmd)
			}
		}
	}()
}
