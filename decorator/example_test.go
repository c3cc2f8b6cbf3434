package decorator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/policy"
)

// companyOnly stands for a policy: it may be a bundle of Rego just as well.
func companyOnly(_ context.Context, in policy.Input) ([]policy.Refusal, error) {
	if to, _ := in.Arguments().Lookup("/to"); !strings.HasSuffix(fmt.Sprint(to), "@example.com") {
		return []policy.Refusal{{Message: "recipients outside the company need a ticket", Location: "/to"}}, nil
	}
	return nil, nil
}

// goOnly is a ruleset without rules: validators written in Go decide.
type goOnly struct{}

func (goOnly) Revision() string { return "none" }

func (goOnly) Cover(*policy.Tool) policy.Coverage { return policy.Coverage{} }

func exampleGate() *policy.Gate {
	gate, err := policy.NewGate(policy.Options{Validators: []policy.Registration{
		{Tool: "send_email", Name: "company only", Validator: policy.ValidatorFunc(companyOnly)},
	}})
	if err != nil {
		panic(err)
	}
	gate.Use(goOnly{})
	return gate
}

var sendEmail = policy.ToolSpec{Name: "send_email", InputSchema: json.RawMessage(
	`{"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"], "additionalProperties": false}`)}

func ExampleWrap() {
	gate := exampleGate()

	send := func(_ context.Context, arguments json.RawMessage) (string, error) {
		return "sent " + string(arguments), nil
	}
	gated, err := decorator.Wrap(gate, sendEmail, send)
	if err != nil {
		panic(err)
	}
	for _, arguments := range []string{`{"to": "ann@example.com"}`, `{"to": "eve@example.net"}`, `{"to": 5}`} {
		out, err := gated(context.Background(), json.RawMessage(arguments))
		var refused *decorator.RefusedError
		if errors.As(err, &refused) {
			fmt.Println(err)
			continue
		}
		fmt.Println(out)
	}
	// Output:
	// sent {"to": "ann@example.com"}
	// The call was refused before it ran (denied).
	// - /to: recipients outside the company need a ticket
	// Repeating the same call will be refused again.
	// The call was refused before it ran (schema_violation).
	// - /to: must be a string, and is a number
	// Correct the arguments and call the tool again.
}

func ExampleWrapTyped() {
	gate := exampleGate()

	type mail struct {
		To     string `json:"to"`
		Ticket int64  `json:"ticket,omitempty"`
	}
	send := func(_ context.Context, m mail) (string, error) {
		return fmt.Sprintf("sent to %s, ticket %d", m.To, m.Ticket), nil
	}
	gated, err := decorator.WrapTyped(gate, policy.ToolSpec{Name: "send_email"}, send) // the schema is made from mail
	if err != nil {
		panic(err)
	}
	fmt.Println(gated(context.Background(), json.RawMessage(`{"to": "ann@example.com", "ticket": 9007199254740993}`)))
	_, err = gated(context.Background(), json.RawMessage(`{"to": "ann@example.com", "bcc": "eve@example.net"}`))
	fmt.Println(err)
	// Output:
	// sent to ann@example.com, ticket 9007199254740993 <nil>
	// The call was refused before it ran (schema_violation).
	// - 1 undeclared property not accepted here: use only "ticket", "to"
	// Correct the arguments and call the tool again.
}

func ExampleWrapHTTP() {
	gate := exampleGate()
	send := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "sent %s", body)
	})

	gated, err := decorator.WrapHTTP(gate, sendEmail, send, decorator.HTTPOptions{
		Caller: func(r *http.Request) (policy.Caller, error) {
			return policy.Caller{Subject: r.Header.Get("X-Authenticated-User")}, nil // set by your own proxy
		},
	})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(gated) // or http.Handle("POST /tools/send_email", gated)
	defer server.Close()
	for _, arguments := range []string{`{"to": "ann@example.com"}`, `{"to": "eve@example.net"}`} {
		response, err := http.Post(server.URL, "application/json", strings.NewReader(arguments))
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		var refusal struct {
			Code policy.Code `json:"code"`
		}
		if json.Unmarshal(body, &refusal) == nil {
			fmt.Println(response.StatusCode, refusal.Code)
			continue
		}
		fmt.Println(response.StatusCode, string(body))
	}
	// Output:
	// 200 sent {"to": "ann@example.com"}
	// 403 denied
}
