package validatortest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/validatortest"
)

// In a test, call validatortest.Run(t, options) instead: each fact is a subtest.
func ExampleCheck() {
	outcomes, err := validatortest.Check(validatortest.Options{
		Tool: policy.ToolSpec{Name: "read", InputSchema: []byte(`{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}`)},
		Validator: policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
			if path := in.Arguments().Object()["path"].(string); path == "/etc/shadow" { // not safe where the schema isn't enforced
				return []policy.Refusal{{Message: "not that file"}}, nil
			}
			return nil, nil
		}),
		Refused: []string{`{"path": "/etc/shadow"}`},
	})
	if err != nil {
		panic(err)
	}
	for _, o := range outcomes {
		switch {
		case o.Failure != "":
			fmt.Println(o.Fact, "fails")
		case o.Skipped != "":
			fmt.Println(o.Fact, "is skipped:", o.Skipped)
		}
	}
	// Output:
	// panic fails
	// missing required fails
	// wrong type fails
	// out of range is skipped: the schema refuses nothing of this kind: out of range
	// pattern violation is skipped: the schema refuses nothing of this kind: pattern violation
	// undeclared property is skipped: the schema refuses nothing of this kind: undeclared property
}

// A validator of a team's own, proven: every fact that the schema can show holds.
func ExampleOptions() {
	companyOnly := policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		if to, _ := in.Arguments().Lookup("/to"); !strings.HasSuffix(fmt.Sprint(to), "@example.com") {
			return []policy.Refusal{{Message: "recipients outside the company need a ticket", Location: "/to"}}, nil
		}
		return nil, nil
	})

	options := validatortest.Options{
		Tool:      policy.ToolSpec{Name: "send_email", InputSchema: []byte(`{"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}`)},
		Validator: companyOnly,
		Allowed:   []string{`{"to": "ann@example.com"}`},
		Refused:   []string{`{"to": "eve@example.net"}`},
	}
	outcomes, err := validatortest.Check(options) // in a test: validatortest.Run(t, options)

	if err != nil {
		panic(err)
	}
	for _, o := range outcomes {
		if o.Failure == "" && o.Skipped == "" {
			fmt.Println(o.Fact)
		}
	}
	// Output:
	// never-returns
	// panic
	// empty refusal
	// samples
	// missing required
	// wrong type
	// pre-cancelled context
	// idempotence
	// no mutation
	// concurrent use
}
