package inputschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

// shared returns the folder of test data, or skips.
func shared(t testing.TB, suite string) string {
	t.Helper()
	folder := os.Getenv("REGOGATE_SHARED")
	if folder == "" {
		t.Skipf("REGOGATE_SHARED is not set: skipping %s", suite)
	}
	return folder
}

// A group is one schema of a suite in the official format, with its tests.
type group struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
	file string // its path below the suite's folder
}

// readGroups reads the groups of the files directly in a folder.
func readGroups(t testing.TB, folder string) []group {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no suite in %s", folder)
	var all []group
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		var groups []group
		require.NoError(t, json.Unmarshal(raw, &groups), f)
		for i := range groups {
			groups[i].file = filepath.Base(f)
		}
		all = append(all, groups...)
	}
	return all
}

// officialRemotes serves the suite's remote documents.
func officialRemotes(folder string) func(string) (any, error) {
	return func(url string) (any, error) {
		path, ok := strings.CutPrefix(url, "http://localhost:1234/")
		if !ok {
			return nil, errors.New("not a remote of the suite")
		}
		f, err := os.Open(filepath.Join(folder, "remotes", filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return jsonschema.UnmarshalJSON(f)
	}
}

// A tally counts what a suite says and what we say.
type tally struct {
	total, passed, falseAccepts, falseRefusals int
	failures                                   []string
}

func (c *tally) add(where string, valid, accepted bool, detail string) {
	c.total++
	switch {
	case valid == accepted:
		c.passed++
		return
	case accepted:
		c.falseAccepts++
		where = "false accept: " + where
	default:
		c.falseRefusals++
		where = "false refusal: " + where
	}
	c.failures = append(c.failures, where+": "+detail)
}

// judge runs one group. Data is read as the gate reads arguments.
func (c *tally) judge(g group, o Options, env environment) {
	s, compileErr := compile(g.Schema, o, env)
	for _, test := range g.Tests {
		where := fmt.Sprintf("%s/%s/%s", g.file, g.Description, test.Description)
		accepted, detail := false, ""
		v, err := strictjson.Parse(test.Data, strictjson.Limits{})
		switch {
		case compileErr != nil:
			detail = compileErr.Error()
		case err != nil:
			detail = err.Error()
		default:
			violations, err := s.check(v)
			accepted = err == nil && len(violations) == 0
			detail = fmt.Sprint(violations, err)
		}
		c.add(where, test.Valid, accepted, detail)
	}
}

func TestOfficialSuite(t *testing.T) {
	root := filepath.Join(shared(t, "the official JSON Schema suite"), "suites", "json-schema")
	for _, dialect := range []struct {
		folder   string
		draft    *jsonschema.Draft
		required int
	}{
		{"draft7", jsonschema.Draft7, 927},
		{"draft2019-09", jsonschema.Draft2019, 1259},
		{"draft2020-12", jsonschema.Draft2020, 1299},
	} {
		t.Run(dialect.folder, func(t *testing.T) {
			env := environment{load: officialRemotes(root), dialect: dialect.draft, anyRoot: true}
			folder := filepath.Join(root, "tests", dialect.folder)
			run := func(folder string, o Options) tally {
				var c tally
				for _, g := range readGroups(t, folder) {
					c.judge(g, o, env)
				}
				return c
			}
			c := run(folder, Options{Formats: Annotate})
			require.Empty(t, c.failures)
			require.Equal(t, dialect.required, c.passed)
			c = run(filepath.Join(folder, "optional"), Options{Formats: Annotate})
			t.Logf("optional: %d of %d, false accepts %d, false refusals %d", c.passed, c.total, c.falseAccepts, c.falseRefusals)
			for _, f := range c.failures {
				t.Log(f)
			}
			c = run(filepath.Join(folder, "optional", "format"), Options{})
			t.Logf("optional/format: %d of %d, false accepts %d, false refusals %d", c.passed, c.total, c.falseAccepts, c.falseRefusals)
			if testing.Verbose() {
				for _, f := range c.failures {
					t.Log(f)
				}
			}
		})
	}
}

// timeLimit is how long any case of a suite may take.
func timeLimit() time.Duration {
	if raceEnabled {
		return 10 * time.Second
	}
	return time.Second
}

// mislabelled are cases of the adversarial suite that say invalid though the schema
// accepts the value: propertyNames and contains consume input, so a reference to the
// root below them is no cycle.
var mislabelled = []string{
	"loops.json/contains self/array",
	"loops.json/contains self/object",
	"loops.json/propertyNames self/array",
	"loops.json/propertyNames self/object",
}

// refusedByDesign are valid cases of the adversarial suite that are refused, and why.
var refusedByDesign = map[string]string{
	"obj.json/case-variant keyword alone is unknown/number ok": "engines disagree about such keywords",
	"str.json/pattern lookahead (ECMA only)/ok":                "not RE2",
	"str.json/pattern backreference (ECMA only)/aa":            "not RE2",
	"str.json/lone surrogate/lone":                             "not strict JSON",
	"type.json/integer/1e400":                                  "not strict JSON: infinite in binary64",
	"type.json/number/1e400":                                   "not strict JSON: infinite in binary64",
	"exp.json/minimum huge exponent/1e100000000":               "not strict JSON: infinite in binary64",
	"exp.json/type integer huge exponent/1e100000000":          "not strict JSON: infinite in binary64",
	"deep.json/deep instance 9000/deep":                        "deeper than 64",
	"deep.json/deep schema 3000/shallow":                       "deeper than 64",
	"exp.json/2^24 ref doubling/object":                        "out of steps",
}

func TestAdversarialSuite(t *testing.T) {
	root := filepath.Join(shared(t, "the adversarial suite"), "suites", "json-schema-adversarial")
	var c tally
	for _, part := range []struct {
		folder string
		draft  *jsonschema.Draft
	}{
		{"draft7", jsonschema.Draft7},
		{"draft2020-12", jsonschema.Draft2020},
		{"draft2020-12/optional/format", jsonschema.Draft2020},
	} {
		for _, g := range readGroups(t, filepath.Join(root, part.folder)) {
			start := elapsed()
			c.judge(g, Options{}, environment{dialect: part.draft})
			took := elapsed() - start
			require.Less(t, took, timeLimit(), "%s: %s", g.file, g.Description)
			if took > 100*time.Millisecond {
				t.Logf("%v for %s: %s", took, g.file, g.Description)
			}
		}
	}
	t.Logf("%d of %d as labelled, false accepts %d, false refusals %d", c.passed, c.total, c.falseAccepts, c.falseRefusals)
	accepted, refused := map[string]bool{}, map[string]bool{}
	for _, f := range c.failures {
		which, f, _ := strings.Cut(f, ": ")
		where, why, _ := strings.Cut(f, ": ")
		if which == "false accept" {
			accepted[where] = true
		} else {
			refused[where] = true
			require.Contains(t, refusedByDesign, where, why)
		}
	}
	require.Equal(t, mislabelled, sortedNames(accepted))
	require.Equal(t, sortedNames(refusedByDesign), sortedNames(refused), "a case is no longer refused: remove it from the list")
}

func TestToolArguments(t *testing.T) {
	root := filepath.Join(shared(t, "the tool argument suite"), "suites", "tool-arguments")
	for _, dialect := range []struct {
		folder string
		draft  *jsonschema.Draft
	}{{"draft7", jsonschema.Draft7}, {"draft2020-12", jsonschema.Draft2020}} {
		var c tally
		for _, g := range readGroups(t, filepath.Join(root, dialect.folder)) {
			c.judge(g, Options{Formats: Annotate}, environment{dialect: dialect.draft})
		}
		t.Logf("%s: %d of %d", dialect.folder, c.passed, c.total)
		require.NotZero(t, c.total)
		require.Empty(t, c.failures)
	}
}

// tools returns the input schemas of the published tools by "file/name".
func tools(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shared(t, "the published tools"), "tools", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]json.RawMessage{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		require.NoError(t, err)
		var list struct {
			Tools []struct {
				Name        string          `json:"name"`
				InputSchema json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
		}
		require.NoError(t, json.Unmarshal(raw, &list), f)
		require.NotEmpty(t, list.Tools, f)
		for _, tool := range list.Tools {
			all[filepath.Base(f)+"/"+tool.Name] = tool.InputSchema
		}
	}
	return all
}

func TestPublishedToolsCompile(t *testing.T) {
	all := tools(t)
	var slowest time.Duration
	which := ""
	for name, raw := range all {
		for _, o := range []Options{{}, {Undeclared: UndeclaredRefuse, OptionalNull: OptionalNullAbsent, SecondOpinion: SecondOpinionQri}} {
			start := time.Now()
			_, err := Compile(raw, o)
			require.NoError(t, err, name)
			if took := time.Since(start); took > slowest {
				slowest, which = took, name
			}
		}
	}
	t.Logf("%d schemas; slowest %v: %s", len(all), slowest, which)
}
