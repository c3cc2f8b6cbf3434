package stdioproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

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

// PassUndecided returns the methods that reach the server without a decision under
// these rules, sorted; see [Options.Methods].
func PassUndecided(rules []MethodRule) ([]string, error) {
	m, err := mcpwire.NewMethods(rules)
	if err != nil {
		return nil, err
	}
	return m.Undecided(), nil
}

// Hold bounds what waits while the server's tools are being learned. Zeros mean defaults.
type Hold struct {
	Calls   int           // calls at once; 0 means 64
	Bytes   int           // of all that waits; 0 means 16 MiB
	Timeout time.Duration // of one call; 0 means 10 s
}

// Options say what to run and how. Command, Stdin, Stdout and Gate are required.
type Options struct {
	// Command is the server: a program, looked up in PATH, and its arguments.
	Command []string
	Dir     string   // its working directory, "" for the current one
	Env     []string // its environment, nil for that of this process
	// Stdin and Stdout are the client's end.
	Stdin  io.Reader
	Stdout io.Writer
	// Stderr gets what the server writes to its standard error, unchanged. nil discards it.
	Stderr io.Writer
	Gate   Decider
	// Ready is called once the server has started and returns when the gate may be
	// asked; nil means that it may be already. Nothing of the client is read before. If
	// it fails the server is killed, and Run returns its error.
	Ready func(context.Context) error
	// Server is the configured name of the server, which policies see.
	Server string
	// Methods are exceptions from what passes undecided by default, which is what the
	// specification lets a client send.
	Methods []MethodRule
	// Signals are passed on to the server. nil passes none on.
	Signals <-chan os.Signal
	// Logger is told what was refused and what went wrong. nil is silent.
	Logger *slog.Logger
	// OnTools is told the tools each time they were learned. It must not block.
	OnTools func([]*policy.Tool)
	Hold    Hold
	// LearnTimeout is how long the server may take to list its tools. 0 means 30 s.
	LearnTimeout time.Duration
	// Grace is how long the server may go on after its standard input was closed,
	// before it gets SIGTERM. 0 means 10 s.
	Grace time.Duration
	// KillGrace is how long it may go on after that, before it is killed, and how long
	// what it wrote may take to reach the client after it ended. 0 means 5 s.
	KillGrace time.Duration
	// MessageBytes is the greatest length of a message by the client. 0 means 64 MiB.
	MessageBytes int
}

const (
	defaultHoldCalls    = 64
	defaultHoldBytes    = 16 << 20
	defaultHoldTimeout  = 10 * time.Second
	defaultLearnTimeout = 30 * time.Second
	defaultGrace        = 10 * time.Second
	defaultKillGrace    = 5 * time.Second
)

// filled returns o with defaults in place of zeros, or an error for each field that
// is missing or has no meaning.
func (o Options) filled() (Options, error) {
	var errs []error
	require := func(name string, ok bool) {
		if !ok {
			errs = append(errs, fmt.Errorf("stdioproxy: %s is missing", name))
		}
	}
	require("Command", len(o.Command) > 0 && o.Command[0] != "")
	require("Stdin", o.Stdin != nil)
	require("Stdout", o.Stdout != nil)
	require("Gate", o.Gate != nil)
	fill(&errs, "Hold.Calls", &o.Hold.Calls, defaultHoldCalls)
	fill(&errs, "Hold.Bytes", &o.Hold.Bytes, defaultHoldBytes)
	fill(&errs, "Hold.Timeout", &o.Hold.Timeout, defaultHoldTimeout)
	fill(&errs, "LearnTimeout", &o.LearnTimeout, defaultLearnTimeout)
	fill(&errs, "Grace", &o.Grace, defaultGrace)
	fill(&errs, "KillGrace", &o.KillGrace, defaultKillGrace)
	fill(&errs, "MessageBytes", &o.MessageBytes, mcpwire.DefaultBytes)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}

func fill[T int | time.Duration](errs *[]error, name string, field *T, def T) {
	if *field < 0 {
		*errs = append(*errs, fmt.Errorf("stdioproxy: %s is negative", name))
	}
	if *field == 0 {
		*field = def
	}
}
