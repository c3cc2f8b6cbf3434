package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const about = `regogate refuses bad tool calls of AI agents before they run.

A call is decided by the tool's own input schema and by a policy written in Rego;
what can't be decided is refused.

Exit status: 0 allowed, 1 refused, 2 the command could not do its work. run passes
on the exit status of its server.`

// newRoot returns the whole command line. Nothing of it outlives one run.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "regogate",
		Short:         "Refuse bad tool calls before they run",
		Long:          about,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE:          noCommand,
		CompletionOptions: cobra.CompletionOptions{
			DisableDefaultCmd: true,
		},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage{oneLine(err.Error()), c.CommandPath(), "see " + c.CommandPath() + " --help"}
	})
	root.AddCommand(newCheck(), newExplain(), newInit(), newReplay(), newRun(), newServe(), newStatus(), newTest(), newTry(), newVerify(), newVersion())
	root.SetHelpCommand(newHelp(root))
	return root
}

// newHelp replaces cobra's own help command, which prints usage for what it doesn't know.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say more about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(root, args)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

// noCommand is what regogate does when no command of it is named.
func noCommand(root *cobra.Command, args []string) error {
	names := []string{}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	fix := "use one of " + strings.Join(names, ", ")
	if len(args) == 0 {
		return usage{"no command", "", fix + ", or see regogate --help"}
	}
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		fix = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage{fmt.Sprintf("unknown command %q", args[0]), "", fix}
}

// noArgs refuses arguments to a command that takes none.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage{fmt.Sprintf("unexpected argument %q", args[0]), c.CommandPath(), "see " + c.CommandPath() + " --help"}
	}
	return nil
}
