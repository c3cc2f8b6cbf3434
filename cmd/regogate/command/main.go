package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// The exit statuses of every command but run, which passes on its server's.
const (
	ok      = 0
	refused = 1
	failed  = 2
)

// Main runs the command line of this process and exits.
func Main() {
	os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run runs one command and returns its exit status. Ending ctx ends the command.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			printError(stderr, fmt.Errorf("a defect of regogate: %v: please report it with the command and its input", p))
			code = failed
		}
	}()
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
