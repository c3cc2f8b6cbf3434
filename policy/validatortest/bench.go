package validatortest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regogate/regogate/policy"
)

// A bench is where one validator is asked.
type bench struct {
	o         Options
	ctx       context.Context
	enforcing *policy.Gate // has the validator behind the schema
	open      *policy.Gate // hands out what is asked, without the schema check
	tool      *policy.Tool
	asked     atomic.Int64 // by enforcing
	schema    *schemaReader
	mu        sync.Mutex
	first     map[string]string // what the first answer to each call was
}

// noRules is a ruleset without rules.
type noRules struct{}

func (noRules) Revision() string { return "validatortest" }

func (noRules) Cover(*policy.Tool) policy.Coverage { return policy.Coverage{} }

type sinkKey struct{}

func newBench(o Options) (*bench, error) {
	if f, isFunc := o.Validator.(policy.ValidatorFunc); o.Validator == nil || isFunc && f == nil {
		return nil, errors.New("validatortest: Options.Validator is nil")
	}
	if o.Tool.Name == "" {
		return nil, errors.New("validatortest: Options.Tool has no name")
	}
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	b := &bench{o: o, first: map[string]string{}, ctx: policy.WithCaller(context.Background(), o.Caller)}
	var err error
	b.enforcing, err = gate(policy.SchemaOptions{}, func(context.Context, policy.Input) ([]policy.Refusal, error) {
		b.asked.Add(1)
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	b.open, err = gate(policy.SchemaOptions{SkipEnforce: true}, func(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
		if sink, ok := ctx.Value(sinkKey{}).(*policy.Input); ok {
			*sink = in
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	b.tool = b.enforcing.Tool(o.Tool)
	if err := b.tool.SchemaErr(); err != nil {
		return nil, fmt.Errorf("validatortest: %w", err)
	}
	if !o.Tool.NoSchema {
		if b.schema, err = readSchema(o.Tool.InputSchema); err != nil {
			return nil, fmt.Errorf("validatortest: %w", err)
		}
	}
	return b, nil
}

func gate(s policy.SchemaOptions, v policy.ValidatorFunc) (*policy.Gate, error) {
	g, err := policy.NewGate(policy.Options{Schema: s, Timeout: time.Minute, Validators: []policy.Registration{{Name: "validatortest", Validator: v}}})
	if err == nil {
		g.Use(noRules{})
	}
	return g, err
}

// input returns what a validator sees of a call, whatever the schema says to it.
func (b *bench) input(arguments string) (policy.Input, error) {
	var in policy.Input
	d := b.open.Decide(context.WithValue(b.ctx, sinkKey{}, &in), policy.Call{Tool: b.tool, Arguments: []byte(arguments), ID: "1", Transport: "go"})
	if !d.Allowed {
		return in, fmt.Errorf("no gate would ask a validator about it: %s", d.Text())
	}
	return in, nil
}

// behindSchema decides a call where the schema is enforced.
func (b *bench) behindSchema(arguments string) (d policy.Decision, asked bool) {
	before := b.asked.Load()
	d = b.enforcing.Decide(b.ctx, policy.Call{Tool: b.tool, Arguments: []byte(arguments), ID: "1", Transport: "go"})
	return d, b.asked.Load() > before
}

// An answer is what became of one question.
type answer struct {
	refusals []policy.Refusal
	err      error
	panicked any
	late     bool
}

// ask asks the validator about one call and waits no longer than patience allows.
func (b *bench) ask(ctx context.Context, arguments string) answer {
	in, err := b.input(arguments)
	if err != nil {
		return answer{err: err}
	}
	a := b.askIn(ctx, in)
	if ctx == b.ctx {
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, before := b.first[arguments]; !before {
			b.first[arguments] = a.key()
		}
	}
	return a
}

func (b *bench) askIn(ctx context.Context, in policy.Input) answer {
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a = answer{panicked: p}
			}
			done <- a
		}()
		a.refusals, a.err = b.o.Validator.Validate(ctx, in)
	}()
	timer := time.NewTimer(b.o.Patience)
	defer timer.Stop()
	select {
	case a := <-done:
		return a
	case <-timer.C:
		return answer{late: true}
	}
}

// refuses reports whether the call would not have run.
func (a answer) refuses() bool {
	return len(a.refusals) > 0 || a.err != nil || a.panicked != nil || a.late
}

// broken says what no answer may be, "" when it is none of that.
func (a answer) broken() string {
	switch {
	case a.late:
		return "it does not return"
	case a.panicked != nil:
		return fmt.Sprintf("it panics: %v", a.panicked)
	}
	for _, r := range a.refusals {
		if r.Message == "" {
			return "it refuses without a message"
		}
	}
	return ""
}

// key is the same for answers that say the same.
func (a answer) key() string {
	lines := make([]string, 0, len(a.refusals))
	for _, r := range a.refusals {
		line, err := json.Marshal(r)
		if err != nil {
			line = []byte(err.Error())
		}
		lines = append(lines, string(line))
	}
	sort.Strings(lines)
	return fmt.Sprintf("refusals %s, error %t, panic %t, late %t", lines, a.err != nil, a.panicked != nil, a.late)
}
