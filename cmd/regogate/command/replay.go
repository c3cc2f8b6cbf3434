package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/bundles/authoring/replay"
	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
)

// replayFlags are the flags of replay beside those of every gate.
type replayFlags struct {
	gateFlags
	against  []string
	failOn   string
	noSchema bool
}

const aboutReplay = `Say which past decisions would change.

Every call of a decision log (regogate's or OPA's own, also gzipped, - for standard
input) is decided again by the policy that --bundle names, at the time at which it was
made; no tool runs. What it is compared with is the record, or the policy that --against
names. Calls of which something was masked or left out can't be decided again and are
counted.

The tools come from --tools, or from pinned/data.json of the bundle; --no-schema says
that there are none to check against.

Exit status: 0 the log was read; 1 it has broken lines, or with --fail-on widen: a call
that was refused would be allowed; 2 the command could not do its work.`

func newReplay() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay LOG --bundle NEW [--against OLD] [--tools FILE | --no-schema] [--fail-on widen]",
		Short: "Say which past decisions would change",
		Long:  aboutReplay,
		RunE:  func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	f.gateFlags.register(c)
	fs := c.Flags()
	fs.StringArrayVar(&f.against, "against", nil, "compare with this policy and not with the records: as --bundle")
	fs.StringVar(&f.failOn, "fail-on", "", "`widen`: exit with 1 when a call that was refused would be allowed")
	fs.BoolVar(&f.noSchema, "no-schema", false, "there is no schema to check; the rules still run")
	return c
}

func (f *replayFlags) run(c *cobra.Command, args []string) error {
	switch {
	case len(args) != 1 || args[0] == "":
		return usage{"replay", "want one log", "name a file with decision records, or -"}
	case f.failOn != "" && f.failOn != "widen":
		return usage{"replay", fmt.Sprintf("--fail-on %q", f.failOn), "say widen, or leave it out"}
	case c.Flags().Changed("tools") && f.noSchema:
		return usage{"replay", "both --tools and --no-schema", "give one of them"}
	}
	cfg, err := f.load(c)
	if err != nil {
		return err
	}
	cfg.DecisionLog = config.DecisionLog{} // what is decided here happened before
	o := replay.Options{Progress: progress(c.ErrOrStderr())}
	if o.New, err = f.side(c, cfg, nil); err != nil {
		return err
	}
	if len(f.against) > 0 {
		cfg.Bundle = f.against
		old, err := f.side(c, cfg, nil)
		if err != nil {
			return err
		}
		o.Old = &old
	}
	in, closeIn, err := open(c, "replay", args[0])
	if err != nil {
		return err
	}
	defer closeIn()
	ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process, should a read of the input not come back
	report, err := replay.Run(ctx, in, o)
	if writeErr := f.write(c, report); writeErr != nil {
		return fmt.Errorf("replay: standard output: %w", writeErr)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("replay: %s: interrupted: the report is about the records before", args[0])
	case err != nil:
		return fmt.Errorf("replay: %s: %w: the report is about the records before", args[0], err)
	case report.Broken > 0, f.failOn == "widen" && report.Widens():
		return exit(refused)
	}
	return nil
}

// side makes a gate of a configuration, and reads the tools.
func (f *replayFlags) side(c *cobra.Command, cfg config.Config, recorder policy.Recorder) (replay.Side, error) {
	s, err := setup.New(c.Context(), cfg, recorder)
	if err != nil {
		return replay.Side{}, err
	}
	side := replay.Side{Gate: s.Gate, NoSchema: f.noSchema}
	file := cfg.Tools.File
	for _, b := range cfg.Bundle {
		pinned := filepath.Join(b, "pinned", "data.json")
		if _, err := os.Stat(pinned); file == "" && err == nil {
			file = pinned
		}
	}
	switch {
	case f.noSchema:
		return side, nil
	case file == "":
		return side, usage{"replay", "no tools", "give --tools FILE, a bundle with pinned tools, or say --no-schema when there is no schema to check"}
	}
	tools, err := setup.ReadTools(s.Gate, file)
	if err != nil {
		return side, err
	}
	for _, t := range tools.All("") {
		side.Tools = append(side.Tools, t.Spec())
	}
	return side, nil
}

// progress says how far it is, now and then.
func progress(w io.Writer) func(int64) {
	const often = 2 * time.Second
	began := time.Now()
	last := began
	return func(records int64) {
		if now := time.Now(); now.Sub(last) >= often {
			last = now
			fmt.Fprintf(w, "replay: %d records, %.0f/s\n", records, float64(records)/now.Sub(began).Seconds())
		}
	}
}

func (f *replayFlags) write(c *cobra.Command, r replay.Report) error {
	out := c.OutOrStdout()
	for _, b := range r.BrokenLines {
		fmt.Fprintf(c.ErrOrStderr(), "replay: line %d is skipped: %s\n", b.Line, oneLine(b.Why))
	}
	if more := r.Broken - int64(len(r.BrokenLines)); more > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "replay: and %d more lines are skipped\n", more)
	}
	fmt.Fprintf(c.ErrOrStderr(), "replay: %s\n", r.Summary())
	if f.format.json(out) {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		return e.Encode(r)
	}
	var b strings.Builder
	for _, t := range r.Transitions {
		code := t.Code
		if code == "" {
			code = policy.Denied
		}
		fmt.Fprintf(&b, "%s → %s  %d × %s  %s: %s\n", t.From, t.To, t.Count, oneLine(strings.TrimPrefix(t.Server+"/"+t.Tool, "/")), code, oneLine(t.Rule))
		fmt.Fprintf(&b, "    line %d, decision %s: %s\n", t.Example.Line, oneLine(t.Example.DecisionID), oneLine(t.Example.Arguments))
	}
	if len(r.Transitions) == 0 {
		b.WriteString("no decision changes\n")
	}
	for _, reason := range []replay.Reason{replay.Masked, replay.NotRecorded, replay.WasMalformed, replay.WasNotReady, replay.NoVerdict} {
		if n := r.NotReplayable[reason]; n > 0 {
			fmt.Fprintf(&b, "not replayable, %s: %d\n", reason, n)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
