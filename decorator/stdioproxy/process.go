package stdioproxy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A process is the server, with the gate's ends of its pipes.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	exited chan struct{} // closed when the process has ended
	err    error         // why its end can't be told; valid after exited
}

// start starts the server. The pipes are files of our own, so that waiting for the
// process doesn't wait for, or cut off, what it wrote.
func start(o *Options) (*process, error) {
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = o.Dir, o.Env, o.Stderr
	cmd.WaitDelay = o.KillGrace // for a child of the server that keeps its standard error open
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", o.Command[0], err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server %q: %w", o.Command[0], err), inRead.Close(), inWrite.Close())
	}
	cmd.Stdin, cmd.Stdout = inRead, outWrite
	err = cmd.Start()
	closed := errors.Join(inRead.Close(), outWrite.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server %q could not be started: %w", o.Command[0], err), inWrite.Close(), outRead.Close())
	}
	p := &process{cmd: cmd, stdin: inWrite, stdout: outRead, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		err := cmd.Wait()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
			p.err = errors.Join(err, closed)
		}
	}()
	return p, nil
}

// status is the process's exit status as a shell has it: 128 and the signal's number
// when a signal ended it.
func (p *process) status() int {
	state := p.cmd.ProcessState
	if state == nil {
		return -1
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// closeInput tells the server that nothing more will come. It may be called again.
func (p *process) closeInput() { _ = p.stdin.Close() }

// signal passes a signal on. One that can't be sent to a process that has ended, or
// not on this system, is not an error worth a word.
func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// terminate asks the process to end.
func (p *process) terminate() {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.kill()
	}
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }

// discard ends a process that nothing was said to.
func (p *process) discard() {
	p.kill()
	p.closeInput()
	_ = p.stdout.Close()
	<-p.exited
}

// end waits for the process to end by itself, asks it to, and then makes it.
func (p *process) end(grace, killGrace time.Duration) {
	select {
	case <-p.exited:
		return
	case <-time.After(grace):
		p.terminate()
	}
	select {
	case <-p.exited:
	case <-time.After(killGrace):
		p.kill()
	}
}
