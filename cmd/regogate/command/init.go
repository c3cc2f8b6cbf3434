package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/bundles/authoring/skeleton"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
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
		Use:   "init [flags] (--tools FILE | --starter DIR)",
		Short: "Write a bundle skeleton from a server's own tools",
		Long:  aboutInit,
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.output, "output", "policy", "where to write the bundle: `DIR`")
	fs.StringVar(&f.tools, "tools", "", "tools/list result: JSON `FILE`")
	fs.StringVar(&f.server, "server", "", "what the server is called in the policy: `NAME`")
	fs.StringVar(&f.byDefault, "default", "refuse", "what becomes of calls whose tool nobody has reviewed: `refuse` or allow")
	fs.BoolVar(&f.updatePins, "update-pins", false, "accept what the server declares otherwise than it is pinned")
	fs.StringVar(&f.starter, "starter", "", "copy the starter bundle into `DIR`, and nothing else")
	f.format.register(c, "text")
	return c
}

func (f *initFlags) run(c *cobra.Command) error {
	if err := f.valid(c); err != nil {
		return err
	}
	if f.starter != "" {
		r, err := skeleton.WriteStarter(f.starter)
		if err != nil {
			return fmt.Errorf("init: %w", err)
		}
		return f.report(c, r)
	}
	specs, err := f.read()
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
	return f.report(c, r)
}

// valid says which flags contradict each other, or are missing.
func (f *initFlags) valid(c *cobra.Command) error {
	given := c.Flags().Changed
	for _, name := range []string{"output", "tools", "server", "starter"} {
		if given(name) && c.Flags().Lookup(name).Value.String() == "" {
			return usage{"init", "--" + name + " has no value", "give it one, or leave it out"}
		}
	}
	switch {
	case f.byDefault != "refuse" && f.byDefault != "allow":
		return usage{"init", "--default " + f.byDefault, "give refuse or allow"}
	case f.starter != "":
		for _, name := range []string{"tools", "server", "output", "default", "update-pins"} {
			if given(name) {
				return usage{"init", "both --starter and --" + name, "--starter copies the starter bundle and does nothing else"}
			}
		}
		return nil
	case f.tools == "":
		return usage{"init", "no tools", "give a tools/list result with --tools FILE"}
	}
	return nil
}

// read returns the tools to write a bundle for.
func (f *initFlags) read() ([]policy.ToolSpec, error) {
	return readSpecs(f.tools, f.server)
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
