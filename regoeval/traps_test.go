package regoeval_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// A trap is one way in which a rule of plain Rego comes out as "no objection". It is a
// txtar archive in testdata/traps: a head of "key: value" lines, the files of a
// bundle, schema.json with the tool's input schema, and calls.jsonl. What is below
// control/ is the neighbour that is as it should be.
type trap struct {
	file    string
	head    map[string][]string
	files   map[string]string
	control map[string]string
}

var trapKeys = []string{"row", "title", "class", "opa", "why", "tool", "finding", "steps", "timeout", "cancelled", "test"}

var trapClasses = []string{
	"refused at load", "undecided", "denied", "malformed", "schema_violation", "unmapped",
	"ordinary", // a rule on an optional argument, or on none: nothing is wrong with silence
	"lint",     // silent today, reported by the lint against the tool's schema
}

// A trapCall is one line of calls.jsonl.
type trapCall struct {
	Tool      *string
	Arguments json.RawMessage
	Raw       string // instead of Arguments: the exact bytes
	Nest      int    // instead of Arguments: {"v": [[[…]]]}, so deep
	Caller    policy.Caller
	Expect    string // allowed, or a refusal code
	Message   string // a part of the first refusal's message
	OPA       string // what plain OPA makes of it: undefined, nothing, refuses, odd, error
}

func readTraps(t testing.TB) []trap {
	names, err := filepath.Glob("testdata/traps/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var out []trap
	for _, name := range names {
		out = append(out, readTrap(t, name))
	}
	return out
}

func readTrap(t testing.TB, name string) trap {
	a, err := txtar.ParseFile(name)
	require.NoError(t, err)
	tr := trap{file: filepath.Base(name), head: map[string][]string{}, files: map[string]string{}, control: map[string]string{}}
	for line := range strings.Lines(string(a.Comment)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		require.True(t, ok && slices.Contains(trapKeys, key), "%s: unexpected line %q", name, line)
		tr.head[key] = append(tr.head[key], value)
	}
	for _, f := range a.Files {
		if rest, ok := strings.CutPrefix(f.Name, "control/"); ok {
			tr.control[rest] = string(f.Data)
		} else {
			tr.files[f.Name] = string(f.Data)
		}
	}
	for _, key := range []string{"row", "title", "class", "opa", "why"} {
		require.Len(t, tr.head[key], 1, "%s: %s", name, key)
	}
	require.Contains(t, trapClasses, tr.one("class"), name)
	return tr
}

func (tr trap) one(key string) string { return strings.Join(tr.head[key], "; ") }

// split takes what is no part of the bundle out of files.
func split(files map[string]string) (bundleFiles map[string]string, calls, schema string) {
	bundleFiles = maps.Clone(files)
	calls, schema = files["calls.jsonl"], files["schema.json"]
	delete(bundleFiles, "calls.jsonl")
	delete(bundleFiles, "schema.json")
	return bundleFiles, calls, schema
}

func TestTraps(t *testing.T) {
	for _, tr := range readTraps(t) {
		t.Run(strings.TrimSuffix(tr.file, ".txtar"), func(t *testing.T) {
			t.Parallel()
			if tr.one("test") != "" {
				requireTestExists(t, tr.one("test"))
				return
			}
			if tr.one("class") == "refused at load" {
				tr.checkRefusedAtLoad(t)
				return
			}
			require.Empty(t, tr.head["finding"])
			expected := tr.checkCalls(t, tr.files)
			tr.checkClass(t, expected)
		})
	}
}

// checkRefusedAtLoad: the bundle has exactly the findings of the head, and its
// neighbour loads and decides.
func (tr trap) checkRefusedAtLoad(t *testing.T) {
	files, calls, _ := split(tr.files)
	_, err := load(t, files)
	var e *regoeval.LoadError
	require.True(t, errors.As(err, &e), "it loads, or fails otherwise: %v", err)
	var got []string
	for _, f := range e.Findings {
		require.NotEmpty(t, f.Message)
		require.NotEmpty(t, f.Fix, "%v", f)
		place := strings.TrimPrefix(f.File, "b/")
		if f.Line > 0 {
			place += ":" + strconv.Itoa(f.Line)
		}
		got = append(got, strings.TrimSpace(f.ID+" "+place))
	}
	require.Equal(t, tr.head["finding"], slices.Compact(got), "%v", err)
	if calls != "" {
		b, err := read(t, files)
		require.NoError(t, err)
		for _, c := range parseCalls(t, calls) {
			require.Empty(t, c.Expect)
			require.Equal(t, c.OPA, plainOPA(t, b, c.tool(tr.tool()), c), "plain OPA, %s", c.Arguments)
		}
	}
	require.NotEmpty(t, tr.control, "no neighbour that loads")
	expected := tr.checkCalls(t, tr.control)
	require.NotEmpty(t, expected)
}

func (tr trap) tool() string {
	if name, ok := tr.head["tool"]; ok {
		var s string
		if err := json.Unmarshal([]byte(name[0]), &s); err != nil {
			panic(err)
		}
		return s
	}
	return "x"
}

// checkCalls decides the calls of files, with every engine, and returns what was
// expected of them.
func (tr trap) checkCalls(t *testing.T, files map[string]string) []string {
	for _, engine := range []regoeval.Engine{regoeval.Compiled, regoeval.Both} {
		tr.checkEngine(t, files, engine)
	}
	return tr.checkEngine(t, files, regoeval.Topdown)
}

func (tr trap) checkEngine(t *testing.T, files map[string]string, engine regoeval.Engine) []string {
	t.Helper()
	bundleFiles, calls, schema := split(files)
	b, err := read(t, bundleFiles)
	require.NoError(t, err)
	o := regoeval.Options{Engine: engine}
	if s := tr.one("steps"); s != "" {
		o.Steps, err = strconv.ParseInt(s, 10, 64)
		require.NoError(t, err)
	}
	rs, err := regoeval.New(context.Background(), regoeval.Source{Bundles: []regoeval.NamedBundle{{Name: "b", Bundle: b}}}, o)
	require.NoError(t, err)
	var po policy.Options
	if s := tr.one("timeout"); s != "" {
		po.Timeout, err = time.ParseDuration(s)
		require.NoError(t, err)
	}
	g, err := policy.NewGate(po)
	require.NoError(t, err)
	g.Use(rs)
	var expected []string
	for _, c := range parseCalls(t, calls) {
		name := c.tool(tr.tool())
		tool := g.Tool(policy.ToolSpec{Name: name, InputSchema: []byte(schema), NoSchema: schema == ""})
		ctx := policy.WithCaller(context.Background(), c.Caller)
		if tr.one("cancelled") != "" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			cancel()
		}
		d := g.Decide(ctx, policy.Call{Tool: tool, Arguments: c.bytes()})
		c.check(t, d)
		if c.OPA != "" && engine == regoeval.Topdown {
			require.Equal(t, c.OPA, plainOPA(t, b, name, c), "plain OPA, %s", c.Arguments)
		}
		expected = append(expected, c.Expect)
	}
	require.Zero(t, rs.Differences())
	return expected
}

func (c trapCall) check(t *testing.T, d policy.Decision) {
	what := fmt.Sprintf("%.200s: %v, %v", c.bytes(), d.Refusals, d.Err)
	require.NotEmpty(t, c.Expect, what)
	if c.Expect == "allowed" {
		require.True(t, d.Allowed, what)
		return
	}
	require.False(t, d.Allowed, what)
	var codes []string
	found := c.Message == ""
	for _, r := range d.Refusals {
		codes = append(codes, string(r.Code))
		found = found || strings.Contains(r.Message, c.Message)
	}
	require.Contains(t, codes, c.Expect, what)
	require.True(t, found, "no message with %q: %s", c.Message, what)
}

// checkClass: some call shows what the class says, and some call shows the opposite.
func (tr trap) checkClass(t *testing.T, expected []string) {
	switch class := tr.one("class"); class {
	case "ordinary", "lint":
		require.Contains(t, expected, "allowed")
		require.True(t, slices.ContainsFunc(expected, func(e string) bool { return e != "allowed" }), "no call that the rule refuses")
	default:
		require.Contains(t, expected, class)
		require.True(t, tr.one("cancelled")+tr.one("steps")+tr.one("timeout") != "" || slices.Contains(expected, "allowed"), "no neighbour that is allowed")
	}
}

func (c trapCall) tool(otherwise string) string {
	if c.Tool != nil {
		return *c.Tool
	}
	return otherwise
}

func (c trapCall) bytes() []byte {
	switch {
	case c.Raw != "":
		return []byte(c.Raw)
	case c.Nest > 0:
		return []byte(`{"v":` + strings.Repeat("[", c.Nest) + strings.Repeat("]", c.Nest) + `}`)
	default:
		return c.Arguments
	}
}

func parseCalls(t testing.TB, lines string) []trapCall {
	var out []trapCall
	for s := bufio.NewScanner(strings.NewReader(lines)); s.Scan(); {
		var c trapCall
		dec := json.NewDecoder(bytes.NewReader(s.Bytes()))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(&c), "%s", s.Text())
		out = append(out, c)
	}
	return out
}
