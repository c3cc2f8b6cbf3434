package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/calls"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
)

// maxLine is how long a line may be: any arguments that the gate reads, with each byte
// of them written as \u00XX, and as much again as a caller needs.
func maxLine(cfg config.Config) int { return 6*cfg.Limits.ArgumentBytes + 1<<20 }

// many decides the calls of a file, one after the other.
func (f *checkFlags) many(c *cobra.Command, s *setup.Setup, tools *setup.Tools) error {
	in, closeIn, err := open(c, "--calls", f.calls)
	if err != nil {
		return err
	}
	defer closeIn()
	out := bufio.NewWriterSize(c.OutOrStdout(), 64<<10)
	b := batch{setup: s, tools: tools, out: out, log: c.ErrOrStderr(), json: f.format.json(c.OutOrStdout())}
	b.ctx = policy.WithCaller(c.Context(), s.Caller)
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process, should a read of the input not come back
	err = b.run(ctx, calls.NewReader(in, maxLine(s.Config)))
	if flushErr := out.Flush(); err == nil && flushErr != nil {
		err = fmt.Errorf("check: standard output: %w", flushErr)
	}
	if err != nil {
		return err
	}
	if err := b.summary.WriteText(c.ErrOrStderr(), "check: "); err != nil {
		return fmt.Errorf("check: standard error: %w", err)
	}
	if !b.summary.Good() {
		return exit(refused)
	}
	return nil
}

// batch decides calls and writes one decision a line.
type batch struct {
	setup     *setup.Setup
	tools     *setup.Tools
	out       io.Writer
	log       io.Writer
	json      bool
	ctx       context.Context // with the caller of lines that don't say
	summary   calls.Summary
	explained int
}

// maxExplained is how many calls are explained on standard error.
const maxExplained = 10

func (b *batch) run(ctx context.Context, r *calls.Reader) error {
	for {
		call, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("check: --calls: %w", err)
		case ctx.Err() != nil:
			return fmt.Errorf("check: --calls: line %d: interrupted: the lines before it are decided", call.Line)
		}
		d := b.decide(call)
		if b.json {
			err = writeJSON(b.out, d)
		} else {
			err = writeDecisionLine(b.out, call.Line, d)
		}
		if err != nil {
			return fmt.Errorf("check: standard output: %w", err)
		}
		b.summary.Add(call, d)
		if d.Err != nil && b.explained < maxExplained {
			b.explained++
			explain(b.log, fmt.Sprintf("check: line %d: ", call.Line), d)
		}
	}
}

func (b *batch) decide(call calls.Call) policy.Decision {
	server := call.Server
	if server == "" {
		server = b.setup.Config.Server.Name
	}
	if call.Err != nil {
		return policy.Decision{
			ID: uuid.NewString(), Tool: call.Tool, Server: server, Revision: b.setup.Gate.Revision(),
			Refusals: []policy.Refusal{{Code: policy.Malformed, Message: call.Err.Error()}},
			Warnings: []policy.Refusal{},
		}
	}
	ctx := b.ctx
	if call.Caller != nil {
		ctx = policy.WithCaller(ctx, *call.Caller)
	}
	return b.setup.Gate.Decide(ctx, policy.Call{Tool: b.tools.Get(server, call.Tool), Arguments: call.Arguments})
}
