package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/regoeval/lint"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	gateFlags
	files  []string // of tools
	pinned bool
	strict bool
	as     string
}

const aboutVerify = `Find what can be known of a bundle before any call.

The bundle must keep the load-time contract. With the tools that its rules are for,
every rule is checked against the tool's own input schema: arguments that are misspelt
or not declared, types and values that can't be. Rules that say nothing where a value is
absent, null or of another type are warnings, and so are tools without a package,
packages without a tool, rules that nothing reaches, pins that drifted, and habits that
cost or hide something. docs/verify.md explains every finding.

The tools come from --tools (for several servers --tools NAME=FILE, repeated), from a
server that is started and asked (-- COMMAND), or from the bundle's own pins (--pinned,
and without any of these when it has pins).

Exit status: 0 no error; 1 an error, or with --strict a warning; 2 the command could not
do its work.`

func newVerify() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify BUNDLE... [flags] [-- COMMAND [ARG...]]",
		Short: "Find what can be known of a bundle before any call",
		Long:  aboutVerify,
		RunE:  func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.config, "config", "", "configuration `FILE` (.yaml, .yml or .json)")
	fs.StringArrayVar(&f.bundles, "bundle", nil, "policy, as the argument: `DIR`, a .tar.gz, or the word starter; may be repeated")
	fs.StringVar(&f.settings, "settings", "", "JSON `FILE` laid over data.settings")
	fs.StringArrayVar(&f.files, "tools", nil, "tools/list result: `FILE`, or NAME=FILE for one of several servers; may be repeated")
	fs.StringVar(&f.server, "server", "", "what the server is called in the policy: `NAME`, for tools without one")
	fs.BoolVar(&f.pinned, "pinned", false, "check against the tools that the bundle pins")
	fs.BoolVar(&f.strict, "strict", false, "warnings count as errors")
	fs.StringVar(&f.as, "format", "text", "`text`, json or sarif")
	return c
}

func (f *verifyFlags) run(c *cobra.Command, args []string) error {
	named, command := args, []string(nil)
	if i := c.ArgsLenAtDash(); i >= 0 {
		named, command = args[:i], args[i:]
	}
	if err := f.valid(c, command); err != nil {
		return err
	}
	f.bundles = append(f.bundles, named...)
	s, err := f.setup(c)
	if err != nil {
		return err
	}
	report, err := f.verify(c, s, command)
	if err != nil {
		return err
	}
	if err := f.write(c.OutOrStdout(), report); err != nil {
		return fmt.Errorf("verify: standard output: %w", err)
	}
	fmt.Fprintf(c.ErrOrStderr(), "verify: %d errors, %d warnings; %d packages, %d tools%s\n", report.Errors, report.Warnings, report.Packages, report.Tools, f.unknown(report))
	if report.Errors > 0 || f.strict && report.Warnings > 0 {
		return exit(refused)
	}
	return nil
}

func (f *verifyFlags) unknown(r lint.Report) string {
	if r.Tools > 0 {
		return ""
	}
	return ": nothing is known of arguments without --tools, --pinned or -- COMMAND"
}

// valid says which flags contradict each other, or have no value.
func (f *verifyFlags) valid(c *cobra.Command, command []string) error {
	ways := 0
	for _, given := range []bool{len(f.files) > 0, f.pinned, len(command) > 0} {
		if given {
			ways++
		}
	}
	switch {
	case c.ArgsLenAtDash() >= 0 && len(command) == 0:
		return usage{"verify", "no server after --", "give its command: regogate verify BUNDLE -- COMMAND"}
	case ways > 1:
		return usage{"verify", "tools from more than one place", "give --tools, --pinned or -- COMMAND"}
	case f.as != "text" && f.as != "json" && f.as != "sarif":
		return usage{"verify", "--format " + oneLine(f.as), "give text, json or sarif"}
	}
	for _, l := range f.files {
		if name, file, ok := strings.Cut(l, "="); l == "" || ok && (name == "" || file == "") {
			return usage{"verify", fmt.Sprintf("--tools %q", oneLine(l)), "give FILE or NAME=FILE"}
		}
	}
	return nil
}

// setup reads the configuration with the flags laid over it, and makes a gate of it that
// tools can be made with.
func (f *verifyFlags) setup(c *cobra.Command) (*setup.Setup, error) {
	if named := f.bundles; len(named) > 0 && !c.Flags().Changed("bundle") {
		if err := c.Flags().Set("bundle", named[0]); err != nil { // marks it as given
			return nil, err
		}
		f.bundles = named
	}
	f.gateFlags.lists = true
	cfg, err := f.load(c)
	if err != nil {
		return nil, err
	}
	return setup.Prepare(cfg, nil)
}

// verify looks at the bundles. What makes them no bundle at all is a report as well.
func (f *verifyFlags) verify(c *cobra.Command, s *setup.Setup, command []string) (lint.Report, error) {
	o := lint.Options{}
	var err error
	if o.Tools, err = f.tools(c, s, command); err != nil {
		return lint.Report{}, err
	}
	source, err := bundles.Source(c.Context(), setup.BundleOptions(s.Config))
	var broken *regoeval.LoadError
	if errors.As(err, &broken) {
		return lint.Broken(broken.Findings), nil
	}
	if err != nil {
		return lint.Report{}, err
	}
	if len(f.files) == 0 && len(command) == 0 && s.Config.Tools.File == "" {
		o.Pinned = true
		o.Tools, err = lint.PinnedTools(source, s.Gate.Tool)
		if err != nil {
			return lint.Report{}, fmt.Errorf("verify: %w", err)
		}
		if f.pinned && len(o.Tools) == 0 {
			return lint.Report{}, usage{"verify", "--pinned", "the bundle pins no tools: write pins with regogate init, or give --tools FILE"}
		}
	}
	return lint.Verify(c.Context(), source, o)
}

// tools returns the tools of the lists, or of a server that is asked.
func (f *verifyFlags) tools(c *cobra.Command, s *setup.Setup, command []string) ([]*policy.Tool, error) {
	lists := f.files
	if len(lists) == 0 && len(command) == 0 && !f.pinned && s.Config.Tools.File != "" {
		lists = []string{s.Config.Tools.File}
	}
	var out []*policy.Tool
	for _, l := range lists {
		server, file := s.Config.Server.Name, l
		if name, rest, ok := strings.Cut(l, "="); ok {
			server, file = name, rest
		}
		list, err := setup.ReadTools(s.Gate, file)
		if err != nil {
			return nil, err
		}
		all := list.All(server)
		if len(all) == 0 {
			return nil, usage{"verify", "--tools " + file, "the list has no tools: save the server's tools/list result again"}
		}
		out = append(out, all...)
	}
	if len(command) > 0 {
		return ask(c, s, command)
	}
	return out, nil
}

func (f *verifyFlags) write(w io.Writer, r lint.Report) error {
	switch f.as {
	case "sarif":
		return r.WriteSARIF(w, readVersion().Version)
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	out := errWriter{w: w}
	for _, f := range r.Findings {
		out.line("%s", oneLine(f.String()))
	}
	return out.err
}
