package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/regogate/regogate/test/bench/measure"
	"github.com/regogate/regogate/test/bench/peers"
)

// subjects collects subjects, and keeps one that can't be made as one that can't run.
type subjects struct{ list []measure.Subject }

func (s *subjects) add(name string, x measure.Subject, err error) {
	if err != nil {
		x = measure.Subject{Run: func() error { return err }}
	}
	x.Name = name
	s.list = append(s.list, x)
}

func folder(o options, name string) (string, error) {
	dir := filepath.Join(o.dir, name)
	return dir, os.MkdirAll(dir, 0o755)
}

const (
	namePlain  = "plain OPA: PreparedEvalQuery.Eval(EvalInput)"
	nameREST   = "OPA server over loopback REST"
	nameParse  = "strict parse"
	nameSchema = "strict parse + schema"
	nameRules  = "rules, topdown"
	nameWhole  = "whole decision: parse + schema + rules, topdown"
	nameFast   = "rules, compiled"
	nameWholeC = "whole decision: parse + schema + rules, compiled"
	nameCEL    = "cel-go, 16 programs"
	nameCedar  = "cedar-go, 15 policies"
	nameHand   = "Go written by hand"
)

// benchSubjects makes the subjects of a section that is measured in this process.
func benchSubjects(ctx context.Context, dir, name string) (list []measure.Subject, stop func(), err error) {
	o := options{dir: dir}
	switch name {
	case "decision":
		return decisionSubjects(ctx, o)
	case "large":
		list, err = largeSubjects(ctx, o)
	case "rules":
		list, err = rulesSubjects(ctx, o)
	default:
		err = fmt.Errorf("no section %q", name)
	}
	return list, func() {}, err
}

func decisionSubjects(ctx context.Context, o options) (list []measure.Subject, stop func(), err error) {
	stop = func() {}
	dir, err := folder(o, "decision")
	if err != nil {
		return nil, stop, err
	}
	settings := peers.Settings(authors)
	f, err := newFixture(ctx, dir, map[string]string{"policy.rego": policySource}, settings)
	if err != nil {
		return nil, stop, err
	}
	var s subjects
	x, err := plainOPA("", f.plain, peers.Arguments)
	s.add(namePlain, x, err)
	s.add(nameParse, parse(peers.Arguments), nil)
	x, err = decide("", open{}, inputSchema, peers.Arguments)
	s.add(nameSchema, x, err)
	x, err = rulesOnly("", f.rules, peers.Arguments)
	s.add(nameRules, x, err)
	x, err = decide("", f.rules, inputSchema, peers.Arguments)
	s.add(nameWhole, x, err)
	x, err = rulesOnly("", f.compiled, peers.Arguments)
	s.add(nameFast, x, err)
	x, err = decide("", f.compiled, inputSchema, peers.Arguments)
	s.add(nameWholeC, x, err)
	x, end, err := opaREST(dir, peers.Arguments)
	if err == nil {
		stop = end
	}
	s.add(nameREST, x, err)
	cel, err := peers.CEL(settings)
	if err == nil {
		x, err = peer("", cel, peers.Arguments)
	}
	s.add(nameCEL, x, err)
	cedar, err := peers.Cedar(authors)
	if err == nil {
		x, err = peer("", cedar, peers.Arguments)
	}
	s.add(nameCedar, x, err)
	x, err = peer("", peers.Hand(authors), peers.Arguments)
	s.add(nameHand, x, err)
	return s.list, stop, nil
}

func decisionSection(ctx context.Context, o options) (report, error) {
	list, stop, err := decisionSubjects(ctx, o)
	defer stop()
	if err != nil {
		return report{}, err
	}
	return report{
		results: measure.Interleaved(o.Options, list),
		compare: []comparison{
			{of: nameWhole, to: namePlain, goal: 1.25}, {of: nameWhole, to: nameREST, goal: 0.6},
			{of: nameRules, to: namePlain}, {of: nameRules, to: nameCEL}, {of: nameRules, to: nameCedar}, {of: nameRules, to: nameHand},
			{of: nameFast, to: nameRules, goal: 0.1}, {of: nameFast, to: nameCEL, goal: 0.3}, {of: nameFast, to: nameCedar, goal: 0.5},
			{of: nameFast, to: nameHand, goal: 1.6}, {of: nameWholeC, to: namePlain, goal: 0.5},
		},
	}, nil
}

func largeSubjects(ctx context.Context, o options) ([]measure.Subject, error) {
	dir, err := folder(o, "large")
	if err != nil {
		return nil, err
	}
	f, err := newFixture(ctx, dir, map[string]string{"policy.rego": policySource}, peers.Settings(authors))
	if err != nil {
		return nil, err
	}
	arguments := bigArguments(5_000_000)
	var s subjects
	x, err := plainOPA("", f.plain, arguments)
	s.add(namePlain, x, err)
	x, err = rulesOnly("", f.rules, arguments)
	s.add(nameRules, x, err)
	x, err = rulesOnly("", f.compiled, arguments)
	s.add(nameFast, x, err)
	s.add(nameParse, parse(arguments), nil)
	x, err = decide("", f.rules, inputSchema, arguments)
	s.add(nameWhole, x, err)
	return s.list, nil
}

func largeSection(ctx context.Context, o options) (report, error) {
	list, err := largeSubjects(ctx, o)
	if err != nil {
		return report{}, err
	}
	return report{results: measure.Interleaved(o.Options, list), compare: []comparison{{of: nameRules, to: namePlain, goal: 0.01}, {of: nameFast, to: namePlain, goal: 0.01}, {of: nameWhole, to: namePlain}}}, nil
}

// equalityRules are rules that compare required, typed arguments with constants.
func equalityRules(n int) string {
	var b strings.Builder
	b.WriteString("package tools." + tool + "\n\nimport rego.v2\n")
	for i := range n {
		fmt.Fprintf(&b, "\ndeny contains \"no %d\" if {\n\tinput.arguments.department == \"department-%d\"\n\tinput.arguments.state == \"final\"\n}\n", i, i)
	}
	return b.String()
}

func withRules(n int, what string) string { return fmt.Sprintf("%s, %d rules", what, n) }

func rulesSubjects(ctx context.Context, o options) ([]measure.Subject, error) {
	var s subjects
	for _, n := range []int{10, 1000} {
		dir, err := folder(o, fmt.Sprintf("rules%d", n))
		if err != nil {
			return nil, err
		}
		f, err := newFixture(ctx, dir, map[string]string{"policy.rego": equalityRules(n)}, peers.Settings(10))
		if err != nil {
			return nil, err
		}
		x, err := rulesWith(f.rules, inputSchema, peers.Arguments)
		s.add(withRules(n, nameRules), x, err)
		x, err = rulesWith(f.compiled, inputSchema, peers.Arguments)
		s.add(withRules(n, nameFast), x, err)
		x, err = plainOPA("", f.plain, peers.Arguments)
		s.add(withRules(n, "plain OPA, indexed"), x, err)
	}
	return s.list, nil
}

func rulesSection(ctx context.Context, o options) (report, error) {
	list, err := rulesSubjects(ctx, o)
	if err != nil {
		return report{}, err
	}
	return report{
		results: measure.Interleaved(o.Options, list),
		compare: []comparison{
			{of: withRules(1000, nameRules), to: withRules(10, nameRules), goal: 2},
			{of: withRules(1000, nameRules), to: withRules(1000, "plain OPA, indexed")},
			{of: withRules(1000, nameFast), to: withRules(10, nameFast), goal: 2},
			{of: withRules(1000, nameFast), to: withRules(1000, "plain OPA, indexed"), goal: 1.5},
		},
	}, nil
}

func stdioSection(_ context.Context, o options) (report, error) {
	self, err := os.Executable()
	if err != nil {
		return report{}, err
	}
	gate, err := buildGate(o.dir)
	if err != nil {
		return report{}, err
	}
	bundle, err := oneRuleBundle(o.dir)
	if err != nil {
		return report{}, err
	}
	config := filepath.Join(o.dir, "compiled.yaml")
	if err := os.WriteFile(config, []byte("engine: compiled\n"), 0o600); err != nil {
		return report{}, err
	}
	const direct, relay, gated, fast = "the server itself", "behind a bare byte relay", "behind regogate run", "behind regogate run, engine: compiled"
	commands := map[string][]string{
		direct: {self, "echo-stdio"},
		relay:  {self, "relay-stdio", self, "echo-stdio"},
		gated:  {gate, "run", "--bundle", bundle, "--", self, "echo-stdio"},
		fast:   {gate, "run", "--config", config, "--bundle", bundle, "--", self, "echo-stdio"},
	}
	var s subjects
	for _, name := range []string{direct, relay, gated, fast} {
		x, stop, err := overStdio(name, 100, commands[name]...)
		if err == nil {
			defer stop()
		}
		s.add(name, x, err)
	}
	return report{results: measure.Interleaved(o.Options, s.list), compare: []comparison{{of: gated, to: relay, goal: 1.25}, {of: fast, to: relay, goal: 1.25}, {of: gated, to: direct}, {of: relay, to: direct}}}, nil
}

func httpSection(_ context.Context, o options) (report, error) {
	gate, err := buildGate(o.dir)
	if err != nil {
		return report{}, err
	}
	bundle, err := oneRuleBundle(o.dir)
	if err != nil {
		return report{}, err
	}
	server, err := freeAddress()
	if err != nil {
		return report{}, err
	}
	stop, err := startSelf(server, "echo-http", server)
	if err != nil {
		return report{}, err
	}
	defer stop()
	const direct, relay, gated = "the server itself", "behind a bare httputil.ReverseProxy", "behind regogate serve"
	upstream := "http://" + server + "/mcp"
	var s subjects
	x, err := overHTTP(direct, 100, upstream)
	s.add(direct, x, err)
	for _, name := range []string{relay, gated} {
		address, err := freeAddress()
		if err != nil {
			return report{}, err
		}
		if name == relay {
			stop, err = startSelf(address, "relay-http", address, "http://"+server)
		} else {
			stop, err = start(address, gate, "serve", "--bundle", bundle, "--listen", address, "--upstream", upstream)
		}
		if err == nil {
			defer stop()
			x, err = overHTTP(name, 100, "http://"+address+"/mcp")
		}
		s.add(name, x, err)
	}
	return report{results: measure.Interleaved(o.Options, s.list), compare: []comparison{{of: gated, to: relay, goal: 1.25}, {of: gated, to: direct}, {of: relay, to: direct}}}, nil
}

var errNoDeny = errors.New("no deny set covers the tool")
