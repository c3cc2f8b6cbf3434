package regoeval_test

import (
	"cmp"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/regoeval"
)

var update = flag.Bool("update", false, "write the table of docs/contract.md")

const contractFile = "../docs/contract.md"

// section is what docs/contract.md says of one id.
type section struct {
	id, text string
	files    map[string]string
}

var (
	heading = regexp.MustCompile("(?m)^### `([a-z-]+)`$")
	fence   = regexp.MustCompile("(?ms)^```(rego|json ([^\n]+))\n(.*?)^```$")
)

func sections(t *testing.T, doc string) []section {
	var out []section
	at := heading.FindAllStringSubmatchIndex(doc, -1)
	for i, m := range at {
		end := strings.Index(doc[m[1]:], "\n## ") + m[1]
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		s := section{id: doc[m[2]:m[3]], text: doc[m[1]:end], files: map[string]string{}}
		for _, f := range fence.FindAllStringSubmatch(s.text, -1) {
			s.files[cmp.Or(f[2], "policy.rego")] = f[3]
		}
		out = append(out, s)
	}
	require.NotEmpty(t, out)
	return out
}

// The ids of findings are explained, each with an example that has it and a remedy.
func TestContractExplainsEveryID(t *testing.T) {
	source, err := os.ReadFile("ids.go")
	require.NoError(t, err)
	var ids, explained []string
	for _, m := range regexp.MustCompile(`(?m)^\tid\w+ *= "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		ids = append(ids, m[1])
	}
	doc, err := os.ReadFile(contractFile)
	require.NoError(t, err)
	withoutExample := []string{"wasm", "roots", "engine"} // no Rego has these
	for _, s := range sections(t, string(doc)) {
		explained = append(explained, s.id)
		require.Contains(t, s.text, "\nRemedy: ", s.id)
		if slices.Contains(withoutExample, s.id) {
			continue
		}
		require.NotEmpty(t, s.files, "%s has no example", s.id)
		_, err := load(t, s.files)
		require.True(t, has(err, s.id), "the example of %s: %v", s.id, err)
	}
	require.ElementsMatch(t, ids, explained)
}

// The table of docs/contract.md is made of the heads of testdata/traps.
func TestContractTable(t *testing.T) {
	const begin, end = "<!-- traps: made by go test ./regoeval -run ContractTable -update -->\n", "<!-- end of traps -->"
	doc, err := os.ReadFile(contractFile)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(doc), begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := before + begin + table(readTraps(t)) + end + after
	if *update {
		require.NoError(t, os.WriteFile(contractFile, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(doc), "run go test ./regoeval -run ContractTable -update")
}

func table(traps []trap) string {
	slices.SortStableFunc(traps, func(a, b trap) int {
		return cmp.Or(cmp.Compare(rowOrder(a.one("row")), rowOrder(b.one("row"))), cmp.Compare(a.one("row"), b.one("row")))
	})
	var b strings.Builder
	b.WriteString("| row | situation | plain OPA | regogate | why | test |\n|---|---|---|---|---|---|\n")
	for _, tr := range traps {
		does := tr.one("class")
		var ids []string
		for _, f := range tr.head["finding"] {
			id, _, _ := strings.Cut(f, " ")
			ids = append(ids, "`"+id+"`")
		}
		switch {
		case len(ids) > 0:
			does += ": " + strings.Join(slices.Compact(ids), ", ")
		case does != "ordinary" && does != "lint":
			does = "`" + does + "`"
		}
		test := cmp.Or(tr.one("test"), strings.TrimSuffix(filepath.Base(tr.file), ".txtar"))
		cells := []string{tr.one("row"), tr.one("title"), tr.one("opa"), does, tr.one("why"), test}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// rowOrder puts numbered rows first, in order.
func rowOrder(row string) int {
	if n, err := strconv.Atoi(row); err == nil {
		return n
	}
	return 1 << 20
}

// Every row of the table of traps that the project began with is there.
func TestEveryRowHasATrap(t *testing.T) {
	rows := map[string]int{}
	for _, tr := range readTraps(t) {
		rows[tr.one("row")]++
	}
	for n := 1; n <= 33; n++ {
		require.NotZero(t, rows[strconv.Itoa(n)], "row %d", n)
	}
	for _, part := range []string{"Numbers", "Nesting", "Names", "With", "Built-ins", "Schemas"} {
		require.NotZero(t, rows[part], part)
	}
}

// A finding is one line: place, id, what and what to do.
func TestFindingIsOneLine(t *testing.T) {
	_, err := load(t, map[string]string{"a.rego": "package tools.x\n\ndeny contains \"no\" if not startswith(\n\tinput.arguments.p,\n\t\"/srv\",\n)"})
	var e *regoeval.LoadError
	require.True(t, errors.As(err, &e))
	require.Len(t, e.Findings, 1)
	require.Regexp(t, "^b/a\\.rego:3:[0-9]+: not-semantics: `not startswith\\( input\\.arguments\\.p, \"/srv\", \\)` is .*; add .*$", e.Error())
}
