package regoeval_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const messageHelpers = `
too_large if input.arguments.n > 3
too_large_mode if { input.arguments.n > 3; input.arguments.mode != "" }
either if input.arguments.n > 3
either if input.arguments.mode == "a"
big(a) if a.n > 3
chain := "low" if input.arguments.n < 1 else := "high" if input.arguments.n > 3
describe(a) := sprintf("%v", [a.mode])
describe_else(a) := sprintf("%v", [a.mode]) if a.mode else := "no mode"
describe_safe(a) := object.get(a, "mode", "none")
default describe_default(_) := "denied"
describe_default(a) := a.mode
named("a") := "it is a"
named("b") := "it is b"
reason := sprintf("%v", [input.arguments.mode])
reason_if := "large" if input.arguments.n > 3
reason_if_mode := sprintf("%v", [input.arguments.mode]) if input.arguments.n > 3
reason_else := "large" if input.arguments.n > 3 else := "small"
default reason_default := "denied"
reason_default := input.arguments.mode
reasons contains "small" if input.arguments.n < 100
reasons contains "large" if input.arguments.n > 3
loose contains sprintf("%v", [input.arguments.mode]) if input.arguments.n > 3
texts := data.settings.texts
check(a) := "large" if a.n > 3
check_mode(a) := sprintf("%v", [a.mode]) if a.n > 3
table := {"a": "an a", "b": "a b"}
`

var messageBodies = []string{
	`true`, `input.arguments.n > 3`, `some x in input.arguments.l; x.n > 3`, `some x in input.arguments.l`, `some x in input.arguments.l; x.mode == "a"`,
	`too_large`, `too_large_mode`, `either`, `big(input.arguments)`, `chain == "high"`,
	`input.arguments.mode == "a" or input.arguments.n > 3`, `input.arguments.mode == "a" and input.arguments.n > 3`,
	`not input.arguments.ok`, `not startswith(input.arguments.mode, "a")`, `every v in input.arguments.l { v.n > 1 }`,
	`count([1 | input.arguments.mode]) == 0`, `input.arguments.mode == "a" with input.arguments as {"mode": "a"}`, `args := input.arguments; args.n > 3`,
	`startswith(input.arguments.mode, "a")`, `input.arguments.mode`, `some r in data.settings.rules; r.n < input.arguments.n`,
	`some k, v in input.arguments; k == "n"`, `some r in reasons; r == "large"`, `m := input.arguments.mode; input.arguments.n > 3`,
	`{"mode": m} := input.arguments; input.arguments.n > 3`, `[p, q] := input.arguments.pair; input.arguments.n > 3`, `walk(input.arguments, [path, value]); value == "a"`,
	`data.settings.texts[input.arguments.mode]`, `some mode, text in data.settings.texts; mode == input.arguments.mode`, `check(input.arguments)`, `some f in input.arguments.l; check(f)`,
	`args := input.arguments with input.arguments as {"mode": "a", "n": 1}; args.mode == "a"`,
}

var messageTerms = []string{
	`sprintf("%v", [input.arguments.mode])`, `sprintf("%v", [input.arguments.n])`, `sprintf("%v", [x.mode])`, `sprintf("%v", [x.n])`, `sprintf("%v", [x])`,
	`r.text`, `r.opt`, `concat(",", [input.arguments.mode, "x"])`, `input.arguments.mode`, `lower(input.arguments.mode)`, `args.mode`, `sprintf("%v", [args.n])`,
	`describe(input.arguments)`, `describe_else(input.arguments)`, `describe_safe(input.arguments)`, `describe_default(input.arguments)`, `named(input.arguments.mode)`,
	`describe(x)`, `check(input.arguments)`, `check_mode(input.arguments)`, `check(x)`, `check_mode(x)`, `check(f)`,
	`reason`, `reason_if`, `reason_if_mode`, `reason_else`, `reason_default`, `texts.a`, `texts[input.arguments.mode]`, `data.settings.texts.a`, `data.settings.texts[input.arguments.mode]`, `table[input.arguments.mode]`, `table.a`,
	`$"{input.arguments.mode}"`, `$"{describe(input.arguments)} {max(input.arguments.nums)}"`, `object.get(input.arguments, "mode", "none")`, `sprintf("%v", [input.arguments.l[_].mode])`,
	`sprintf("%v", [max(input.arguments.nums)])`, `sprintf("%v", [count(input.arguments.l)])`, `{"msg": sprintf("%v", [input.arguments.mode]), "rule": "r"}`, `{"msg": "m", "location": input.arguments.mode}`,
	`m`, `sprintf("%v", [p])`, `sprintf("%v", [path])`, `sprintf("%v", [value])`, `sprintf("%v", [k])`, `sprintf("%v", [v])`, `text`, `input.caller.subject`, `sprintf("%s is %v", [input.tool.name, input.caller.claims.org])`,
	`sprintf("%v", [[y | some y in input.arguments.l; y.mode]])`, `concat(",", [s | some z in input.arguments.l; s := z.mode])`, `input.arguments[input.arguments.mode]`, `sprintf("%v", [input.arguments.n]) with input.arguments.n as 5`,
}

var messageCalls = []string{
	`{}`, `{"n":5}`, `{"n":5,"mode":"a"}`, `{"mode":"a"}`, `{"mode":"b","ok":true}`, `{"n":5,"l":[{"n":5},{"n":4,"mode":"a"}]}`, `{"n":5,"l":[],"mode":"c","pair":["p","q"]}`,
	`{"n":5,"l":[{"n":5,"mode":"b"}],"nums":[1],"pair":["p"]}`, `{"n":0,"mode":"z","nums":[],"l":[{"n":9,"mode":"x"}]}`,
}

// delegated are messages that a helper makes under a condition of its own. Where the
// rule itself only iterates, that condition is the rule's.
var delegated = map[string]string{
	`check(input.arguments)`: `input.arguments.n > 3`, `check_mode(input.arguments)`: `input.arguments.n > 3`,
	`check(x)`: `x.n > 3`, `check_mode(x)`: `x.n > 3`, `reason_if`: `input.arguments.n > 3`, `reason_if_mode`: `input.arguments.n > 3`,
	`named(input.arguments.mode)`: `input.arguments.mode in {"a", "b"}`,
}

// ownVariable finds the variable of its rule that a message uses.
var (
	ownVariable = regexp.MustCompile(`\b([xrmpkvf]|args|path|value|text)\b`)
	inQuotes    = regexp.MustCompile(`"[^"]*"`)
)

// A message that is let through never makes its denial disappear: wherever the body
// holds with a constant message, the call is refused with the real one.
func TestMessagesNeverLoseTheDenial(t *testing.T) {
	data := `{"settings": {"texts": {"a": "text a", "b": "text b"}, "rules": [{"n": 1, "text": "t1", "opt": "o"}, {"n": 2, "text": "t2"}]}}`
	kept, refused := 0, 0
	ways := []string{"deny contains %[2]s if { %[1]s }", "deny contains msg if { %[1]s; msg := %[2]s }", "deny contains msg if some msg in found\nfound contains msg if { %[1]s; msg := %[2]s }"}
	constant := func(body string) string {
		return fmt.Sprintf("deny contains \"constant\" if { %s }\n", body) + mentioned(messageHelpers, body)
	}
	for _, body := range messageBodies {
		packages, holds := map[string]string{}, map[string]string{} // by rule; holds says what the rule's condition is
		for _, message := range messageTerms {
			if v := ownVariable.FindString(inQuotes.ReplaceAllString(message, "")); v != "" && !regexp.MustCompile(`\b`+v+`\b`).MatchString(body) {
				continue // the body binds no such variable
			}
			condition := body
			if c := delegated[message]; c != "" && (body == `true` || body == `some x in input.arguments.l`) {
				condition += "; " + c
			}
			for _, way := range ways {
				rule := fmt.Sprintf(way, body, message)
				packages[rule] = rule + "\n" + mentioned(messageHelpers, rule)
				holds[rule] = condition
			}
		}
		conditions := map[string]string{}
		for _, c := range holds {
			conditions[c] = constant(c)
		}
		plain, _ := loadSurvivors(t, "import future.keywords", conditions, data)
		rules, findings := loadSurvivors(t, "import future.keywords", packages, data)
		for rule := range packages {
			if slices.Contains(findings[rule], "message-undefined") {
				refused++
			}
			if !rules.has(rule) {
				continue
			}
			kept++
			for _, call := range messageCalls {
				if !plain.decide(t, holds[rule], call).Allowed {
					require.False(t, rules.decide(t, rule, call).Allowed, "%s\nlets %s through", rule, call)
				}
			}
		}
	}
	t.Logf("%d let through, %d refused", kept, refused)
	require.Greater(t, kept, 1000)
	require.Greater(t, refused, 1000)
}
