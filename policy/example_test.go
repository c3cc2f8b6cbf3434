package policy_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/regogate/regogate/policy"
)

func ExampleGate_Register() {
	gate, err := policy.NewGate(policy.Options{})
	if err != nil {
		panic(err)
	}
	gate.Use(fake{revision: "none"}) // a bundle's rules, see regoeval
	gate.Declare("files", []*policy.Tool{gate.Tool(policy.ToolSpec{Server: "files", Name: "read", InputSchema: []byte(`{"type": "object"}`)})})

	ask := policy.ValidatorFunc(func(context.Context, policy.Input) ([]policy.Refusal, error) { return nil, nil })
	for _, r := range []policy.Registration{
		{Tool: "read", Name: "quota", Validator: ask},
		{Tool: "read", Name: "quota", Validator: ask},
		{Tool: "raed", Name: "quota", Validator: ask},
	} {
		note, err := gate.Register(r)
		fmt.Printf("%q %v\n", note, err)
	}
	// Output:
	// "" <nil>
	// "validator \"quota\" for tool \"read\" replaces the one that was registered before" <nil>
	// "validator \"quota\" for tool \"raed\" will never run: no server declares such a tool" <nil>
}

// A rule that Rego can't express, or that needs what only the program knows, is a
// validator: it is asked after the deny set, in the same decision.
func ExampleValidatorFunc() {
	gate, err := policy.NewGate(policy.Options{})
	if err != nil {
		panic(err)
	}
	gate.Use(fake{revision: "none"})

	companyOnly := policy.ValidatorFunc(func(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
		if to, _ := in.Arguments().Lookup("/to"); !strings.HasSuffix(fmt.Sprint(to), "@example.com") {
			return []policy.Refusal{{Message: "recipients outside the company need a ticket", Location: "/to"}}, nil
		}
		return nil, nil
	})
	note, err := gate.Register(policy.Registration{Tool: "send_email", Name: "company only", Validator: companyOnly})

	fmt.Printf("%q %v\n", note, err)
	tool := gate.Tool(policy.ToolSpec{Name: "send_email", InputSchema: []byte(`{"type": "object"}`)})
	for _, arguments := range []string{`{"to": "ann@example.com"}`, `{"to": "eve@example.net"}`, `{"to": "a", "to": "b"}`} {
		d := gate.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(arguments)})
		fmt.Printf("%t %q\n", d.Allowed, d.Code())
	}
	// Output:
	// "" <nil>
	// true ""
	// false "denied"
	// false "malformed"
}
