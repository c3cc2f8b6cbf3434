package pitfalls

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// A report is one bug report as a case.
type report struct {
	head   map[string]string // id, source, what; finding and undeclared where they apply
	dir    string            // the bundle
	schema string            // of the tool; "" when it has none
	calls  []call
}

// A call is one line of calls.jsonl. The first one is the report itself.
type call struct {
	Tool      string
	Server    string
	Arguments json.RawMessage
	Raw       *string // instead of Arguments: the exact bytes
	Fill      int     // instead of Arguments: {"text": "xxx…"} with so many letters
	Expect    string  // allowed, or a refusal code
}

func readReports(t *testing.T) []report {
	files, err := filepath.Glob("cases/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var out []report
	for _, f := range files {
		out = append(out, readReport(t, f))
	}
	return out
}

func readReport(t *testing.T, name string) report {
	a, err := txtar.ParseFile(name)
	require.NoError(t, err)
	r := report{head: map[string]string{}, dir: t.TempDir()}
	for line := range strings.Lines(string(a.Comment)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		require.True(t, ok && slices.Contains([]string{"id", "source", "what", "finding", "undeclared"}, key), "%s: %q", name, line)
		r.head[key] = value
	}
	require.Equal(t, strings.TrimSuffix(filepath.Base(name), ".txtar"), r.head["id"])
	require.NotEmpty(t, r.head["source"], name)
	require.NotEmpty(t, r.head["what"], name)
	for _, f := range a.Files {
		switch f.Name {
		case "schema.json":
			r.schema = string(f.Data)
		case "calls.jsonl":
			for s := bufio.NewScanner(bytes.NewReader(f.Data)); s.Scan(); {
				var c call
				dec := json.NewDecoder(bytes.NewReader(s.Bytes()))
				dec.DisallowUnknownFields()
				require.NoError(t, dec.Decode(&c), "%s: %s", name, s.Text())
				r.calls = append(r.calls, c)
			}
		default:
			require.NoError(t, os.WriteFile(filepath.Join(r.dir, f.Name), f.Data, 0o600))
		}
	}
	return r
}

func (c call) bytes() []byte {
	switch {
	case c.Raw != nil:
		return []byte(*c.Raw)
	case c.Fill > 0:
		return []byte(`{"text":"` + strings.Repeat("x", c.Fill) + `"}`)
	default:
		return c.Arguments
	}
}

func TestPitfalls(t *testing.T) {
	for _, r := range readReports(t) {
		t.Run(r.head["id"], func(t *testing.T) {
			rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{r.dir}})
			if want := r.head["finding"]; want != "" {
				var e *regoeval.LoadError
				require.True(t, errors.As(err, &e), "it loads: %v", err)
				require.True(t, slices.ContainsFunc(e.Findings, func(f regoeval.Finding) bool { return f.ID == want }), "%v", err)
				require.Empty(t, r.calls)
				return
			}
			require.NoError(t, err)
			require.NotEmpty(t, r.calls)
			g, err := policy.NewGate(policy.Options{Schema: policy.SchemaOptions{Undeclared: r.head["undeclared"]}})
			require.NoError(t, err)
			g.Use(rs)
			for _, c := range r.calls {
				r.check(t, g, c)
			}
		})
	}
}

func (r report) check(t *testing.T, g *policy.Gate, c call) {
	spec := policy.ToolSpec{Name: c.Tool, Server: c.Server, InputSchema: []byte(r.schema), NoSchema: r.schema == ""}
	switch c.Tool {
	case "":
		spec.Name = "x"
	case "unchecked": // the same rules for a tool whose server declares next to nothing
		spec.InputSchema = []byte(`{"type":"object"}`)
	}
	d := g.Decide(context.Background(), policy.Call{Tool: g.Tool(spec), Arguments: c.bytes()})
	if c.Expect == "allowed" {
		require.True(t, d.Allowed, "%.100s: %v, %v", c.bytes(), d.Refusals, d.Err)
		return
	}
	require.False(t, d.Allowed, "%.100s", c.bytes())
	require.Equal(t, c.Expect, string(d.Code()), "%.100s: %v, %v", c.bytes(), d.Refusals, d.Err)
}

var listed = regexp.MustCompile(`(?m)^\| (B[0-9]+) \| [^|]+ \| [^|]+ \| [0-9]+`)

// Every report of the collection is a case that is decided as the report asks for, or
// is listed with the reason why it can't be.
func TestEveryReportHasACase(t *testing.T) {
	shared := os.Getenv("REGOGATE_SHARED")
	if shared == "" {
		t.Skip("REGOGATE_SHARED is not set: skipping the collection of pitfalls")
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var excused []string
	for _, m := range listed.FindAllStringSubmatch(string(readme), -1) {
		excused = append(excused, m[1])
	}
	cases := map[string]report{}
	for _, r := range readReports(t) {
		cases[r.head["id"]] = r
	}
	collection, err := os.ReadFile(filepath.Join(shared, "incidents", "pitfalls.jsonl"))
	require.NoError(t, err)
	seen := map[string]bool{}
	for line := range strings.Lines(string(collection)) {
		var p struct{ ID, Expected, Level string }
		require.NoError(t, json.Unmarshal([]byte(line), &p))
		seen[p.ID] = true
		r, ok := cases[p.ID]
		require.NotEqual(t, ok, slices.Contains(excused, p.ID), "%s: a case and excused, or neither", p.ID)
		if !ok {
			require.Equal(t, "operational", p.Level, "%s: a call or a policy decides it", p.ID)
			continue
		}
		allows := r.head["finding"] == "" && r.calls[0].Expect == "allowed"
		require.Equal(t, p.Expected == "allow", allows, "%s: the report asks for %q", p.ID, p.Expected)
	}
	for id := range cases {
		require.True(t, seen[id], "%s is in no collection", id)
	}
	for _, id := range excused {
		require.True(t, seen[id], "%s is in no collection", id)
	}
}
