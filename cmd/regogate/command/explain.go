package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/bundles/authoring/replay"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

const aboutExplain = `Say why a decision of the past was as it was.

The decision is looked for in a decision log by its id. With --bundle its call is decided
again, without running any tool, and every rule is named that refuses it, with file, line
and the values that it looked at; of a call that is allowed, the rules that came nearest.
What is said quotes arguments: it is for operators only.

Exit status: 0 it was allowed; 1 it was refused; 2 the command could not do its work.`

func newExplain() *cobra.Command {
	var f replayFlags
	var id string
	c := &cobra.Command{
		Use:   "explain --decision ID LOG [--bundle DIR [--tools FILE | --no-schema]]",
		Short: "Say which rule refused, where, and why",
		Long:  aboutExplain,
		RunE:  func(c *cobra.Command, args []string) error { return f.explain(c, id, args) },
	}
	f.gateFlags.register(c)
	c.Flags().StringVar(&id, "decision", "", "the decision's `ID`")
	c.Flags().BoolVar(&f.noSchema, "no-schema", false, "there is no schema to check; the rules still run")
	return c
}

func (f *replayFlags) explain(c *cobra.Command, id string, args []string) error {
	switch {
	case id == "":
		return usage{"explain", "no decision", "give --decision ID"}
	case len(args) != 1 || args[0] == "":
		return usage{"explain", "want one log", "name a file with decision records, or -"}
	}
	cfg, err := f.load(c)
	if err != nil {
		return err
	}
	in, closeIn, err := open(c, "explain", args[0])
	if err != nil {
		return err
	}
	defer closeIn()
	past, found, err := replay.Find(in, id)
	switch {
	case err != nil:
		return fmt.Errorf("explain: %s: %w", args[0], err)
	case !found:
		return usage{"explain", fmt.Sprintf("%s has no decision %q", args[0], id), "look into the rotated files beside it, .1 and so on"}
	}
	out := c.OutOrStdout()
	d := policy.Decision{ID: id, Tool: past.Tool, Server: past.Server, Allowed: past.Allowed, Effective: past.Allowed, Refusals: past.Refusals}
	fmt.Fprintf(out, "%s:%d: as it was recorded\n", args[0], past.Line)
	if err := writeDecision(out, d); err != nil {
		return fmt.Errorf("explain: standard output: %w", err)
	}
	if len(cfg.Bundle) > 0 {
		if err := f.explainAgain(c, cfg, past); err != nil {
			return err
		}
	}
	if !past.Allowed {
		return exit(refused)
	}
	return nil
}

// explainAgain decides the call by the rules that are there now, and explains that.
func (f *replayFlags) explainAgain(c *cobra.Command, cfg config.Config, past replay.Past) error {
	if past.Reason != "" {
		fmt.Fprintf(c.OutOrStdout(), "its call can't be decided again: %s\n", past.Reason)
		return nil
	}
	cfg.DecisionLog = config.DecisionLog{}
	var e explained
	side, err := f.side(c, cfg, &e)
	if err != nil {
		return err
	}
	d := past.Decide(c.Context(), side)
	fmt.Fprintln(c.OutOrStdout(), "by the policy as it is now")
	if err := writeDecision(c.OutOrStdout(), d); err != nil {
		return fmt.Errorf("explain: standard output: %w", err)
	}
	explain(c.ErrOrStderr(), "explain: ", d)
	if err := e.write(c.Context(), c.OutOrStdout()); err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	return nil
}

// explained keeps the last decision, to explain it afterwards.
type explained struct{ record policy.Record }

// Record implements policy.Recorder.
func (e *explained) Record(_ context.Context, r policy.Record) { e.record = r }

// nearest is how many rules are named that didn't refuse.
const nearest = 5

// write says which rules refused, or came nearest.
func (e *explained) write(ctx context.Context, w io.Writer) error {
	code := e.record.Decision.Code()
	rules, ok := e.record.Rules.(interface {
		Explain(context.Context, policy.Input) ([]regoeval.Explanation, error)
	})
	if !ok || !e.record.Parsed || code != "" && code != policy.Denied && code != policy.Undecided {
		_, err := fmt.Fprintln(w, "  no rule was asked: it was decided before")
		return err
	}
	list, err := rules.Explain(ctx, e.record.Input)
	var b strings.Builder
	others := 0
	for _, x := range list {
		if !x.Refused {
			if others++; others > nearest {
				continue
			}
		}
		writeExplanation(&b, x)
	}
	if more := others - nearest; more > 0 {
		fmt.Fprintf(&b, "  and %d more rules that don't refuse it\n", more)
	}
	_, writeErr := io.WriteString(w, b.String())
	return errors.Join(err, writeErr)
}

func writeExplanation(b *strings.Builder, x regoeval.Explanation) {
	if x.Refused {
		fmt.Fprintf(b, "  %s:%d refuses: %s\n", x.File, x.Line, oneLine(x.Rule))
	} else {
		fmt.Fprintf(b, "  %s:%d doesn't refuse: %s\n", x.File, x.Line, oneLine(x.Rule))
		if x.Failed != "" {
			fmt.Fprintf(b, "      line %d doesn't hold: %s\n", x.FailedLine, oneLine(x.Failed))
		}
	}
	for _, v := range x.Values {
		fmt.Fprintf(b, "      %s = %s\n", oneLine(v.Name), oneLine(v.Value))
	}
}
