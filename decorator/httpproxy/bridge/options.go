package bridge

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// Options say which server to run and how many of it. Command is required; a zero means
// the default, a negative number is an error.
type Options struct {
	// Command is the server: a program, looked up in PATH, and its arguments.
	Command []string
	Dir     string   // its working directory, "" for the current one
	Env     []string // its environment, nil for that of this process
	// Stderr gets what the processes write to their standard error. nil discards it.
	Stderr io.Writer
	// Processes is how many may run at once, those of the pool included. 0 means 64.
	Processes int
	// Pool is how many of them may serve stateless clients. 0 means 4.
	Pool int
	// Idle is how long a process is kept that has nothing to do. 0 means 30 min.
	Idle time.Duration
	// Pause is the greatest time between two starts of a server that fails. 0 means 30 s.
	Pause time.Duration
	// Start is how long a server may take to answer initialize. 0 means 1 min.
	Start time.Duration
	// Grace is how long a process may go on after its input was closed, before it gets
	// SIGTERM, and after that, before it is killed. 0 means 5 s.
	Grace time.Duration
	// MessageBytes is the greatest length of a message, of either side. 0 means 64 MiB.
	MessageBytes int
	// Logger is told what went wrong. nil is silent.
	Logger *slog.Logger
}

// filled returns o with defaults in place of zeros, or an error for each field that is
// missing or has no meaning.
func (o Options) filled() (Options, error) {
	var errs []error
	if len(o.Command) == 0 || o.Command[0] == "" {
		errs = append(errs, errors.New("bridge: Command is missing"))
	}
	fill(&errs, "Processes", &o.Processes, 64)
	fill(&errs, "Pool", &o.Pool, 4)
	fill(&errs, "Idle", &o.Idle, 30*time.Minute)
	fill(&errs, "Pause", &o.Pause, 30*time.Second)
	fill(&errs, "Start", &o.Start, time.Minute)
	fill(&errs, "Grace", &o.Grace, 5*time.Second)
	fill(&errs, "MessageBytes", &o.MessageBytes, mcpwire.DefaultBytes)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}

func fill[T int | time.Duration](errs *[]error, name string, field *T, def T) {
	if *field < 0 {
		*errs = append(*errs, fmt.Errorf("bridge: %s is negative", name))
	}
	if *field == 0 {
		*field = def
	}
}
