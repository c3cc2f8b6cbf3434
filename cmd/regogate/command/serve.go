package command

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/report"
	"github.com/regogate/regogate/cmd/regogate/internal/serve"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/decorator/httpproxy"
)

const aboutServe = `Gate an MCP server over Streamable HTTP.

The server is one that speaks Streamable HTTP itself (--upstream), or a command that
talks over standard input and output: then each session gets a process of its own, and
stateless clients share a few.

Calls that the policy allows reach the server byte for byte as they came; the others
are answered in its place. It listens on this machine only, unless --listen says
otherwise, and beyond it only with TLS. SIGTERM lets requests finish and then exits
with 0; a second one doesn't wait.`

func newServe() *cobra.Command {
	var f gateFlags
	var listen, upstream, admin string
	c := &cobra.Command{
		Use:   "serve [flags] --upstream URL | -- COMMAND [ARG...]",
		Short: "Gate an MCP server over Streamable HTTP",
		Long:  aboutServe,
		RunE: func(c *cobra.Command, args []string) error {
			f.more = []flagOverride{{"listen", "listen.address", listen}, {"upstream", "upstream.url", upstream}, {"admin", "admin.listen", admin}}
			return runServe(c, &f, args)
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&upstream, "upstream", "", "the server's endpoint: http or https `URL`")
	c.Flags().StringVar(&listen, "listen", "", "where to listen: `HOST:PORT` (default 127.0.0.1:8080); port 0 takes a free one")
	f.register(c)
	registerAdmin(c, &admin)
	c.Flags().Lookup("format").Usage = "of the log: text or json; `auto` is text"
	c.Flags().Lookup("tools").Usage = "tools/list result to report on before anything listens: JSON `FILE`"
	c.Flags().SetInterspersed(false) // what follows the server's name is the server's
	return c
}

func runServe(c *cobra.Command, f *gateFlags, command []string) error {
	cfg, err := f.load(c)
	if err != nil {
		return err
	}
	if err := oneServer(cfg, command); err != nil {
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
	return closing(c, s, gateHTTP(reloader{c, f, s, r}, watched, command))
}

// gateHTTP checks everything that can be known before, listens, reports, and serves
// until it is told to end.
func gateHTTP(reload reloader, watched *observation, command []string) error {
	c, s, r := reload.c, reload.s, reload.r
	passes, err := httpproxy.PassUndecided(methods(s.Config))
	if err != nil {
		return setup.Attribute(s.Config, err)
	}
	plan, err := serve.Prepare(serve.Options{
		Config: s.Config, Command: command, Gate: s.Gate, Caller: s.Caller, Stderr: c.ErrOrStderr(),
		Logger: r.Logger(), OnTools: watched.tools(s.Gate),
	})
	if err != nil {
		return err
	}
	defer plan.Close()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !reload.reloads() {
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	r.Shadow(s)
	watched.live.WillServe()
	unlisten, err := watched.listen(s, passes)
	if err != nil {
		return err
	}
	defer unlisten()
	stop, err := watched.watch(c.Context(), s)
	if err != nil {
		return err
	}
	defer stop()
	server, err := plan.Start(c.Context())
	if err != nil {
		return err
	}
	r.Start(s, passes)
	if err := reportFile(s, r); err != nil {
		return errors.Join(err, server.Close())
	}
	defer reload.run(c.Context())()
	r.Serving(server.Facts())
	watched.live.Serving(server.Facts(), server.Ready)
	if err := server.Run(c.Context(), signals); err != nil {
		return err
	}
	r.Logger().Info("shut down")
	return nil
}

// oneServer refuses none and two.
func oneServer(cfg config.Config, command []string) error {
	switch {
	case len(command) == 0 && cfg.Upstream.URL == "":
		return usage{"serve", "no server", "give --upstream URL, or a command after --: regogate serve --bundle DIR -- COMMAND"}
	case len(command) > 0 && cfg.Upstream.URL != "":
		return usage{"serve", "two servers", "give either --upstream or a command"}
	}
	return nil
}
