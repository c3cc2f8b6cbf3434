package regoeval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval/internal/closures"
)

// An inputDocument is a call's input as a compiled program reads it.
type inputDocument struct{ policy.Input }

// Whole implements closures.Document.
func (d *inputDocument) Whole() map[string]any { return d.Document() }

// compiled evaluates the sets with the compiled engine. It reports false where that
// gives no clean answer; topdown then gives one, or says what is wrong.
func (q *query) compiled(ctx context.Context, in policy.Input) ([]policy.Refusal, bool) {
	if checkInput(in) != nil {
		return nil, false
	}
	doc, _ := q.rules.documents.Get().(*inputDocument)
	if doc == nil {
		doc = &inputDocument{}
	}
	doc.Input = in
	defer func() {
		doc.Input = policy.Input{}
		q.rules.documents.Put(doc)
	}()
	var sets [][]policy.Refusal // only where there is something to say
	left := q.rules.steps
	for i, p := range q.programs {
		if p == nil {
			continue
		}
		r := p.Eval(ctx, doc, closures.Options{Steps: left, FirstError: true, Values: q.rules.values})
		left -= r.Steps
		if !r.Clean() || r.Value == nil || left <= 0 {
			return nil, false
		}
		if set, ok := r.Value.(ast.Set); ok && set.Len() == 0 {
			continue
		}
		rs, err := elements(ast.NewTerm(r.Value))
		if err != nil {
			return nil, false
		}
		if sets == nil {
			sets = make([][]policy.Refusal, len(q.programs))
		}
		sets[i] = rs
	}
	if len(q.rest) > 0 {
		others, err := q.sets(ctx, in, q.rest)
		if err != nil {
			return nil, false
		}
		for i, rs := range sets {
			if rs != nil {
				others[i] = rs
			}
		}
		sets = others
	}
	if sets == nil {
		return nil, ctx.Err() == nil
	}
	return merge(sets), ctx.Err() == nil
}

// errDifference is what makes a call undecided on which two engines differ.
var errDifference = errors.New("the engines differ")

// both lets topdown decide, and the compiled engine look over its shoulder.
func (q *query) both(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
	want, err := q.topdown(ctx, in)
	got, ok := q.compiled(ctx, in)
	if !ok || isLimit(err) || err == nil && slices.Equal(want, got) {
		return want, err
	}
	q.rules.differences.Add(1)
	return nil, fmt.Errorf("%w about %s of %v: topdown has %d refusals (%w), the compiled engine %d; report it, and set engine: topdown until then",
		errDifference, q.name, q.paths, len(want), orNone(err), len(got))
}

var errNone = errors.New("no error")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// Differences is on how many calls so far the engines differed, with [Both].
func (r *Ruleset) Differences() int64 { return r.differences.Load() }

// sampled reports whether this is one of the calls about which both are asked.
func (r *Ruleset) sampled() bool {
	return r.asked.Add(1)%int64(r.sample) == 0
}
