package validatortest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/validatortest"
)

const schema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "pattern": "^/", "maxLength": 200},
		"count": {"type": "integer", "minimum": 1, "maximum": 10},
		"options": {"type": "object", "properties": {"mode": {"enum": ["r", "w"]}}, "required": ["mode"], "additionalProperties": false}
	},
	"required": ["path", "count"],
	"additionalProperties": false
}`

// careful is a validator as it should be.
func careful(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, _ := in.Arguments().Lookup("/path")
	if s, isText := path.(string); !isText || strings.HasPrefix(s, "/etc/") {
		return []policy.Refusal{{Message: "not that file", Location: "/path"}}, nil
	}
	return nil, nil
}

func options(v policy.ValidatorFunc) validatortest.Options {
	return validatortest.Options{
		Tool:      policy.ToolSpec{Name: "read", InputSchema: []byte(schema)},
		Validator: v,
		Allowed:   []string{`{"path": "/tmp/a", "count": 1}`},
		Refused:   []string{`{"path": "/etc/shadow", "count": 1, "options": {"mode": "r"}}`},
		Patience:  300 * time.Millisecond,
	}
}

func TestACarefulValidatorKeepsTheContract(t *testing.T) {
	validatortest.Run(t, options(careful))
	outcomes, err := validatortest.Check(options(careful))
	require.NoError(t, err)
	require.Len(t, outcomes, 13)
	for _, o := range outcomes {
		require.Equal(t, validatortest.Outcome{Fact: o.Fact}, o, "the schema exercises every fact")
	}
}

// broken has, for each fact, validators that make it fail.
func broken() map[string]func() policy.ValidatorFunc {
	refused := []policy.Refusal{{Message: "not that file"}}
	return map[string]func() policy.ValidatorFunc{
		"never-returns/at all": func() policy.ValidatorFunc {
			return func(context.Context, policy.Input) ([]policy.Refusal, error) { select {} }
		},
		"never-returns/for one argument": func() policy.ValidatorFunc {
			return func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
				if v, there := in.Arguments().Lookup("/count"); there && v == nil {
					select {}
				}
				return nil, nil
			}
		},
		"panic": func() policy.ValidatorFunc {
			return func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
				if s, isText := in.Arguments().Object()["path"].(string); isText && s == "" {
					panic("empty path")
				}
				return nil, nil
			}
		},
		"empty refusal": func() policy.ValidatorFunc {
			return func(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
				rs, err := careful(ctx, in)
				for i := range rs {
					rs[i].Message = ""
				}
				return rs, err
			}
		},
		"samples/allowed": func() policy.ValidatorFunc {
			return func(context.Context, policy.Input) ([]policy.Refusal, error) { return refused, nil }
		},
		"samples/refused": func() policy.ValidatorFunc {
			return func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil }
		},
		"missing required": asserting(func(a map[string]any) { _ = a["path"].(string) }),
		"wrong type":       asserting(func(a map[string]any) { _ = a["count"].(fmt.Stringer).String() }),
		"out of range": asserting(func(a map[string]any) {
			_ = [10]int{}[int(fmt.Sprint(a["count"])[0])-'1'+len(fmt.Sprint(a["count"]))-1]
		}),
		"pattern violation": asserting(func(a map[string]any) { _ = strings.SplitN(fmt.Sprint(a["path"]), "/", 2)[1] }),
		"undeclared property": asserting(func(a map[string]any) {
			for name := range a {
				setters[name]()
			}
		}),
		"pre-cancelled context/fail open": func() policy.ValidatorFunc {
			return func(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
				if ctx.Err() != nil {
					return nil, nil // the data base could not be asked
				}
				return careful(ctx, in)
			}
		},
		"pre-cancelled context/waits": func() policy.ValidatorFunc {
			return func(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
				if errors.Is(ctx.Err(), context.Canceled) {
					time.Sleep(time.Second)
				}
				return careful(ctx, in)
			}
		},
		"idempotence": func() policy.ValidatorFunc {
			var told atomic.Bool
			return func(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
				rs, err := careful(context.WithoutCancel(ctx), in)
				if len(rs) > 0 && strings.Contains(string(in.Arguments().Raw()), "shadow") && told.Swap(true) {
					return nil, nil // warned once
				}
				return rs, err
			}
		},
		"no mutation/of an answer": func() policy.ValidatorFunc {
			var mu sync.Mutex
			var shared []policy.Refusal
			return func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
				mu.Lock()
				defer mu.Unlock()
				shared = append(shared[:0], policy.Refusal{Message: string(in.Arguments().Raw())})
				return shared, nil
			}
		},
		"concurrent use": func() policy.ValidatorFunc {
			var busy atomic.Int64
			return func(ctx context.Context, in policy.Input) ([]policy.Refusal, error) {
				defer busy.Add(-1)
				if busy.Add(1) > 1 {
					return nil, errors.New("the connection is in use")
				}
				time.Sleep(10 * time.Microsecond)
				return careful(context.WithoutCancel(ctx), in)
			}
		},
	}
}

// setters are what a validator may keep for the arguments that it knows of.
var setters = map[string]func(){"path": func() {}, "count": func() {}, "options": func() {}}

// asserting is a validator that takes for granted what the schema says.
func asserting(assume func(map[string]any)) func() policy.ValidatorFunc {
	return func() policy.ValidatorFunc {
		return func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
			assume(in.Arguments().Object())
			return nil, nil
		}
	}
}

func TestABrokenValidatorFailsItsFact(t *testing.T) {
	shown := map[string]bool{}
	for name, make := range broken() {
		fact, _, _ := strings.Cut(name, "/")
		shown[fact] = true
		t.Run(name, func(t *testing.T) {
			outcome := outcomeOf(t, options(make()), fact)
			require.NotEmpty(t, outcome.Failure, "skipped: %s", outcome.Skipped)
		})
	}
	outcomes, err := validatortest.Check(options(careful))
	require.NoError(t, err)
	for _, o := range outcomes {
		require.True(t, shown[o.Fact], "no broken validator fails %q", o.Fact)
	}
}

func outcomeOf(t *testing.T, o validatortest.Options, fact string) validatortest.Outcome {
	t.Helper()
	outcomes, err := validatortest.Check(o)
	require.NoError(t, err)
	for _, outcome := range outcomes {
		if outcome.Fact == fact {
			return outcome
		}
	}
	t.Fatalf("there is no fact %q", fact)
	return validatortest.Outcome{}
}

// A validator may share memory with whoever made it.
func TestSharedMemoryIsNoticed(t *testing.T) {
	o := options(nil)
	claims := map[string]any{"n": 0}
	o.Caller = policy.Caller{Subject: "ann", Claims: claims}
	var n int
	o.Validator = policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) {
		n++
		claims["n"] = n
		return nil, nil
	})
	require.Contains(t, outcomeOf(t, o, "no mutation").Failure, "it changes the call, the caller or the tool")
}

// What stands alone refuses by itself what a schema would have.
func TestStandaloneValidatorsRefuseViolations(t *testing.T) {
	o := options(careful)
	o.Standalone = true
	require.Contains(t, outcomeOf(t, o, "undeclared property").Failure, "it is let through")
	require.Contains(t, outcomeOf(t, o, "out of range").Failure, "it is let through")
	require.Empty(t, outcomeOf(t, o, "panic").Failure)
}

func TestFactsThatCanNotBeShownAreSkippedWithTheReason(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		skipped      map[string]string // fact to reason
	}{
		{"open", `{"type":"object"}`, map[string]string{
			"missing required": "refuses nothing of this kind", "wrong type": "refuses nothing", "out of range": "refuses nothing",
			"pattern violation": "refuses nothing", "undeclared property": "refuses nothing", "samples": "are empty"}},
		{"types only", `{"type":"object","properties":{"a":{"type":"string"}}}`, map[string]string{
			"missing required": "refuses nothing", "out of range": "refuses nothing", "undeclared property": "refuses nothing"}},
		{"impossible", `{"type":"object","properties":{"a":{"type":"string","pattern":"^\\d{31}$"}},"required":["a"]}`, map[string]string{
			"missing required": "give some in Options.Allowed", "idempotence": "give some in Options.Allowed", "panic": "give some"}},
		{"none", ``, map[string]string{"missing required": "the tool has no schema"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(careful)
			o.Allowed, o.Refused = nil, nil
			o.Tool.InputSchema, o.Tool.NoSchema = []byte(tt.schema), tt.schema == ""
			outcomes, err := validatortest.Check(o)
			require.NoError(t, err)
			for _, outcome := range outcomes {
				require.Empty(t, outcome.Failure)
				if want, skips := tt.skipped[outcome.Fact]; skips {
					require.Contains(t, outcome.Skipped, want, outcome.Fact)
				}
			}
		})
	}
}

// The facts are shown with the schemas that tools have, not only with this one.
func TestSchemasOfOtherShapes(t *testing.T) {
	for name, tt := range map[string]struct {
		schema string
		shown  []string
	}{
		"references": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/id"}},"required":["a"],"$defs":{"id":{"type":"string","format":"uuid"}}}`, []string{"missing required", "wrong type", "pattern violation"}},
		"all of":     {`{"type":"object","allOf":[{"properties":{"a":{"type":"integer","exclusiveMinimum":5,"multipleOf":4}},"required":["a"]}]}`, []string{"missing required", "wrong type", "out of range"}},
		"either":     {`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","minLength":3},{"type":"null"}]}},"required":["a"]}`, []string{"missing required", "wrong type", "out of range"}},
		"arrays":     {`{"type":"object","properties":{"a":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":3}}}`, []string{"wrong type", "out of range"}},
		"recursion":  {`{"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false}`, []string{"wrong type", "undeclared property"}},
		"nested":     {`{"type":"object","properties":{"o":{"type":"object","properties":{"x":{"const":"y"}},"required":["x"]}}}`, []string{"missing required", "wrong type"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(careful)
			o.Allowed, o.Refused, o.Tool.InputSchema = nil, nil, []byte(tt.schema)
			o.Validator = policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })
			for _, fact := range tt.shown {
				require.Equal(t, validatortest.Outcome{Fact: fact}, outcomeOf(t, o, fact))
			}
		})
	}
}

func TestNothingToCheckIsAnError(t *testing.T) {
	for want, change := range map[string]func(*validatortest.Options){
		"Validator is nil": func(o *validatortest.Options) { o.Validator = nil },
		"Tool has no name": func(o *validatortest.Options) { o.Tool.Name = "" },
		"inputSchema":      func(o *validatortest.Options) { o.Tool.InputSchema = []byte(`{"type":"strnig"}`) },
	} {
		o := options(careful)
		change(&o)
		_, err := validatortest.Check(o)
		require.ErrorContains(t, err, want)
	}
}

const brokenEnv = "REGOGATE_TEST_BROKEN_VALIDATOR"

// Run makes a failed test of a failed fact: seen from outside, in a process of its own.
func TestRunFails(t *testing.T) {
	if os.Getenv(brokenEnv) != "" {
		validatortest.Run(t, options(broken()["panic"]()))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestRunFails$", "-test.v")
	cmd.Env = append(os.Environ(), brokenEnv+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, string(out))
	require.Contains(t, string(out), "--- FAIL: TestRunFails/panic")
	require.Contains(t, string(out), "it panics: empty path")
	require.Contains(t, string(out), "--- PASS: TestRunFails/empty_refusal")
}
