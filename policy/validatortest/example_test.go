package validatortest_test

import (
	"context"
	"fmt"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/validatortest"
)

// In a test, call Run instead.
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
