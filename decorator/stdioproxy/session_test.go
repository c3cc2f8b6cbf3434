package stdioproxy_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

// A decider refuses every tool whose name begins with "deny", and keeps what it was asked.
type decider struct {
	mu    sync.Mutex
	calls []policy.Call
}

func (d *decider) Tool(spec policy.ToolSpec) *policy.Tool { return policy.NewNoopGate().Tool(spec) }

func (d *decider) Decide(_ context.Context, call policy.Call) policy.Decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	if call.Tool.Unlearned() == nil { // of the others there is nothing to decide
		d.calls = append(d.calls, call)
	}
	dec := policy.Decision{ID: "d", Tool: call.Tool.Name()}
	switch {
	case call.Tool.Unlearned() != nil:
		dec.Refusals = []policy.Refusal{{Code: policy.NotReady, Message: "not known yet"}}
		dec.Err = call.Tool.Unlearned()
	case !call.Tool.Known():
		dec.Refusals = []policy.Refusal{{Code: policy.UnknownTool, Message: "the server declares no such tool"}}
	case strings.HasPrefix(call.Tool.Name(), "deny"):
		dec.Refusals = []policy.Refusal{{Code: policy.Denied, Message: "not this one"}}
	case strings.HasPrefix(call.Tool.Name(), "panic"):
		panic("of the gate")
	case strings.HasPrefix(call.Tool.Name(), "shadow"):
		dec.Refusals = []policy.Refusal{{Code: policy.Denied, Message: "not yet"}}
		dec.Effective = true
	default:
		dec.Allowed, dec.Effective = true, true
	}
	return dec
}

func (d *decider) asked() []policy.Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]policy.Call(nil), d.calls...)
}

// A lockedBuffer is a log that two sides use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A session is a client in front of a gate in front of a fake server.
type session struct {
	t      *testing.T
	gate   *decider
	log    *lockedBuffer
	stderr *lockedBuffer
	record string
	cancel context.CancelFunc

	in    *io.PipeWriter
	lines chan string
	rest  string // what came after the last line ending, when the output has ended
	done  chan struct{}

	status int
	err    error
}

const patience = time.Minute

func newSession(t *testing.T, s script, change func(*stdioproxy.Options)) *session {
	t.Helper()
	s.Record = filepath.Join(t.TempDir(), "record")
	argv, env := command(t, s)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	x := &session{t: t, gate: &decider{}, log: &lockedBuffer{}, stderr: &lockedBuffer{}, record: s.Record,
		in: inW, lines: make(chan string, 10_000), done: make(chan struct{})}
	o := stdioproxy.Options{
		Command: argv, Env: env, Stdin: inR, Stdout: outW, Stderr: x.stderr, Gate: x.gate, Server: "fake",
		Logger: slog.New(slog.NewTextHandler(x.log, nil)),
		Grace:  patience, KillGrace: time.Second,
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(policy.WithCaller(context.Background(), policy.Caller{Subject: "ann"}))
	x.cancel = cancel
	go func() {
		x.status, x.err = stdioproxy.Run(ctx, o)
		_ = outW.Close()
		close(x.done)
	}()
	go x.read(outR)
	t.Cleanup(func() {
		cancel()
		_ = inW.Close()
		select {
		case <-x.done:
		case <-time.After(patience):
			t.Error("Run doesn't return")
		}
		_ = inR.Close()
		goleak.VerifyNone(t)
	})
	return x
}

func (x *session) read(r io.Reader) {
	defer close(x.lines)
	for b := bufio.NewReaderSize(r, 1<<20); ; {
		line, err := b.ReadString('\n')
		if err != nil {
			x.rest = line
			return
		}
		x.lines <- line
	}
}

func (x *session) send(lines ...string) {
	x.t.Helper()
	for _, l := range lines {
		_, err := io.WriteString(x.in, l)
		require.NoError(x.t, err)
	}
}

func (x *session) next() string {
	x.t.Helper()
	select {
	case l, ok := <-x.lines:
		require.True(x.t, ok, "the output has ended; log:\n%s", x.log)
		return l
	case <-time.After(patience):
		require.FailNow(x.t, "nothing comes", "log:\n%s", x.log)
		return ""
	}
}

// nothing checks that no line comes for a while.
func (x *session) nothing() {
	x.t.Helper()
	select {
	case l, ok := <-x.lines:
		require.False(x.t, ok, "came: %s", l)
	case <-time.After(150 * time.Millisecond):
	}
}

// end closes the client's end and returns the exit status.
func (x *session) end() int {
	x.t.Helper()
	require.NoError(x.t, x.in.Close())
	return x.wait()
}

func (x *session) wait() int {
	x.t.Helper()
	select {
	case <-x.done:
		return x.status
	case <-time.After(patience):
		require.FailNow(x.t, "Run doesn't return", "log:\n%s", x.log)
		return 0
	}
}

// recordText returns what the server has read.
func (x *session) recordText() string {
	x.t.Helper()
	b, err := os.ReadFile(x.record)
	require.NoError(x.t, err)
	return string(b)
}

// received returns what the server has read of the client, and how many requests of
// the gate's own there were.
func (x *session) received() (client string, own int) {
	x.t.Helper()
	for _, l := range strings.SplitAfter(x.recordText(), "\n") {
		if strings.Contains(l, `"id":"regogate-`) {
			own++
			continue
		}
		client += l
	}
	return client, own
}

const (
	initialize  = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
)

// handshake does what a client does first.
func (x *session) handshake() {
	x.t.Helper()
	x.send(initialize)
	require.Contains(x.t, x.next(), `"serverInfo"`)
	x.send(initialized)
}

func callLine(id, tool string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}` + "\n"
}

// An answer is what a client sees of an answer.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result *struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Meta map[string]struct {
			Refusals []policy.Refusal `json:"refusals"`
		} `json:"_meta"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (x *session) answer(id string) answer {
	x.t.Helper()
	line := x.next()
	var a answer
	require.NoError(x.t, json.Unmarshal([]byte(line), &a), line)
	require.Equal(x.t, id, string(a.ID), line)
	return a
}

func (x *session) requireRan(id, tool string) {
	x.t.Helper()
	a := x.answer(id)
	require.NotNil(x.t, a.Result)
	require.False(x.t, a.Result.IsError, a.Result.Content)
	require.Contains(x.t, a.Result.Content[0].Text, "ran "+tool+" ")
}

func (x *session) requireRefused(id string, code policy.Code) {
	x.t.Helper()
	a := x.answer(id)
	require.NotNil(x.t, a.Result, "error: %v", a.Error)
	require.True(x.t, a.Result.IsError, a.Result.Content)
	require.Equal(x.t, code, a.Result.Meta["io.regogate/decision"].Refusals[0].Code)
}

func (x *session) requireError(id string, code int) {
	x.t.Helper()
	a := x.answer(id)
	require.NotNil(x.t, a.Error)
	require.Equal(x.t, code, a.Error.Code, a.Error.Message)
}
