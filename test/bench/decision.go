package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/strictjson"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/test/bench/measure"
	"github.com/regogate/regogate/test/bench/peers"
)

//go:embed testdata/policy.rego
var policySource string

//go:embed testdata/schema.json
var inputSchema []byte

const (
	tool    = "upload_report"
	authors = 1000 // in the allow list of the policy's data
)

var errDecision = errors.New("not the expected decision")

// A fixture is the policy as files, as a ruleset of ours and as a prepared query of OPA.
type fixture struct {
	dir      string
	rules    policy.Ruleset // by OPA's evaluator
	compiled policy.Ruleset // by the compiled engine
	plain    rego.PreparedEvalQuery
}

// newFixture writes a bundle and loads it both ways.
func newFixture(ctx context.Context, dir string, modules map[string]string, settings any) (*fixture, error) {
	err := writeBundle(dir, modules, settings)
	if err != nil {
		return nil, err
	}
	f := &fixture{dir: dir}
	if f.rules, err = load(ctx, dir, regoeval.Topdown); err != nil {
		return nil, err
	}
	if f.compiled, err = load(ctx, dir, regoeval.Compiled); err != nil {
		return nil, err
	}
	b, err := bundle.NewCustomReader(bundle.NewDirectoryLoader(dir)).WithRegoVersion(ast.RegoV1).Read()
	if err != nil {
		return nil, err
	}
	f.plain, err = rego.New(rego.Query("data.tools."+tool+".deny"), rego.ParsedBundle("b", &b), rego.StrictBuiltinErrors(true)).PrepareForEval(ctx)
	return f, err
}

// writeBundle writes modules and settings as a bundle.
func writeBundle(dir string, modules map[string]string, settings any) error {
	data, err := json.Marshal(map[string]any{"settings": settings})
	if err != nil {
		return err
	}
	files := map[string]string{"data.json": string(data), ".manifest": `{"revision":"bench","roots":["tools","settings"]}`}
	maps.Copy(files, modules)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func load(ctx context.Context, dir string, engine regoeval.Engine) (policy.Ruleset, error) {
	return bundles.Load(ctx, bundles.Options{Bundles: []string{dir}, Engine: engine})
}

// bigArguments are Arguments with rows that the policy doesn't read, of about so many bytes.
func bigArguments(size int) string {
	if size <= len(peers.Arguments) {
		return peers.Arguments
	}
	const row = `{"id":12345,"name":"some customer name","amount":1234.5,"flag":true,"note":"a text of some length, as they are"}`
	rows := strings.Repeat(row+",", (size-len(peers.Arguments))/(len(row)+1)) + row
	return strings.TrimSuffix(peers.Arguments, "}") + `,"rows":[` + rows + `]}`
}

// open is a ruleset that covers every tool and refuses nothing: what remains is reading
// and the schema.
type open struct{}

func (open) Revision() string { return "open" }

func (open) Cover(*policy.Tool) policy.Coverage {
	nothing := policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })
	return policy.Coverage{Deny: nothing, Own: true}
}

// decide returns a subject that decides one call with a gate of its own.
func decide(name string, rules policy.Ruleset, schema []byte, arguments string) (measure.Subject, error) {
	gate, err := policy.NewGate(policy.Options{Arguments: strictjson.Limits{Bytes: 64 << 20}, Schema: policy.SchemaOptions{Steps: 10_000_000}, Timeout: time.Minute}) // a busy machine ends no decision
	if err != nil {
		return measure.Subject{}, err
	}
	gate.Use(rules)
	call := policy.Call{Tool: gate.Tool(policy.ToolSpec{Name: tool, InputSchema: schema, NoSchema: schema == nil}), Arguments: []byte(arguments)}
	ctx := context.Background()
	return measure.Subject{Name: name, Run: func() error {
		if d := gate.Decide(ctx, call); !d.Allowed {
			return fmt.Errorf("%w: %v %w", errDecision, d.Refusals, d.Err)
		}
		return nil
	}}, nil
}

// capturing is a ruleset that keeps the input which a gate shows a ruleset's evaluator. A
// Go validator would get copies in place of the arguments.
type capturing struct {
	open
	in *policy.Input
}

func (c capturing) Cover(*policy.Tool) policy.Coverage {
	keep := policy.ValidatorFunc(func(_ context.Context, got policy.Input) ([]policy.Refusal, error) {
		*c.in = got
		return nil, nil
	})
	return policy.Coverage{Deny: keep, Own: true}
}

// capture returns the input of a deny set for these arguments.
func capture(arguments string) (in policy.Input, err error) {
	gate, err := policy.NewGate(policy.Options{Arguments: strictjson.Limits{Bytes: 64 << 20}})
	if err != nil {
		return in, err
	}
	gate.Use(capturing{in: &in})
	d := gate.Decide(context.Background(), policy.Call{Tool: gate.Tool(policy.ToolSpec{Name: tool, NoSchema: true}), Arguments: []byte(arguments)})
	if !d.Allowed {
		return in, fmt.Errorf("%w: %v", errDecision, d.Refusals)
	}
	return in, nil
}

// rulesOnly returns a subject that asks the deny set alone.
func rulesOnly(name string, rules policy.Ruleset, arguments string) (measure.Subject, error) {
	in, err := capture(arguments)
	if err != nil {
		return measure.Subject{}, err
	}
	gate, err := policy.NewGate(policy.Options{})
	if err != nil {
		return measure.Subject{}, err
	}
	deny := rules.Cover(gate.Tool(policy.ToolSpec{Name: tool, NoSchema: true})).Deny
	if deny == nil {
		return measure.Subject{}, errors.New("no deny set covers the tool")
	}
	ctx := context.Background()
	return measure.Subject{Name: name, Run: func() error {
		if refusals, err := deny.Validate(ctx, in); err != nil || len(refusals) > 0 {
			return fmt.Errorf("%w: %v %w", errDecision, refusals, err)
		}
		return nil
	}}, nil
}

// plainOPA returns the usual way to ask OPA: a prepared query and decoded JSON.
func plainOPA(name string, q rego.PreparedEvalQuery, arguments string) (measure.Subject, error) {
	args, err := peers.Decoded(arguments)
	if err != nil {
		return measure.Subject{}, err
	}
	input := map[string]any{"arguments": args}
	ctx := context.Background()
	return measure.Subject{Name: name, Run: func() error {
		rs, err := q.Eval(ctx, rego.EvalInput(input))
		if err != nil || len(rs) != 1 {
			return fmt.Errorf("%w: %v %w", errDecision, rs, err)
		}
		if denied, ok := rs[0].Expressions[0].Value.([]any); !ok || len(denied) > 0 {
			return fmt.Errorf("%w: %v", errDecision, rs[0].Expressions[0].Value)
		}
		return nil
	}}, nil
}

// peer returns a subject that asks one of the peers about decoded arguments.
func peer(name string, decide peers.Decider, arguments string) (measure.Subject, error) {
	args, err := peers.Decoded(arguments)
	if err != nil {
		return measure.Subject{}, err
	}
	return measure.Subject{Name: name, Run: func() error {
		if refusals, err := decide(args); err != nil || len(refusals) > 0 {
			return fmt.Errorf("%w: %v %w", errDecision, refusals, err)
		}
		return nil
	}}, nil
}

// parse returns a subject that reads the arguments strictly.
func parse(arguments string) measure.Subject {
	raw := []byte(arguments)
	return measure.Subject{Name: "strict parse", Run: func() error {
		_, err := strictjson.ParseObject(raw, strictjson.Limits{Bytes: 64 << 20})
		return err
	}}
}
