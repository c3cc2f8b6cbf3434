package validatortest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/regogate/regogate/policy"
)

func newReader(s string) io.Reader { return strings.NewReader(s) }

func failure(format string, args ...any) Outcome {
	return Outcome{Failure: fmt.Sprintf(format, args...)}
}

// each asks about every call, until one answer has something wrong.
func (b *bench) each(c *calls, wrong func(answer) string) Outcome {
	list := c.all()
	if len(list) == 0 {
		return Outcome{Skipped: c.whyNone}
	}
	for _, v := range list {
		if problem := wrong(b.ask(b.ctx, v.arguments)); problem != "" {
			return failure("%s: %s", v, problem)
		}
	}
	return Outcome{}
}

// returns asks with a deadline that is short, and is patient beyond it.
func (b *bench) returns(c *calls) Outcome {
	return b.each(c, lateOnly).or(func() Outcome {
		for _, v := range c.all() {
			ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
			a := b.ask(ctx, v.arguments)
			cancel()
			if a.late {
				return failure("%s: it does not return within %v, although its context ended before", v, b.o.Patience)
			}
		}
		return Outcome{}
	})
}

func lateOnly(a answer) string {
	if a.late {
		return "it does not return"
	}
	return ""
}

// or goes on with another check when this one found nothing.
func (o Outcome) or(next func() Outcome) Outcome {
	if o != (Outcome{}) {
		return o
	}
	return next()
}

func (b *bench) panics(c *calls) Outcome {
	return b.each(c, func(a answer) string {
		if a.panicked != nil {
			return fmt.Sprintf("it panics: %v", a.panicked)
		}
		return ""
	})
}

func (b *bench) emptyRefusal(c *calls) Outcome {
	return b.each(c, func(a answer) string {
		for _, r := range a.refusals {
			if strings.TrimSpace(r.Message) == "" {
				return "it refuses without a message"
			}
		}
		return ""
	})
}

// samples checks that the options say the truth.
func (b *bench) samples(*calls) Outcome {
	if len(b.o.Allowed)+len(b.o.Refused) == 0 {
		return Outcome{Skipped: "Options.Allowed and Options.Refused are empty"}
	}
	for i, arguments := range b.o.Allowed {
		if d, _ := b.behindSchema(arguments); !d.Allowed {
			return failure("Options.Allowed[%d] never reaches the validator: %s", i, d.Text())
		}
		if a := b.ask(b.ctx, arguments); a.refuses() {
			return failure("Options.Allowed[%d] is refused: %s (%v)", i, a.key(), a.err)
		}
	}
	for i, arguments := range b.o.Refused {
		if d, _ := b.behindSchema(arguments); !d.Allowed {
			return failure("Options.Refused[%d] never reaches the validator: %s", i, d.Text())
		}
		if a := b.ask(b.ctx, arguments); !a.refuses() {
			return failure("Options.Refused[%d] is let through", i)
		}
	}
	return Outcome{}
}

// violation checks calls that violate the schema in one way. That they are refused and
// nobody is asked where the schema is enforced, was seen when they were made.
func (b *bench) violation(fact string) func(*calls) Outcome {
	return func(c *calls) Outcome {
		if c.whyNone != "" {
			return Outcome{Skipped: c.whyNone}
		}
		if len(c.violations[fact]) == 0 {
			return Outcome{Skipped: "the schema refuses nothing of this kind: " + fact}
		}
		for _, v := range c.violations[fact] {
			a := b.ask(b.ctx, v.arguments)
			if problem := a.broken(); problem != "" {
				return failure("with the schema not enforced, %s: %s", v, problem)
			}
			if b.o.Standalone && !a.refuses() {
				return failure("with the schema not enforced, %s: it is let through, and Options.Standalone says that it is not", v)
			}
		}
		return Outcome{}
	}
}

// preCancelled checks that a context which has ended makes nothing more permissive.
func (b *bench) preCancelled(c *calls) Outcome {
	if len(c.valid) == 0 {
		return Outcome{Skipped: c.whyNone}
	}
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	for _, arguments := range c.valid {
		v := violation{"in a context that has ended", arguments}
		a := b.ask(ended, arguments)
		if problem := a.broken(); problem != "" {
			return failure("%s: %s", v, problem)
		}
		if b.ask(b.ctx, arguments).refuses() && !a.refuses() {
			return failure("%s: it lets through what it refuses otherwise", v)
		}
	}
	return Outcome{}
}

func (b *bench) idempotence(c *calls) Outcome {
	if len(c.valid) == 0 {
		return Outcome{Skipped: c.whyNone}
	}
	for round := range 3 {
		for i := range c.valid {
			if round == 1 {
				i = len(c.valid) - 1 - i // the order doesn't count
			}
			key := b.ask(b.ctx, c.valid[i]).key()
			if first := b.first[c.valid[i]]; key != first { // nobody else asks at this time
				return failure("%s: the first answer was %s, a later one is %s", violation{"the same call again", c.valid[i]}, first, key)
			}
		}
	}
	return Outcome{}
}

// noMutation checks that everything is what it was, what it answered before included.
func (b *bench) noMutation(c *calls) Outcome {
	if len(c.valid) == 0 {
		return Outcome{Skipped: c.whyNone}
	}
	var kept []policy.Refusal
	keptAs := ""
	for _, v := range c.all() {
		in, err := b.input(v.arguments)
		if err != nil {
			continue
		}
		before := b.state(in)
		a := b.askIn(b.ctx, in)
		if after := b.state(in); after != before {
			return failure("%s: it changes the call, the caller or the tool: %s became %s", v, before, after)
		}
		if was := (answer{refusals: kept}).key(); keptAs != "" && was != keptAs {
			return failure("%s: it changes what it answered before: %s became %s", v, keptAs, was)
		}
		if len(a.refusals) > 0 {
			kept, keptAs = a.refusals, answer{refusals: a.refusals}.key()
		}
	}
	return Outcome{}
}

// state is everything that a validator might get at.
func (b *bench) state(in policy.Input) string {
	all := map[string]any{
		"input": in.Document(), "raw": string(in.Arguments().Raw()), "caller": b.o.Caller, "info": in.Tool(),
		"schema": string(b.o.Tool.InputSchema), "annotations": string(b.o.Tool.Annotations),
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// concurrentUse compares the answers of many at once to those of one after the other.
func (b *bench) concurrentUse(c *calls) Outcome {
	if len(c.valid) == 0 {
		return Outcome{Skipped: c.whyNone}
	}
	list := c.all()
	alone := make([]string, len(list))
	for i, v := range list {
		alone[i] = b.ask(b.ctx, v.arguments).key()
	}
	const workers = 8
	found := make(chan Outcome, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range max(len(list), 64) {
				i := (n + w*7) % len(list)
				if key := b.ask(b.ctx, list[i].arguments).key(); key != alone[i] {
					found <- failure("%s: alone the answer is %s, with others at the same time %s", list[i], alone[i], key)
					return
				}
			}
		}()
	}
	wg.Wait()
	close(found)
	return <-found // the zero Outcome when there is none
}
