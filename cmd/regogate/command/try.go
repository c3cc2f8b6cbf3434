package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/demo"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

const aboutTry = `Show what regogate does, without anything of yours.

An example MCP server is started behind the gate, with the starter bundle and a small
policy of its own, and calls are made through it: real processes, real pipes, a real
client. It exits with 1 when any call comes out otherwise than it should.`

// exampleServer is the hidden command that try starts as its server.
const exampleServer = "example-server"

func newTry() *cobra.Command {
	var f formatFlag
	c := &cobra.Command{
		Use:   "try",
		Short: "Show what regogate does: example server, starter bundle, real calls",
		Long:  aboutTry,
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return try(c, f.json(c.OutOrStdout())) },
	}
	f.register(c, "text")
	c.AddCommand(&cobra.Command{
		Use:    exampleServer,
		Hidden: true,
		Args:   noArgs,
		RunE:   func(c *cobra.Command, _ []string) error { return demo.Serve(c.Context()) },
	})
	return c
}

func try(c *cobra.Command, json bool) error {
	started := time.Now()
	outcomes, revision, err := demonstrate(c)
	if err != nil {
		return fmt.Errorf("try: %w", err)
	}
	wrong := 0
	for _, o := range outcomes {
		if o.Wrong != "" {
			wrong++
			fmt.Fprintf(c.ErrOrStderr(), "try: %s %s: %s\n", o.Case.Tool, o.Case.Arguments, oneLine(o.Wrong))
		}
		if json {
			if err := writeJSON(c.OutOrStdout(), o.Decision); err != nil {
				return fmt.Errorf("try: standard output: %w", err)
			}
		}
	}
	if !json {
		writeOutcomes(c.OutOrStdout(), outcomes)
	}
	fmt.Fprintf(c.ErrOrStderr(), "try: %d calls, %d as they should be, policy %s, %s\n",
		len(outcomes), len(outcomes)-wrong, revision, time.Since(started).Round(time.Millisecond))
	if wrong > 0 {
		return exit(refused)
	}
	return nil
}

// demonstrate makes the calls of the demonstration through a gate of its own.
func demonstrate(c *cobra.Command) (_ []demo.Outcome, revision string, err error) {
	dir, err := os.MkdirTemp("", "regogate-try-")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir)
	if err := demo.WriteBundle(dir); err != nil {
		return nil, "", err
	}
	cfg, err := config.Load(config.Options{Overrides: []config.Override{
		{Key: "bundle", Value: []string{"starter", dir}, From: "try"},
		{Key: "server.name", Value: "example", From: "try"},
	}})
	if err != nil {
		return nil, "", err
	}
	cfg.Limits.Timeout = time.Minute // it isn't about the speed of this machine; steps are bounded as ever
	recorder := demo.NewRecorder()
	s, err := setup.New(c.Context(), cfg, recorder)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	outcomes, err := call(ctx, s, recorder, c.ErrOrStderr())
	return outcomes, s.Rules.Revision(), err
}

// call starts the example server behind the gate and a client in front of it.
func call(ctx context.Context, s *setup.Setup, recorder *demo.Recorder, stderr io.Writer) (outcomes []demo.Outcome, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	gateIn, toGate, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromGate, gateOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, gateIn.Close(), toGate.Close())
	}
	ended := make(chan error, 1)
	go func() {
		_, err := stdioproxy.Run(ctx, stdioproxy.Options{
			Command: []string{self, "try", exampleServer},
			Stdin:   gateIn, Stdout: gateOut, Stderr: stderr,
			Gate: s.Gate, Server: s.Config.Server.Name,
			Hold: stdioproxy.Hold{Timeout: time.Minute},
		})
		ended <- errors.Join(err, gateOut.Close(), gateIn.Close())
	}()
	client, err := demo.Connect(ctx, fromGate, toGate, recorder)
	if err != nil {
		return nil, errors.Join(err, toGate.Close(), <-ended)
	}
	for _, k := range demo.Cases() {
		outcomes = append(outcomes, client.Try(ctx, k))
	}
	return outcomes, errors.Join(client.Close(), <-ended)
}

// writeOutcomes writes the table of what became of each call.
func writeOutcomes(w io.Writer, outcomes []demo.Outcome) {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"call", "decision", "code", "reason", "time"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Name: "call", WidthMax: 40, WidthMaxEnforcer: text.WrapSoft},
		{Name: "reason", WidthMax: 50, WidthMaxEnforcer: text.WrapSoft},
		{Name: "time", Align: text.AlignRight},
	})
	for _, o := range outcomes {
		decision := "refused"
		if o.Decision.Allowed {
			decision = "allowed"
		}
		if o.Wrong != "" {
			decision += " (WRONG)"
		}
		t.AppendRow(table.Row{
			o.Case.Tool + " " + o.Case.Arguments, decision, string(o.Decision.Code()),
			whyOf(o), o.Elapsed.Round(time.Microsecond),
		})
		t.AppendSeparator()
	}
	fmt.Fprintln(w, t.Render())
}

// whyOf is the first reason that the agent is told, and what only the operator is.
func whyOf(o demo.Outcome) string {
	refusals := o.Decision.Refusals
	if len(refusals) == 0 {
		return "(" + o.Case.Why + ")"
	}
	s := reason(refusals[0])
	if more := len(refusals) - 1; more > 0 {
		s += fmt.Sprintf(" (and %d more)", more)
	}
	if o.Decision.Err != nil && o.Decision.Code() == policy.Undecided {
		s += " (for the operator: " + oneLine(o.Decision.Err.Error()) + ")"
	}
	return s
}
