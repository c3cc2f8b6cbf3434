// Package peers has the checks of testdata/policy.rego in what people would use in
// place of the gate: CEL, Cedar and Go written by hand.
//
// # Limits
//
// Cedar has no regular expressions and no quantifiers: its version asks the nearest
// question that it can, and leaves out the number of readers. Neither it nor CEL reads
// JSON or checks a schema here.
package peers

import (
	"encoding/json"
	"fmt"
)

// Arguments are 363 bytes that the policy has nothing against.
const Arguments = `{"target":"/reports/2026/third/q3-eastern.pdf","visibility":"internal","state":"final","stage":"production","period":{"from":"2026-07-01T00:00:00Z","to":"2026-09-30T00:00:00Z"},"mirror":"192.0.2.17","author":"author-217","department":"sales","pages":42,"readers":["ann.b@ours.example","cy@ours.example"],"reply_to":"r@ours.example","link":"https://ours.example/"}`

// A Decider says which of the rules refuse decoded arguments. Numbers in them are
// float64.
type Decider func(arguments map[string]any) ([]string, error)

var closed = []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "127.0.0.0/8"}

// Settings are data.settings of the policy, with that many authors.
func Settings(authors int) map[string]any {
	known := make(map[string]any, authors)
	for i := range authors {
		known[author(i)] = true
	}
	return map[string]any{
		"closed":      closed,
		"authors":     known,
		"departments": []string{"finance", "legal", "sales", "support"},
		"pages":       map[string]any{"staging": 1000, "production": 200},
	}
}

func author(i int) string { return fmt.Sprintf("author-%d", i) }

// Decoded returns the arguments as encoding/json decodes them.
func Decoded(arguments string) (map[string]any, error) {
	var m map[string]any
	err := json.Unmarshal([]byte(arguments), &m)
	return m, err
}
