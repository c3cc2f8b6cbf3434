package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/bundles/authoring/skeleton"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/decorator/toolsource"
	"github.com/regogate/regogate/policy"
)

// initFlags are the flags of init.
type initFlags struct {
	output     string
	tools      string
	server     string
	starter    string
	byDefault  string
	updatePins bool
	upstream   string
	headers    []string
	timeout    time.Duration
	format     formatFlag
}

const aboutInit = `Write a bundle skeleton from a server's own tools.

There is a package for each tool, with its arguments as comments, tests that pass,
data.json for settings, and the tools pinned below pinned/. Calls of a tool are refused
until data.json says that its rules have been reviewed.

Run again, it adds the tools that are new and changes nothing that is yours. What the
server declares otherwise than it is pinned is reported; --update-pins accepts it.

Exit status: 0 the bundle is there; 1 something differs from its pin, or a part of the
bundle can't work; 2 nothing could be written.`

func newInit() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init [flags] (--tools FILE | --upstream URL | -- COMMAND [ARG...] | --starter DIR)",
		Short: "Write a bundle skeleton from a server's own tools",
		Long:  aboutInit,
		RunE:  func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.output, "output", "policy", "where to write the bundle: `DIR`")
	fs.StringVar(&f.tools, "tools", "", "tools/list result: JSON `FILE`")
	fs.StringVar(&f.upstream, "upstream", "", "ask the server at this `URL` (Streamable HTTP)")
	fs.StringArrayVar(&f.headers, "header", nil, "send it with every request to --upstream: `'NAME: VALUE'`; may be repeated")
	fs.DurationVar(&f.timeout, "timeout", toolsource.DefaultTimeout, "how long the server may take: `TIME`")
	fs.StringVar(&f.server, "server", "", "what the server is called in the policy: `NAME`")
	fs.StringVar(&f.byDefault, "default", "refuse", "what becomes of calls whose tool nobody has reviewed: `refuse` or allow")
	fs.BoolVar(&f.updatePins, "update-pins", false, "accept what the server declares otherwise than it is pinned")
	fs.StringVar(&f.starter, "starter", "", "copy the starter bundle into `DIR`, and nothing else")
	f.format.register(c, "text")
	fs.SetInterspersed(false) // what follows the server's name is the server's
	return c
}

func (f *initFlags) run(c *cobra.Command, command []string) error {
	if err := f.valid(c, command); err != nil {
		return err
	}
	if f.starter != "" {
		r, err := skeleton.WriteStarter(f.starter)
		if err != nil {
			return fmt.Errorf("init: %w", err)
		}
		return f.report(c, r)
	}
	specs, unreadable, err := f.read(c, command)
	if err != nil {
		return err
	}
	r, err := skeleton.Write(skeleton.Options{
		Dir: f.output, Server: f.server, Tools: specs, Allow: f.byDefault == "allow", UpdatePins: f.updatePins,
	})
	if errors.Is(err, skeleton.ErrNoTools) {
		return usage{"init", err.Error(), "there is nothing to write rules for: look whether the server is configured and logged in as it will be used, and has tools at all"}
	}
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if unreadable != nil {
		for line := range strings.SplitSeq(unreadable.Error(), "\n") {
			r.Problems = append(r.Problems, "the server lists something that is no tool: "+line)
		}
	}
	return f.report(c, r)
}

// valid says which flags contradict each other, or are missing.
func (f *initFlags) valid(c *cobra.Command, command []string) error {
	given := c.Flags().Changed
	for _, name := range []string{"output", "tools", "server", "starter", "upstream"} {
		if given(name) && c.Flags().Lookup(name).Value.String() == "" {
			return usage{"init", "--" + name + " has no value", "give it one, or leave it out"}
		}
	}
	switch {
	case f.byDefault != "refuse" && f.byDefault != "allow":
		return usage{"init", "--default " + f.byDefault, "give refuse or allow"}
	case f.starter != "":
		if len(command) > 0 {
			return usage{"init", "both --starter and a command", "--starter copies the starter bundle and does nothing else"}
		}
		for _, name := range []string{"tools", "upstream", "server", "output", "default", "update-pins"} {
			if given(name) {
				return usage{"init", "both --starter and --" + name, "--starter copies the starter bundle and does nothing else"}
			}
		}
		return nil
	case given("header") && !given("upstream"):
		return usage{"init", "--header without --upstream", "headers go to an HTTP server"}
	case f.timeout <= 0:
		return usage{"init", "--timeout " + f.timeout.String(), "give a time, as in 30s"}
	}
	switch sources := btoi(given("tools")) + btoi(given("upstream")) + btoi(len(command) > 0); sources {
	case 1:
		return nil
	case 0:
		return usage{"init", "no tools", "give a tools/list result with --tools FILE, a server with --upstream URL, or the command of one after --"}
	default:
		return usage{"init", "the tools come from several places", "give one of --tools FILE, --upstream URL and a command after --"}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// read returns the tools to write a bundle for, and what of the list is none.
func (f *initFlags) read(c *cobra.Command, command []string) (specs []policy.ToolSpec, unreadable, err error) {
	if f.tools != "" {
		specs, err = readSpecs(f.tools, f.server)
		return specs, nil, err
	}
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var list toolsource.List
	if f.upstream != "" {
		var header http.Header
		if header, err = parseHeaders(f.headers); err != nil {
			return nil, nil, err
		}
		list, err = toolsource.HTTP(ctx, toolsource.HTTPOptions{URL: f.upstream, Header: header, Server: f.server, Timeout: f.timeout})
	} else {
		list, err = toolsource.Stdio(ctx, toolsource.StdioOptions{Command: command, Stderr: c.ErrOrStderr(), Server: f.server, Timeout: f.timeout})
	}
	if err != nil {
		return nil, nil, usage{"init", "the server's tools can't be listed", err.Error()}
	}
	return list.Tools, list.Unreadable, nil
}

// headerName and headerValue are what HTTP allows.
var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerValue = regexp.MustCompile(`^[\x20-\x7e\x80-\x{10ffff}\t]*$`)
)

// parseHeaders reads NAME: VALUE. What it says of a bad one doesn't repeat it: it may be
// a secret.
func parseHeaders(lines []string) (http.Header, error) {
	h := http.Header{}
	for i, line := range lines {
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || !headerName.MatchString(name) || !headerValue.MatchString(value) {
			return nil, usage{"init", fmt.Sprintf("--header number %d", i+1), "write it as 'Authorization: Bearer TOKEN'"}
		}
		h.Add(name, value)
	}
	return h, nil
}

// readSpecs reads a tools/list result from a file.
func readSpecs(file, server string) ([]policy.ToolSpec, error) {
	gate, err := policy.NewGate(policy.Options{})
	if err != nil {
		return nil, err
	}
	tools, err := setup.ReadTools(gate, file)
	if err != nil {
		return nil, err
	}
	var specs []policy.ToolSpec
	for _, t := range tools.All(server) {
		specs = append(specs, t.Spec())
	}
	return specs, nil
}

// report writes what was done, and says whether somebody has to look at something.
func (f *initFlags) report(c *cobra.Command, r skeleton.Report) error {
	var err error
	if f.format.json(c.OutOrStdout()) {
		e := json.NewEncoder(c.OutOrStdout())
		e.SetEscapeHTML(false)
		err = e.Encode(r)
	} else {
		err = writeReport(c.OutOrStdout(), r, f.starter == "")
	}
	if err != nil {
		return fmt.Errorf("init: standard output: %w", err)
	}
	for _, p := range r.Problems {
		fmt.Fprintln(c.ErrOrStderr(), "init: "+oneLine(p))
	}
	if !r.Clean() {
		return exit(refused)
	}
	return nil
}

func writeReport(w io.Writer, r skeleton.Report, ownTools bool) error {
	out := errWriter{w: w}
	out.line("%s: %d files written, %d kept", oneLine(r.Dir), len(r.Written), r.Kept)
	if !ownTools {
		return out.err
	}
	out.line("tools: %d listed, %d new, %d pinned", r.Tools, len(r.Added), len(r.Pinned))
	for _, d := range r.Drift {
		line := fmt.Sprintf("%-12s %s", d.What, oneLine(d.Tool))
		for i, a := range d.Arguments {
			sep := "; "
			if i == 0 {
				sep = ": "
			}
			line += sep + oneLine(a)
		}
		out.line("%s", line)
	}
	switch {
	case len(r.Drift) > 0 && r.Updated:
		out.line("the pins are those of the server now: review the rules of these tools")
	case len(r.Drift) > 0:
		out.line("next: review the rules of these tools, then accept with --update-pins")
	}
	for _, n := range r.Notes {
		out.line("note: %s", oneLine(n))
	}
	if len(r.Written) > 0 && len(r.Drift) == 0 {
		out.line("next: write the rules in %s/tools, then say in %[1]s/data.json which tools have been reviewed", oneLine(r.Dir))
	}
	return out.err
}

// errWriter writes lines until one fails.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) line(format string, args ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, format+"\n", args...)
	}
}
