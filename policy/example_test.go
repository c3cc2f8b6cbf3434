package policy_test

import (
	"context"
	"fmt"

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
