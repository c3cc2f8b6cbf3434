package stdioproxy_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/stdioproxy"
)

func TestExitStatus(t *testing.T) {
	t.Run("after the end of input", func(t *testing.T) {
		x := newSession(t, script{OnEOF: "exit 3"}, nil)
		require.Equal(t, 3, x.end())
		require.NoError(t, x.err)
		for range x.lines {
		}
		require.Equal(t, "last words", x.rest)
	})
	t.Run("while the client's input is open", func(t *testing.T) {
		x := newSession(t, script{Pages: [][]string{{"die"}}, ExitAfter: "die"}, nil)
		x.handshake()
		x.send(callLine("1", "die"))
		require.Equal(t, 7, x.wait())
		require.NoError(t, x.err)
	})
	t.Run("by a signal that is passed on", func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		x := newSession(t, script{}, func(o *stdioproxy.Options) { o.Signals = signals })
		x.handshake()
		signals <- syscall.SIGTERM
		require.Equal(t, 128+15, x.wait())
	})
	t.Run("closed signals", func(t *testing.T) {
		signals := make(chan os.Signal)
		close(signals)
		x := newSession(t, script{}, func(o *stdioproxy.Options) { o.Signals = signals })
		x.handshake()
		require.Zero(t, x.end())
	})
}

func TestServerThatDoesNotEnd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM here")
	}
	for name, c := range map[string]struct {
		ignoreTERM bool
		status     int
	}{
		"terminated": {false, 128 + 15},
		"killed":     {true, 128 + 9},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSession(t, script{OnEOF: "ignore", IgnoreTERM: c.ignoreTERM}, func(o *stdioproxy.Options) {
				o.Grace, o.KillGrace = 100*time.Millisecond, 200*time.Millisecond
			})
			x.handshake()
			require.Equal(t, c.status, x.end())
			require.NoError(t, x.err)
		})
	}
	t.Run("context", func(t *testing.T) {
		x := newSession(t, script{OnEOF: "ignore", Pages: [][]string{{"ok"}}, ListNever: true}, func(o *stdioproxy.Options) {
			o.Grace, o.KillGrace = 50*time.Millisecond, 200*time.Millisecond
		})
		x.handshake()
		x.send(callLine("1", "ok")) // waits
		x.cancel()
		require.Equal(t, 128+15, x.wait())
		require.ErrorIs(t, x.err, context.Canceled)
	})
}

func TestServerThatCannotStart(t *testing.T) {
	for name, argv := range map[string][]string{
		"not there":      {"no-such-program-of-ours"},
		"a directory":    {os.TempDir()},
		"nothing at all": nil,
		"an empty name":  {""},
	} {
		t.Run(name, func(t *testing.T) {
			status, err := stdioproxy.Run(context.Background(), stdioproxy.Options{Command: argv, Stdin: strings.NewReader(""), Stdout: io.Discard, Gate: &decider{}})
			require.Error(t, err)
			require.Equal(t, -1, status)
			if len(argv) > 0 && argv[0] != "" {
				require.Contains(t, err.Error(), argv[0])
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	argv, env := command(t, script{})
	good := stdioproxy.Options{Command: argv, Env: env, Stdin: strings.NewReader(""), Stdout: io.Discard, Gate: &decider{}}
	status, err := stdioproxy.Run(context.Background(), good)
	require.NoError(t, err)
	require.Zero(t, status)
	for name, change := range map[string]func(*stdioproxy.Options){
		"Stdin":         func(o *stdioproxy.Options) { o.Stdin = nil },
		"Stdout":        func(o *stdioproxy.Options) { o.Stdout = nil },
		"Gate":          func(o *stdioproxy.Options) { o.Gate = nil },
		"Hold.Calls":    func(o *stdioproxy.Options) { o.Hold.Calls = -1 },
		"Hold.Timeout":  func(o *stdioproxy.Options) { o.Hold.Timeout = -1 },
		"MessageBytes":  func(o *stdioproxy.Options) { o.MessageBytes = -1 },
		"methods[0]":    func(o *stdioproxy.Options) { o.Methods = []stdioproxy.MethodRule{{Name: "x", Action: "allow"}} },
		"LearnTimeout ": func(o *stdioproxy.Options) { o.LearnTimeout = -1 },
	} {
		o := good
		change(&o)
		_, err := stdioproxy.Run(context.Background(), o)
		require.ErrorContains(t, err, name)
	}
}

func TestStandardErrorIsPassedOn(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell here")
	}
	x := newSession(t, script{}, func(o *stdioproxy.Options) {
		o.Command = []string{"/bin/sh", "-c", `printf 'to\r\nstderr' >&2; printf 'to stdout'; exit 5`}
	})
	require.Equal(t, 5, x.wait())
	require.Equal(t, "to\r\nstderr", x.stderr.String())
	for range x.lines {
	}
	require.Equal(t, "to stdout", x.rest)
}

// A server that has closed its input, or its output, is of no use any more.
func TestServerThatClosesAStream(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell here")
	}
	for name, command := range map[string]string{
		"input":  `exec 0<&-; echo closed; sleep 30`,
		"output": `echo closed; exec 1>&-; sleep 30`,
	} {
		t.Run(name, func(t *testing.T) {
			x := newSession(t, script{}, func(o *stdioproxy.Options) {
				o.Command = []string{"/bin/sh", "-c", command}
				o.Grace, o.KillGrace = 100*time.Millisecond, 100*time.Millisecond
			})
			require.Equal(t, "closed\n", x.next())
			x.send(initialize)
			if name == "input" {
				require.Eventually(t, func() bool { return strings.Contains(x.log.String(), "doesn't read its input") }, patience, 10*time.Millisecond)
				require.NoError(t, x.in.Close())
			}
			require.Equal(t, 128+15, x.wait())
		})
	}
}

// What a server wrote before it ended reaches a client that takes its time.
func TestLastWordsToASlowClient(t *testing.T) {
	argv, env := command(t, script{Pages: [][]string{{"big"}}, OnEOF: "exit 4"})
	outR, outW := io.Pipe()
	done := make(chan int)
	in := initialize + initialized + callLine("1", "big")
	go func() {
		status, _ := stdioproxy.Run(context.Background(), stdioproxy.Options{Command: argv, Env: env, Stdin: strings.NewReader(in), Stdout: outW, Gate: &decider{},
			KillGrace: 100 * time.Millisecond})
		_ = outW.Close()
		done <- status
	}()
	total, buffer := 0, make([]byte, 1<<20)
	for i := 0; ; i++ {
		if i < 5 {
			time.Sleep(250 * time.Millisecond)
		}
		n, err := outR.Read(buffer)
		total += n
		if err != nil {
			break
		}
	}
	require.Greater(t, total, bigResult)
	require.True(t, strings.HasSuffix(string(buffer[:len("last words")]), "last words"))
	require.Equal(t, 4, <-done)
}

// A child that the server leaves behind keeps its output open, and nobody waiting.
func TestOrphanWithTheServersOutput(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell here")
	}
	x := newSession(t, script{}, func(o *stdioproxy.Options) {
		o.Command = []string{"/bin/sh", "-c", `sleep 30 & echo done; exit 0`}
		o.KillGrace = 200 * time.Millisecond
	})
	require.Zero(t, x.wait())
	require.Equal(t, "done\n", x.next())
}

// A client that goes away takes the server with it.
func TestClientThatDoesNotRead(t *testing.T) {
	argv, env := command(t, script{Pages: [][]string{{"ok"}}})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan int)
	go func() {
		status, _ := stdioproxy.Run(context.Background(), stdioproxy.Options{Command: argv, Env: env, Stdin: inR, Stdout: outW, Gate: &decider{},
			Grace: 100 * time.Millisecond, KillGrace: 100 * time.Millisecond})
		done <- status
	}()
	_, err := io.WriteString(inW, initialize)
	require.NoError(t, err)
	require.NoError(t, outR.Close())
	select {
	case <-done:
	case <-time.After(patience):
		require.FailNow(t, "Run doesn't return")
	}
	require.NoError(t, inW.Close())
}

// Much in both directions at once, with a client that reads slowly.
func TestNoDeadlockUnderPressure(t *testing.T) {
	const calls = 3000
	x := newSession(t, script{Pages: [][]string{{"ok", "deny_it"}}}, nil)
	x.handshake()
	x.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok"}}` + "\n")
	x.requireRan("1", "ok") // the tools are known, so that nothing is refused for waiting too long
	padding := strings.Repeat("p", 2000)
	go func() {
		for i := range calls {
			tool := "ok"
			if i%3 == 0 {
				tool = "deny_it"
			}
			_, err := io.WriteString(x.in, `{"jsonrpc":"2.0","id":`+string(rune('0'+i%10))+`,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"p":"`+padding+`"}}}`+"\n")
			if err != nil {
				return
			}
		}
	}()
	ran, refused := 0, 0
	for i := range calls {
		if i%500 == 0 {
			time.Sleep(20 * time.Millisecond)
		}
		if strings.Contains(x.next(), `"isError":true`) {
			refused++
		} else {
			ran++
		}
	}
	require.Equal(t, calls/3, refused)
	require.Equal(t, calls-calls/3, ran)
	require.Zero(t, x.end())
}

// A server that starts while the gate is being made ready hears nothing before, and is
// gone if that fails.
func TestServerStartsWhileTheGateIsMadeReady(t *testing.T) {
	ready := make(chan struct{})
	x := newSession(t, script{Pages: [][]string{{"ok"}}}, func(o *stdioproxy.Options) {
		o.Ready = func(context.Context) error {
			<-ready
			return nil
		}
	})
	var isReady atomic.Bool
	time.AfterFunc(50*time.Millisecond, func() {
		isReady.Store(true)
		close(ready)
	})
	x.send(initialize) // waits until it is read
	require.True(t, isReady.Load(), "the client is not read before the gate is ready")
	require.Contains(t, x.next(), `"result"`)
	require.Zero(t, x.end())

	broken := errors.New("no policy")
	status, err := stdioproxy.Run(context.Background(), stdioproxy.Options{
		Command: []string{"sleep", "600"},
		Stdin:   strings.NewReader(initialize),
		Stdout:  io.Discard,
		Gate:    &decider{},
		Ready:   func(context.Context) error { return broken },
	})
	require.ErrorIs(t, err, broken)
	require.Equal(t, -1, status)
}
