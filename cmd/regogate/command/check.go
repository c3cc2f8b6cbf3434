package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/calls"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
)

// checkFlags are the flags of check beside those of every gate.
type checkFlags struct {
	gateFlags
	tool          string
	arguments     string
	argumentsFile string
	caller        string
	calls         string
	noSchema      bool
	explain       bool
	explained     explained
}

const aboutCheck = `Decide one call, or many.

One call is named by --tool and --arguments or --arguments-file. Many come from
--calls, one JSON object a line: tool, arguments (or raw_arguments, a string with the
exact bytes), and optionally caller, server and expected ("allow" or "refuse").
Exactly one decision a line goes out, in order; a line that can't be read, also a
blank one, is refused as malformed.

Exit status: 0 allowed; 1 refused, or with expected: a decision differs; 2 the
command could not do its work. In shadow mode, too, it says what the rules say.`

func newCheck() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check (--tool NAME --arguments JSON | --calls FILE) (--tools FILE | --no-schema) --bundle DIR",
		Short: "Decide one call, or many",
		Long:  aboutCheck,
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.gateFlags.register(c)
	fs := c.Flags()
	fs.StringVar(&f.tool, "tool", "", "decide a call of this tool: `NAME`")
	fs.StringVar(&f.arguments, "arguments", "", "the call's arguments: `JSON`, exact bytes")
	fs.StringVar(&f.argumentsFile, "arguments-file", "", "the call's arguments: `FILE`, or - for standard input")
	fs.StringVar(&f.caller, "caller", "", "who calls: `JSON` object of subject, tenant, scopes, claims")
	fs.StringVar(&f.calls, "calls", "", "decide many calls: `FILE` of JSON lines, or - for standard input")
	fs.BoolVar(&f.noSchema, "no-schema", false, "there is no schema to check; the rules still run")
	fs.BoolVar(&f.explain, "explain", false, "say of one call which rules refused it, with which values, or came nearest; for operators only")
	return c
}

func (f *checkFlags) run(c *cobra.Command) error {
	if err := f.valid(c); err != nil {
		return err
	}
	cfg, err := f.load(c)
	if err != nil {
		return err
	}
	if cfg.Tools.File == "" && !f.noSchema {
		return usage{"check", "neither --tools nor --no-schema", "give --tools FILE, or say --no-schema when there is no schema to check"}
	}
	s, err := setup.New(c.Context(), cfg, f.recorder())
	if err != nil {
		return err
	}
	return closing(c, s, f.decide(c, s))
}

// decide decides the calls that the flags name.
func (f *checkFlags) decide(c *cobra.Command, s *setup.Setup) (err error) {
	if c.Flags().Changed("caller") {
		if s.Caller, err = calls.ParseCaller([]byte(f.caller)); err != nil {
			return usage{"check", "--caller", err.Error()}
		}
	}
	tools, err := f.tools(c, s)
	if err != nil {
		return err
	}
	if f.calls != "" {
		return f.many(c, s, tools)
	}
	return f.one(c, s, tools)
}

// valid says which flags contradict each other, or are missing.
func (f *checkFlags) valid(c *cobra.Command) error {
	given := c.Flags().Changed
	one := given("tool") || given("arguments") || given("arguments-file")
	switch {
	case given("calls") && one:
		return usage{"check", "--calls and one call", "give --calls alone, or --tool with its arguments"}
	case given("calls") && f.explain:
		return usage{"check", "--explain with --calls", "explain one call: give --tool with its arguments"}
	case given("calls") && f.calls == "":
		return usage{"check", "--calls has no value", "give it a file, or -"}
	case given("tools") && f.noSchema:
		return usage{"check", "both --tools and --no-schema", "give one of them"}
	case given("calls"):
		return nil
	case f.tool == "":
		return usage{"check", "no call", "give --tool NAME with --arguments, or --calls FILE"}
	case given("arguments") == given("arguments-file"):
		return usage{"check", "--tool " + f.tool, "give either --arguments JSON or --arguments-file FILE"}
	case given("arguments-file") && f.argumentsFile == "":
		return usage{"check", "--arguments-file has no value", "give it a file, or -"}
	}
	return nil
}

// tools reads the tools and says which of them can't be checked.
func (f *checkFlags) tools(c *cobra.Command, s *setup.Setup) (*setup.Tools, error) {
	if f.noSchema {
		return setup.NoSchema(s.Gate), nil
	}
	tools, err := setup.ReadTools(s.Gate, s.Config.Tools.File)
	if err != nil {
		return nil, err
	}
	all, unusable := tools.All(s.Config.Server.Name), 0
	for _, t := range all {
		if err := t.SchemaErr(); err != nil {
			unusable++
			fmt.Fprintf(c.ErrOrStderr(), "check: unusable schema: %s\n", oneLine(err.Error()))
		}
	}
	fmt.Fprintf(c.ErrOrStderr(), "check: %d tools, %d with an unusable schema: %s\n", len(all), unusable, s.Config.Tools.File)
	return tools, nil
}

// one decides the call that the flags name.
func (f *checkFlags) one(c *cobra.Command, s *setup.Setup, tools *setup.Tools) error {
	arguments, err := f.readArguments(c, s.Config)
	if err != nil {
		return err
	}
	d := s.Gate.Decide(policy.WithCaller(c.Context(), s.Caller), policy.Call{
		Tool:      tools.Get(s.Config.Server.Name, f.tool),
		Arguments: arguments,
	})
	out := c.OutOrStdout()
	if f.format.json(out) {
		err = writeJSON(out, d)
	} else {
		err = writeDecision(out, d)
	}
	if err != nil {
		return fmt.Errorf("check: standard output: %w", err)
	}
	explain(c.ErrOrStderr(), "check: ", d)
	if f.explain {
		if err := f.explained.write(c.Context(), c.ErrOrStderr()); err != nil {
			return fmt.Errorf("check: --explain: %w", err)
		}
	}
	if !d.Allowed {
		return exit(refused)
	}
	return nil
}

// readArguments returns the exact bytes. It reads one byte more than the gate accepts,
// so that the gate says that they are too many.
func (f *checkFlags) readArguments(c *cobra.Command, cfg config.Config) ([]byte, error) {
	if f.argumentsFile == "" {
		return []byte(f.arguments), nil
	}
	in, closeIn, err := open(c, "--arguments-file", f.argumentsFile)
	if err != nil {
		return nil, err
	}
	defer closeIn()
	data, err := io.ReadAll(io.LimitReader(in, int64(cfg.Limits.ArgumentBytes)+1))
	if err != nil {
		return nil, fmt.Errorf("check: --arguments-file: %w", err)
	}
	return data, nil
}

// open opens a file that a flag names, or standard input for -.
func open(c *cobra.Command, flag, name string) (io.Reader, func(), error) {
	if name == "-" {
		return c.InOrStdin(), func() {}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		var at *os.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, nil, usage{"check", flag + " " + name, err.Error() + ": give a file that can be read"}
	}
	return file, func() { file.Close() }, nil
}

// recorder is who keeps what there is to explain, nil where nobody asks.
func (f *checkFlags) recorder() policy.Recorder {
	if !f.explain {
		return nil
	}
	return &f.explained
}
