package regoeval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// planted is what errors are searched for.
const planted = "PLANTED-7f3a"

// failing are rules that fail, or have no message, because of an argument.
var failing = []string{
	`deny contains "no" if to_number(input.arguments.v) > 3`,
	`deny contains "no" if time.parse_rfc3339_ns(input.arguments.v) > 3`,
	`deny contains "no" if time.parse_ns(input.arguments.v, "2024") > 3`,
	`deny contains "no" if time.parse_duration_ns(input.arguments.v) > 3`,
	`deny contains "no" if net.cidr_contains(input.arguments.v, "10.0.0.1")`,
	`deny contains "no" if net.cidr_intersects("10.0.0.0/8", input.arguments.v)`,
	`deny contains "no" if base64.decode(input.arguments.v) == "a"`,
	`deny contains "no" if base64url.decode(input.arguments.v) == "a"`,
	`deny contains "no" if hex.decode(input.arguments.v) == "a"`,
	`deny contains "no" if urlquery.decode(concat("", [input.arguments.v, "%zz"])) == "a"`,
	`deny contains "no" if units.parse(input.arguments.v) > 3`,
	`deny contains "no" if units.parse_bytes(input.arguments.v) > 3`,
	`deny contains "no" if semver.compare(input.arguments.v, "1.0.0") > 3`,
	`deny contains "no" if count(input.arguments.n) > 3`,
	`deny contains "no" if startswith(input.arguments.n, "a")`,
	`deny contains "no" if concat("", [input.arguments.o]) == "a"`,
	`deny contains "no" if object.remove(input.arguments.o, input.arguments.v) == {}`,
	`deny contains "no" if json.patch(input.arguments.o, [{"op": input.arguments.v, "path": "/a"}]) == {}`,
	`deny contains "no" if json.filter(input.arguments.o, [input.arguments.n]) == {}`,
	`deny contains "no" if json.marshal_with_options(1, input.arguments.o) == "1"`,
	`deny contains "no" if format_int(input.arguments.n, input.arguments.n) == "1"`,
	`deny contains "no" if {"a": x | some x in [input.arguments.v, 1]} == {}`,
	`deny contains "no" if {x: 1 | some x in [input.arguments.v]}[input.arguments.n] == two` + "\n\ntwo := input.arguments.v\n\ntwo := input.arguments.o",
	`deny contains "no" if f(input.arguments) == "a"` + "\n\nf(a) := a.v\n\nf(a) := a.o",
	`deny contains m if some m in [input.arguments.o]`,
	`deny contains m if some m in input.arguments.lists`,
	`deny contains {"msg": "m", "rule": r} if some r in [input.arguments.o]`,
	`deny contains "no" if h with input.arguments.v.x as 5` + "\n\nh if input.arguments.v.x == 5",
	`deny contains "no" if regex.match(data.settings.pattern, input.arguments.v)`,
	`deny contains "no" if some_number / input.arguments.zero > 1` + "\n\nsome_number := 5",
	`deny contains "no" if graph.reachable(input.arguments.o, input.arguments.v) == set()`,
	`deny contains "no" if crypto.hmac.equal(input.arguments.v, input.arguments.n)`,
	`deny contains "no" if json.unmarshal(input.arguments.v)`,
	`deny contains "no" if yaml.unmarshal(concat("", ["a: [", input.arguments.v])).a`,
	`deny contains "no" if io.jwt.decode(input.arguments.v)[0].a`,
	`deny contains "no" if crypto.x509.parse_certificates(input.arguments.v)[0].a`,
	`deny contains "no" if rego.parse_module("a", input.arguments.v).a`,
	`deny contains "no" if time.clock([input.arguments.n, input.arguments.v])[0] > 3`,
	`deny contains "no" if time.add_date(1, input.arguments.v, 1, 1) > 3`,
}

// What goes wrong is told without any byte of the arguments, also to the operator.
func TestErrorsHoldNoArgument(t *testing.T) {
	args := fmt.Sprintf(`{"v":%[1]q,"n":7,"zero":0,"lists":[[%[1]q]],"o":{%[1]q:%[1]q}}`, planted)
	manifest := `{"metadata":{"regogate":{"builtins":["json.patch","json.unmarshal","yaml.unmarshal","io.jwt.decode","crypto.x509.parse_certificates","rego.parse_module"]}}}`
	failed := 0
	for _, rule := range failing {
		for _, set := range []string{"deny", "warn"} {
			source := "package tools.x\n\n" + rule
			if set == "warn" {
				source = "package tools.x\n\ndeny contains \"never\" if false\n\n" + strings.Replace(rule, "deny", "warn", 1)
			}
			g, tool := gateWith(t, map[string]string{"a.rego": source, "data.json": `{"settings":{"pattern":"("}}`, ".manifest": manifest}, regoeval.Options{}, policy.Options{})
			d := g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(args)})
			text, err := json.Marshal(d)
			require.NoError(t, err)
			require.NotContains(t, string(text), planted, rule)
			if set == "warn" {
				require.True(t, d.Allowed, "%s: warn refuses: %v", rule, d.Refusals)
				d.Err = d.WarnErr
			} else if d.Err != nil {
				require.Equal(t, policy.Undecided, d.Code(), rule)
			}
			if d.Err != nil {
				failed++
				require.NotContains(t, d.Err.Error(), planted, rule)
				require.Regexp(t, "a.rego:|of package tools.x:", d.Err.Error(), "%s: no place", rule)
			}
		}
	}
	require.Greater(t, failed, 60, "too few of the rules fail for this to show anything")
}
