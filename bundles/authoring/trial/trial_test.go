package trial_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/bundles/authoring/trial"
)

func bundle(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	}
	return dir
}

func run(t testing.TB, files map[string]string) (trial.Report, error) {
	t.Helper()
	return trial.Run(context.Background(), trial.Options{Bundles: bundles.Options{Bundles: []string{bundle(t, files)}}})
}

const rules = `package tools.send

import rego.v2

deny contains {"rule": "far", "msg": "too far"} if {
	input.arguments.n > data.settings.max
	input.arguments.to == "far"
}

deny contains {"rule": "prefix", "msg": "a prefix"} if startswith(input.arguments.to, "evil")

deny contains {"rule": "number", "msg": "a number"} if to_number(input.arguments.text) > 3
`

// Each test says what becomes of it here; stock OPA says "pass" of all of them.
func TestOutcomes(t *testing.T) {
	tests := map[string]struct {
		body string
		want trial.Outcome
		says string
	}{
		"passes":                     {`count(data.tools.send.deny) == 1 with input as {"arguments": {"to": "evil.example"}}`, trial.Pass, ""},
		"fails":                      {`count(data.tools.send.deny) == 2 with input as {"arguments": {"to": "evil.example"}}`, trial.Fail, "doesn't hold"},
		"an error of a built-in":     {`count(data.tools.send.deny) == 0 with input as {"arguments": {"text": "many"}}`, trial.Err, "to_number"},
		"an error the index hides":   {`count(data.tools.send.deny) == 0 with input as {"arguments": {"to": 5}}`, trial.Err, "passes in OPA, but not as the gate evaluates"},
		"a number that has no bound": {`count(data.tools.send.deny) == 1 with input as {"arguments": {"text": "` + string(bytes.Repeat([]byte("9"), 100)) + `"}}`, trial.Err, "but not as the gate evaluates"},
		"what only tests may use":    {`json.unmarshal("[1]") == [1]`, trial.Pass, ""},
		"no network":                 {`http.send({"method": "get", "url": "http://127.0.0.1:1/"}).status_code == 0`, trial.Err, "http.send"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := run(t, map[string]string{
				"x.rego": rules, "data.json": `{"settings":{"max":3}}`,
				"x_test.rego": "package tests.tools.send\n\ntest_it if {\n\t" + tt.body + "\n}\n",
			})
			require.NoError(t, err)
			require.Len(t, r.Tests, 1)
			got := r.Tests[0]
			require.Equal(t, tt.want, got.Outcome, got.Message)
			require.Contains(t, got.Message, tt.says)
			require.Equal(t, "tests.tools.send", got.Package)
			require.Equal(t, "test_it", got.Name)
			require.Equal(t, 3, got.Line)
		})
	}
}

// Cases, odd names, equal names, tests beside the rules, and those that are skipped.
func TestKindsOfTests(t *testing.T) {
	r, err := run(t, map[string]string{
		"x.rego": rules, "data.json": `{"settings":{"max":3}}`,
		"x_test.rego": `package tests.tools["odd.name"]

test_cases[note] if {
	some note, n in {"one": 1, "two": 2, "three": 2}
	n == 2
}

test_same if true

test_same if false

todo_test_later if false
`,
		"y_test.rego": "package tools.send\n\ntest_beside if count(deny) == 0 with input as {\"arguments\": {\"to\": \"a\"}}\n",
	})
	require.NoError(t, err)
	got := map[string]trial.Outcome{}
	for _, test := range r.Tests {
		got[test.Name] = test.Outcome
		if test.Name == "test_cases" {
			require.Equal(t, []string{"one"}, test.Cases)
		}
	}
	require.Equal(t, map[string]trial.Outcome{"test_cases": trial.Fail, "test_same": trial.Pass, "test_same#01": trial.Fail, "todo_test_later": trial.Skip, "test_beside": trial.Pass}, got)
	require.Equal(t, 3, r.Coverage.Rules, "tests are no rules")
}

func TestCoverage(t *testing.T) {
	r, err := run(t, map[string]string{
		"x.rego": rules, "data.json": `{"settings":{"max":3}}`,
		"lib.rego":    "package shared.lib\n\nhelper if true\n",
		"x_test.rego": "package tests.x\n\ntest_a if count(data.tools.send.deny) == 1 with input as {\"arguments\": {\"to\": \"evil\", \"n\": 9}}\n",
	})
	require.NoError(t, err)
	require.Equal(t, 4, r.Coverage.Rules)
	require.Equal(t, 1, r.Coverage.Covered)
	require.InDelta(t, 25, r.Coverage.Percent, 0.01)
	send := r.Coverage.Packages[1]
	require.Equal(t, "send", send.Tool)
	require.Equal(t, 1, send.Covered)
	require.Len(t, send.Missing, 2)
	require.Equal(t, 5, send.Missing[0].Line)
	require.Equal(t, 7, send.Missing[0].FailedAt)
	require.Zero(t, r.Coverage.Packages[0].Missing[0].FailedAt, "nothing asked it")

	var text, junit bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "x.rego:5: not covered: deny of package tools.send: no test gets past line 7")
	require.Contains(t, text.String(), "33.3%  1/3 rules  tool send")
	require.NoError(t, r.WriteJUnit(&junit))
	var suites struct {
		Tests  int `xml:"tests,attr"`
		Suites []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name string `xml:"name,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(junit.Bytes(), &suites))
	require.Equal(t, 1, suites.Tests)
	require.Equal(t, "test_a", suites.Suites[0].Cases[0].Name)
}

func TestWhatCanNotBeRun(t *testing.T) {
	for name, tt := range map[string]struct{ file, content, want string }{
		"a rule that doesn't parse":    {"y.rego", "package tools.y\n\ndeny contains {", "y.rego:"},
		"a test that doesn't parse":    {"y_test.rego", "package tests.y\n\ntest_a if {", "y_test.rego:"},
		"a test that doesn't compile":  {"y_test.rego", "package tests.y\n\ntest_a if unknown(1)", "y_test.rego:3"},
		"a rule against the contract":  {"y.rego", "package tools.y\n\ndeny := []\n", "deny-kind"},
		"a rule that uses the network": {"y.rego", "package tools.y\n\ndeny contains \"x\" if http.send({}).a == 1\n", "builtin"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, map[string]string{"x.rego": rules, "data.json": `{"settings":{"max":3}}`, tt.file: tt.content})
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := trial.Run(context.Background(), trial.Options{Bundles: bundles.Options{Bundles: []string{bundle(t, map[string]string{"x.rego": rules, "data.json": `{"settings":{"max":3}}`})}}, Run: "("})
	require.ErrorContains(t, err, "regular expression")
}
