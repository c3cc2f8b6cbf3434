package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/report"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

const aboutRun = `Gate an MCP server that talks over standard input and output.

The server is started behind the gate, once the policy is loaded. Calls that the
policy allows reach it byte for byte as they came; the others are answered in its
place. What is on, what is off, what decides each tool and what was refused is told on
standard error, without what arguments say.

The bundles are followed: a new revision is in force as soon as it is there and good.
With --config, SIGHUP reads the configuration again, for mode and shadow.until; without
it, SIGHUP is passed on to the server like SIGTERM.

run exits with the server's own exit status, or with 2 when it could not start the
gate; then the server wasn't started either.`

func newRun() *cobra.Command {
	var f gateFlags
	var admin string
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Gate a stdio MCP server",
		Long:  aboutRun,
		RunE: func(c *cobra.Command, args []string) error {
			f.more = []flagOverride{{"admin", "admin.listen", admin}}
			return runServer(c, &f, args)
		},
	}
	f.register(c)
	registerAdmin(c, &admin)
	c.Flags().Lookup("format").Usage = "of the log: text or json; `auto` is text"
	c.Flags().Lookup("tools").Usage = "tools/list result to report on before the server starts: JSON `FILE`"
	c.Flags().SetInterspersed(false) // what follows the server's name is the server's
	return c
}

func runServer(c *cobra.Command, f *gateFlags, command []string) error {
	if len(command) == 0 {
		return usage{"run", "no server", "give its command after --: regogate run --bundle DIR -- COMMAND"}
	}
	cfg, err := f.load(c)
	if err != nil {
		return err
	}
	json := f.format == "json"
	log := report.NewAsync(c.ErrOrStderr(), json)
	defer log.Close()
	r := report.New(log, json)
	watched, err := observe(cfg, r)
	if err != nil {
		return err
	}
	defer watched.close()
	s, err := setup.Prepare(cfg, watched.recorder())
	if err != nil {
		return err
	}
	return closing(c, s, gateServer(reloader{c, f, s, r}, watched, command))
}

// gateServer loads the policy, reports, and runs the server behind the gate.
func gateServer(reload reloader, watched *observation, command []string) error {
	c, s, r := reload.c, reload.s, reload.r
	cfg := s.Config
	passes, err := stdioproxy.PassUndecided(methods(cfg))
	if err != nil {
		return setup.Attribute(cfg, err)
	}
	r.Shadow(s)
	unlisten, err := watched.listen(s, passes)
	if err != nil {
		return err
	}
	defer unlisten()
	stop := func() {}
	defer func() { stop() }()
	load := func(ctx context.Context) error {
		end, err := watched.watch(ctx, s)
		if err != nil {
			return err
		}
		stop = end
		r.Start(s, passes)
		return reportFile(s, r)
	}
	if s.Certain() && cfg.Tools.File == "" {
		// Nothing can be wrong with what is loaded, so the server may start meanwhile. It
		// hears nothing from the client before.
		return gateStdio(reload, watched.tools(s.Gate), command, load)
	}
	if err := load(c.Context()); err != nil {
		return err
	}
	return gateStdio(reload, watched.tools(s.Gate), command, nil)
}

// reportFile reports on the tools of the file that the configuration names.
func reportFile(s *setup.Setup, r *report.Report) error {
	if s.Config.Tools.File == "" {
		return nil
	}
	tools, err := setup.ReadTools(s.Gate, s.Config.Tools.File)
	if err != nil {
		return err
	}
	for _, t := range tools.All(s.Config.Server.Name) {
		r.Tool(s.Gate, t)
	}
	return nil
}

// gateStdio runs the server behind the gate until it ends.
func gateStdio(reload reloader, onTools func([]*policy.Tool), command []string, ready func(context.Context) error) error {
	c, s, r := reload.c, reload.s, reload.r
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !reload.reloads() {
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	defer reload.run(c.Context())()
	var notReady error
	if load := ready; load != nil {
		ready = func(ctx context.Context) error {
			notReady = load(ctx)
			return notReady
		}
	}
	status, err := stdioproxy.Run(policy.WithCaller(c.Context(), s.Caller), stdioproxy.Options{
		Command: command,
		Stdin:   c.InOrStdin(),
		Stdout:  c.OutOrStdout(),
		Stderr:  c.ErrOrStderr(),
		Gate:    s.Gate,
		Ready:   ready,
		Server:  s.Config.Server.Name,
		Methods: methods(s.Config),
		Signals: signals,
		Logger:  r.Logger(),
		OnTools: onTools,
		Hold:    stdioproxy.Hold(s.Config.Hold),
	})
	switch {
	case notReady != nil:
		return notReady
	case status < 0:
		return usage{"run", strings.TrimPrefix(err.Error(), "stdioproxy: "), "give a command that can be started"}
	case err != nil && !errors.Is(err, context.Canceled):
		r.Logger().Error("the gate ended", "error", oneLine(err.Error()))
	}
	return exit(status)
}

func methods(cfg config.Config) []stdioproxy.MethodRule {
	var rules []stdioproxy.MethodRule
	for _, m := range cfg.Methods {
		rules = append(rules, stdioproxy.MethodRule{Name: m.Name, Action: m.Action})
	}
	return rules
}
