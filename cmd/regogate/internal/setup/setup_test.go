package setup

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
)

// What the configuration has as default is what the gate has as default, so that no
// configuration and an empty one are the same gate.
func TestDefaultsAgree(t *testing.T) {
	c, err := config.Load(config.Options{})
	require.NoError(t, err)
	fromConfig, err := policy.NewGate(Options(c))
	require.NoError(t, err)
	fromNothing, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	fromZero, err := policy.NewGate(Options(config.Config{}))
	require.NoError(t, err)
	normal := func(g *policy.Gate) policy.Options {
		o := g.Options()
		if o.Schema.Formats == "" { // NewGate leaves these as they were given
			o.Schema = policy.SchemaOptions{Formats: "assert", Undeclared: "follow", OptionalNull: "refuse", Defaults: "view", SecondOpinion: "none", Steps: o.Schema.Steps}
		}
		return o
	}
	require.Equal(t, normal(fromNothing), normal(fromConfig))
	require.Equal(t, normal(fromNothing), normal(fromZero))
}

// Every key that is about the gate reaches it.
func TestOptionsCarryEveryKey(t *testing.T) {
	c := config.Config{
		Mode:   "shadow",
		Tools:  config.Tools{Unmapped: "allow", OwnPackage: "require", Pins: "warn"},
		Schema: config.Schema{Enforce: config.Off, Formats: "annotate", Undeclared: "refuse", OptionalNull: "absent", Defaults: "ignore", SecondOpinion: "qri"},
		Limits: config.Limits{ArgumentBytes: 1, Depth: 2, NumberLength: 3, SchemaSteps: 4, Timeout: time.Minute, Refusals: 5, MessageBytes: 6, Abandoned: 7},
		Caller: config.Caller{Require: []string{"subject"}},
	}
	o := Options(c)
	for i := range reflect.TypeFor[policy.Options]().NumField() {
		f := reflect.TypeFor[policy.Options]().Field(i)
		if f.Name == "Validators" || f.Name == "Recorder" {
			continue // only a program can have them
		}
		require.False(t, reflect.ValueOf(o).Field(i).IsZero(), "%s is not set by any key", f.Name)
	}
	for i := range reflect.TypeFor[policy.SchemaOptions]().NumField() {
		require.False(t, reflect.ValueOf(o.Schema).Field(i).IsZero(), "%s is not set by any key", reflect.TypeFor[policy.SchemaOptions]().Field(i).Name)
	}
	_, err := policy.NewGate(o)
	require.NoError(t, err, "every value that the configuration knows has a meaning")
}

func gate(t *testing.T) *policy.Gate {
	t.Helper()
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	return g
}

func toolsFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tools.json")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func TestTools(t *testing.T) {
	tools, err := ReadTools(gate(t), toolsFile(t, `{"tools":[{"name":"b","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]}`))
	require.NoError(t, err)
	require.True(t, tools.Get("s", "a").Known())
	require.Equal(t, "s", tools.Get("s", "a").Server())
	require.Same(t, tools.Get("s", "a"), tools.Get("s", "a"))
	require.NotSame(t, tools.Get("s", "a"), tools.Get("other", "a"))
	require.False(t, tools.Get("s", "A").Known())
	require.Equal(t, "A", tools.Get("s", "A").Name())
	var names []string
	for _, tool := range tools.All("s") {
		names = append(names, tool.Name())
	}
	require.Equal(t, []string{"b", "a"}, names)
}

func TestNoSchemaForgets(t *testing.T) {
	tools := NoSchema(gate(t))
	for i := range 3 * maxMade {
		tool := tools.Get("", string(rune('a'+i)))
		require.True(t, tool.Known())
		require.NoError(t, tool.SchemaErr())
	}
	require.LessOrEqual(t, len(tools.made), maxMade)
}

func TestReadToolsErrors(t *testing.T) {
	for content, want := range map[string]string{
		``:                               ":1:1: not JSON: the file is empty",
		"{\n \"tools\": [}":              ":2:12: not JSON: ",
		"{\"tools\": []}\n\n x":          ":3:2: not JSON: ",
		"{\"tools\": []}{}":              ":1:14: not JSON: something follows the value",
		"{\"tools\": ":                   ":1:11: not JSON: ",
		`{"tools": {}}`:                  "not an array",
		`{"tools": [5]}`:                 "/tools/0: ",
		`7`:                              "neither a tools/list result",
		"\ufeff{\"tools\": []}":          ":1:1: not JSON: ",
		`{"tools": [], "tools": []}`:     "given twice",
		`[{"name": "a"}, {"name": 5}]`:   "/tools/1: name",
		`[{"title": "a"}, {"name": ""}]`: "/tools/0: name",
	} {
		file := toolsFile(t, content)
		_, err := ReadTools(gate(t), file)
		require.ErrorContains(t, err, "tools: "+file, content)
		require.ErrorContains(t, err, want, content)
		require.NotContains(t, err.Error(), "\n", content)
	}
}
