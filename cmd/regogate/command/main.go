package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit statuses of every command but run, which passes on its server's.
const (
	ok      = 0
	refused = 1
	failed  = 2
)

// Main runs the command line of this process and exits.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// Run runs one command and returns its exit status. Ending ctx ends the command.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var status exit
	switch {
	case err == nil:
		return ok
	case errors.As(err, &status):
		return int(status)
	default:
		printError(stderr, err)
		return failed
	}
}

// exit is a command's exit status where everything has been said already.
type exit int

// Error implements error.
func (exit) Error() string { return "" }
