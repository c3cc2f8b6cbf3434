package regoeval_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// benchPolicy has 16 deny rules of the kinds that people write: prefixes, patterns,
// combinations, times, networks, look-ups in lists, by key and by environment,
// iteration, and text.
const benchPolicy = `package tools.upload_report

import rego.v2

args := input.arguments

deny contains "reports live below /reports/" if not startswith(args.target, "/reports/")

deny contains "no parent directories" if contains(args.target, "/..")

deny contains "no hidden names" if regex.match("/\\.", args.target)

deny contains "a report is pdf, csv or html" if not regex.match("\\.(pdf|csv|html)$", args.target)

deny contains "public reports need a reviewer" if {
	args.visibility == "public"
	not args.reviewer
}

deny contains "drafts stay in staging" if {
	args.state == "draft"
	args.stage == "production"
}

deny contains "the period ends before it begins" if {
	time.parse_rfc3339_ns(args.period.to) <= time.parse_rfc3339_ns(args.period.from)
}

deny contains "a period has at most a quarter" if {
	time.parse_rfc3339_ns(args.period.to) - time.parse_rfc3339_ns(args.period.from) > 8035200000000000
}

deny contains "that host is in a closed network" if {
	some network in data.settings.closed
	net.cidr_contains(network, args.mirror)
}

deny contains "unknown author" if not data.settings.authors[args.author]

deny contains "unknown department" if not args.department in data.settings.departments

deny contains "too many pages" if args.pages > data.settings.pages[args.stage]

deny contains "too many readers" if count(args.readers) > 12

deny contains $"{reader} is no address of ours" if {
	some reader in args.readers
	not regex.match("^[a-z.]+@ours\\.example$", reader)
}

deny contains "answers go to us" if not endswith(args.reply_to, "@ours.example")

deny contains "links are https" if not startswith(lower(args.link), "https://")
`

const benchArguments = `{"target":"/reports/2026/third/q3-east.pdf","visibility":"internal","state":"final","stage":"production","period":{"from":"2026-07-01T00:00:00Z","to":"2026-09-30T00:00:00Z"},"mirror":"192.0.2.17","author":"author-217","department":"sales","pages":42,"readers":["ann.b@ours.example","cy@ours.example"],"reply_to":"r@ours.example","link":"https://ours.example/"}`

func benchFiles(t testing.TB) map[string]string {
	authors := map[string]bool{}
	for i := range 1000 {
		authors["author-"+strconv.Itoa(i)] = true
	}
	data, err := json.Marshal(map[string]any{"settings": map[string]any{
		"closed": []string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "127.0.0.0/8"}, "authors": authors,
		"departments": []string{"finance", "legal", "sales", "support"}, "pages": map[string]int{"staging": 1000, "production": 200},
	}})
	require.NoError(t, err)
	return map[string]string{"policy.rego": benchPolicy, "data.json": string(data)}
}

// BenchmarkDenySet is one deny set of this package; BenchmarkPlainOPA the same policy
// as a prepared query of OPA, the usual way.
func BenchmarkDenySet(b *testing.B) {
	rs := mustLoad(b, benchFiles(b))
	g, err := policy.NewGate(policy.Options{})
	require.NoError(b, err)
	tool := g.Tool(policy.ToolSpec{Name: "upload_report", NoSchema: true})
	deny := rs.Cover(tool).Deny
	in := captureInput(b, tool, benchArguments)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		refusals, err := deny.Validate(ctx, in)
		if err != nil || len(refusals) != 0 {
			b.Fatal(refusals, err)
		}
	}
}

// captureInput returns the input of one call as a validator gets it.
func captureInput(t testing.TB, tool *policy.Tool, arguments string) policy.Input {
	var in policy.Input
	g, err := policy.NewGate(policy.Options{Validators: []policy.Registration{{Name: "capture", Validator: policy.ValidatorFunc(func(_ context.Context, got policy.Input) ([]policy.Refusal, error) {
		in = got
		return nil, nil
	})}}})
	require.NoError(t, err)
	g.Use(mustLoad(t, map[string]string{"a.rego": "package tools.none\n\ndeny contains \"never\" if false"}))
	require.True(t, g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(arguments)}).Allowed)
	return in
}

func BenchmarkPlainOPA(b *testing.B) {
	bundle, err := read(b, benchFiles(b))
	require.NoError(b, err)
	ctx := context.Background()
	q, err := rego.New(rego.Query("data.tools.upload_report.deny"), rego.ParsedBundle("b", &bundle)).PrepareForEval(ctx)
	require.NoError(b, err)
	var args any
	require.NoError(b, json.Unmarshal([]byte(benchArguments), &args))
	input := map[string]any{"arguments": args}
	b.ReportAllocs()
	for b.Loop() {
		rs, err := q.Eval(ctx, rego.EvalInput(input))
		if err != nil || len(rs) != 1 {
			b.Fatal(rs, err)
		}
	}
}

// BenchmarkDecide is the whole decision: reading, rules, everything but a schema.
func BenchmarkDecide(b *testing.B) {
	g, err := policy.NewGate(policy.Options{})
	require.NoError(b, err)
	g.Use(mustLoad(b, benchFiles(b)))
	call := policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "upload_report", NoSchema: true}), Arguments: []byte(benchArguments)}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if d := g.Decide(ctx, call); !d.Allowed {
			b.Fatal(d.Refusals, d.Err)
		}
	}
}

// BenchmarkLoad is a bundle of 100 tools with 16 rules each, from its files to a
// ruleset, the load-time contract included.
func BenchmarkLoad(b *testing.B) {
	files := benchFiles(b)
	for i := range 100 {
		name := "upload_" + strconv.Itoa(i)
		files[name+".rego"] = strings.Replace(benchPolicy, "package tools.upload_report", "package tools."+name, 1)
	}
	parsed, err := read(b, files)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := regoeval.New(context.Background(), regoeval.Source{Bundles: []regoeval.NamedBundle{{Name: "b", Bundle: parsed}}}, regoeval.Options{})
		if err != nil {
			b.Fatal(err)
		}
	}
}
