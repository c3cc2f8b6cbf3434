package incidents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const settings = "settings.json"

// Our own set is refused and allowed completely: a case that isn't is a regression.
func TestIncidents(t *testing.T) {
	r := measure(t, starterGate(t, settings), readCases(t, "incidents.jsonl"))
	r.log(t, "incidents.jsonl")
	r.require(t, 1, 1)
}

// A further set, written before its author had read the rules, and then kept. What its
// first measurement was is in the guide.
func TestFurtherCalls(t *testing.T) {
	cases := readCases(t, "further.jsonl")
	attacks := 0
	for _, c := range cases {
		if c.Expected == "refuse" {
			attacks++
		}
	}
	require.GreaterOrEqual(t, attacks, 700)
	require.GreaterOrEqual(t, len(cases)-attacks, 400)
	r := measure(t, starterGate(t, settings), cases)
	r.log(t, "further.jsonl")
	r.require(t, 0.99, 1)
}

// Without allow lists and roots, most of it is refused too: the rest is what only the
// user knows (which directories, repositories, people, limits).
func TestIncidentsWithDefaultSettings(t *testing.T) {
	var refusable []testCase
	for _, c := range readCases(t, "incidents.jsonl") {
		if c.Expected == "refuse" && c.refusable() {
			refusable = append(refusable, c)
		}
	}
	r := measure(t, starterGate(t, ""), refusable)
	r.log(t, "incidents.jsonl, refusable, default settings")
	r.require(t, 0.85, 1)
}

func TestBenignCalls(t *testing.T) {
	cases := readCases(t, "benign.jsonl")
	tools := map[string]bool{}
	for i := range cases {
		cases[i].Kind = "benign"
		tools[cases[i].Tool] = true
	}
	require.GreaterOrEqual(t, len(cases), 300)
	require.GreaterOrEqual(t, len(tools), 30)
	r := measure(t, starterGate(t, ""), cases)
	r.log(t, "benign.jsonl, default settings")
	r.require(t, 1, 0.99)
}

// Every case says where it comes from, and no two have one id.
func TestCasesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range slices.Concat(readCases(t, "incidents.jsonl"), readCases(t, "further.jsonl")) {
		require.NotEmptyf(t, c.Source, "%s has no source", c.ID)
		require.NotEmptyf(t, c.Kind, "%s has no kind", c.ID)
		require.NotEmptyf(t, c.Reason, "%s has no reason", c.ID)
		require.Containsf(t, []string{"", "resolver", "session", "server"}, c.Needs, "%s needs something unknown", c.ID)
		require.Falsef(t, seen[c.ID], "%s is there twice", c.ID)
		seen[c.ID] = true
	}
}

func TestSharedIncidents(t *testing.T) {
	dir := sharedFolder(t, "the shared incidents")
	cases := readCases(t, filepath.Join(dir, "incidents", "incidents.jsonl"))
	r := measure(t, starterGate(t, settings), cases)
	r.log(t, "shared incidents")
	r.require(t, 0.95, 0.99)
}

// The labelled valid arguments of real servers' tools, with the settings as they come.
func TestSharedToolArguments(t *testing.T) {
	dir := sharedFolder(t, "the labelled tool arguments")
	files, err := filepath.Glob(filepath.Join(dir, "suites", "tool-arguments", "*", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	g := starterGate(t, "")
	total, refused := 0, map[string]int{}
	for _, file := range files {
		for _, c := range validArguments(t, file) {
			total++
			d := decide(g, c.Tool, c.Arguments)
			if d.Allowed {
				continue
			}
			require.Truef(t, denied(d), "%s %s: %v", c.Tool, c.Arguments, d.Err)
			refused[strings.Join(rules(d), ",")]++
		}
	}
	all := 0
	for _, id := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%-30s %d", id, refused[id])
		all += refused[id]
	}
	t.Logf("%d of %d valid calls refused (%.2f %%)", all, total, 100*float64(all)/float64(total))
	require.Less(t, float64(all)/float64(total), 0.005)
}

// validArguments reads the valid calls of a file in the suite's format: groups called
// "server/tool" with tests.
func validArguments(t testing.TB, file string) []testCase {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var groups []struct {
		Description string `json:"description"`
		Tests       []struct {
			Data  json.RawMessage `json:"data"`
			Valid bool            `json:"valid"`
		} `json:"tests"`
	}
	require.NoError(t, json.Unmarshal(raw, &groups))
	var out []testCase
	for _, g := range groups {
		_, tool, found := strings.Cut(g.Description, "/")
		require.Truef(t, found, "%s: %q names no tool", file, g.Description)
		for _, test := range g.Tests {
			if test.Valid && bytes.HasPrefix(bytes.TrimSpace(test.Data), []byte("{")) {
				out = append(out, testCase{ID: fmt.Sprintf("%s %d", g.Description, len(out)), Tool: tool, Arguments: test.Data})
			}
		}
	}
	return out
}
