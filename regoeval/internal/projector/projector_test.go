package projector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/regoeval/internal/projector"
	"github.com/regogate/regogate/regoeval/internal/shape"
)

// admits says where a value isn't of a shape, and why; "" when it is. A name that
// nothing declares counts as undeclared where the schema doesn't say that there are
// others: such places are told to undeclared instead.
func admits(s *shape.Shape, v any, path string, undeclared func(path string)) string {
	x, err := ast.InterfaceToValue(v)
	if err != nil {
		return ""
	}
	k := shape.KindOf(x)
	if s.Kinds&k == 0 {
		return fmt.Sprintf("%s: a %v is not of %v", path, k.Names(), s.Kinds.Names())
	}
	if k&shape.Scalar != 0 && !s.Has(x) {
		return fmt.Sprintf("%s: %v is not possible", path, x)
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Fields == nil {
			return ""
		}
		for name := range s.Fields.Required {
			if _, there := v[name]; !there {
				return path + ": not always has " + name
			}
		}
		for name, m := range v {
			child, declared, _ := s.Fields.Member(name)
			if !declared {
				undeclared(path + "/" + name)
				continue
			}
			if why := admits(child, m, path+"/"+name, undeclared); why != "" {
				return why
			}
		}
	case []any:
		if s.Items == nil {
			return ""
		}
		for i, e := range v {
			child, exists := s.Items.Element(i)
			if !exists {
				return fmt.Sprintf("%s: has no element %d", path, i)
			}
			if why := admits(child, e, fmt.Sprintf("%s/%d", path, i), undeclared); why != "" {
				return why
			}
		}
	}
	return ""
}

// A labelled schema, in the format of the JSON Schema test suite.
type labelled struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string `json:"description"`
		Data        any    `json:"data"`
		Valid       bool   `json:"valid"`
	} `json:"tests"`
}

func readLabelled(t *testing.T, file string) []labelled {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []labelled
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	require.NoError(t, d.Decode(&out), file)
	return out
}

// names reports whether some part of a schema declares a name, whatever it is about.
func names(schema any, name string) bool {
	switch s := schema.(type) {
	case map[string]any:
		for _, keyword := range []string{"properties", "patternProperties"} {
			if p, ok := s[keyword].(map[string]any); ok {
				if _, declared := p[name]; declared || keyword == "patternProperties" && len(p) > 0 {
					return true
				}
			}
		}
		for _, m := range s {
			if names(m, name) {
				return true
			}
		}
	case []any:
		for _, m := range s {
			if names(m, name) {
				return true
			}
		}
	}
	return false
}

// On every labelled argument set of real tools that is valid, and on every object of the
// schema suites that is: the shape admits it, and no name that the schema declares
// somewhere counts as undeclared, but where the label says that it doesn't belong there.
func TestEveryValidCallIsOfTheShape(t *testing.T) {
	shared := os.Getenv("REGOGATE_SHARED")
	if shared == "" {
		t.Skip("REGOGATE_SHARED is not set: skipping the labelled argument sets")
	}
	for suite, least := range map[string]int{"tool-arguments/*/*.json": 1000, "json-schema/tests/*/*.json": 300, "json-schema-adversarial/*/*.json": 20} {
		t.Run(strings.NewReplacer("/", ".", "*", "").Replace(suite), func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(shared, "suites", suite))
			require.NoError(t, err)
			valid, others := 0, 0
			for _, file := range files {
				for _, l := range readLabelled(t, file) {
					var schema any
					require.NoError(t, json.Unmarshal(l.Schema, &schema))
					for _, c := range l.Tests {
						if _, isObject := c.Data.(map[string]any); !isObject || !c.Valid {
							continue
						}
						valid++
						where := fmt.Sprintf("%s: %s: %s", filepath.Base(file), l.Description, c.Description)
						why := admits(projector.Arguments(withDialect(file, l.Schema)), c.Data, "", func(path string) {
							others++
							name := path[strings.LastIndex(path, "/")+1:]
							smuggled := strings.Contains(c.Description, "smuggled") // put where it isn't declared
							if strings.HasPrefix(suite, "tool-arguments") && !smuggled && names(schema, name) {
								t.Errorf("%s: %s is called undeclared", where, path)
							}
						})
						if why != "" {
							t.Errorf("%s: %s", where, why)
						}
					}
				}
			}
			require.GreaterOrEqual(t, valid, least)
			t.Logf("%d valid objects, %d names in them that no part of their schema declares", valid, others)
		})
	}
}

// withDialect says which draft a schema of a suite is of, as the suite's folder does.
func withDialect(file string, schema json.RawMessage) []byte {
	if !strings.Contains(file, "draft7") && !strings.Contains(file, "draft-07") {
		return schema
	}
	var m map[string]any
	if json.Unmarshal(schema, &m) != nil || m["$schema"] != nil {
		return schema
	}
	m["$schema"] = "http://json-schema.org/draft-07/schema#"
	out, err := json.Marshal(m)
	if err != nil {
		return schema
	}
	return out
}
