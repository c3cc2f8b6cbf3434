package inputschema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFoldConflicts(t *testing.T) {
	const like = "a name here is like %q, but not spelled exactly so: use the declared spelling, or another name"
	for _, test := range []struct {
		name, schema, args string
		want               []string // pointer and declared name
	}{
		{"exact", `{"properties":{"path":{}}}`, `{"path":1,"other":2}`, nil},
		{"letter case", `{"properties":{"path":{}}}`, `{"Path":1}`, []string{"", "path"}},
		{"Unicode folding", `{"properties":{"skip":{}}}`, `{"\u017f\u212aip":1}`, []string{"", "skip"}},
		{"trailing NUL", `{"properties":{"path":{}}}`, `{"path\u0000":1}`, []string{"", "path"}},
		{"no properties", `{"type":"object"}`, `{"Path":1}`, nil},
		{"through $ref", `{"$ref":"#/$defs/o","$defs":{"o":{"properties":{"path":{}}}}}`, `{"PATH":1}`, []string{"", "path"}},
		{"through allOf", `{"allOf":[{"properties":{"path":{}}}]}`, `{"PATH":1}`, []string{"", "path"}},
		{"through anyOf", `{"anyOf":[{},{"properties":{"path":{}}}]}`, `{"PATH":1}`, []string{"", "path"}},
		{"through oneOf", `{"oneOf":[{"type":"object","properties":{"path":{}}},{"type":"null"}]}`, `{"PATH":1}`, []string{"", "path"}},
		{"through if", `{"if":{"properties":{"path":{"const":1}}},"then":{}}`, `{"PATH":1}`, []string{"", "path"}},
		{"through then", `{"if":{},"then":{"properties":{"path":{}}}}`, `{"PATH":1}`, []string{"", "path"}},
		{"through else", `{"if":{},"else":{"properties":{"path":{}}}}`, `{"PATH":1}`, []string{"", "path"}},
		{"through dependentSchemas", `{"dependentSchemas":{"x":{"properties":{"path":{}}}}}`, `{"PATH":1}`, []string{"", "path"}},
		{"through dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"x":{"properties":{"path":{}}}}}`, `{"PATH":1}`, []string{"", "path"}},
		{"through $dynamicRef", `{"$dynamicRef":"#o","$defs":{"o":{"$dynamicAnchor":"o","properties":{"path":{}}}}}`, `{"PATH":1}`, []string{"", "path"}},
		{"nested", `{"properties":{"o":{"properties":{"path":{}}}}}`, `{"o":{"PATH":1}}`, []string{"/o", "path"}},
		{"items", `{"properties":{"l":{"items":{"properties":{"path":{}}}}}}`, `{"l":[{},{"PATH":1}]}`, []string{"/l/1", "path"}},
		{"prefixItems", `{"properties":{"l":{"prefixItems":[{},{"properties":{"path":{}}}]}}}`, `{"l":[{"PATH":1},{"PATH":1}]}`, []string{"/l/1", "path"}},
		{"contains", `{"properties":{"l":{"contains":{"properties":{"path":{}}}}}}`, `{"l":[{"PATH":1}]}`, []string{"/l/0", "path"}},
		{"additionalProperties", `{"additionalProperties":{"properties":{"path":{}}}}`, `{"secret":{"PATH":1}}`, []string{"/*", "path"}},
		{"patternProperties", `{"patternProperties":{"^s":{"properties":{"path":{}}}}}`, `{"secret":{"PATH":1},"x":{"PATH":1}}`, []string{"/*", "path"}},
		{"unevaluatedProperties", `{"unevaluatedProperties":{"properties":{"path":{}}}}`, `{"secret":{"PATH":1}}`, []string{"/*", "path"}},
		{"another place of the schema", `{"properties":{"o":{"properties":{"path":{}}},"free":{}}}`, `{"PATH":1,"free":{"PATH":1}}`, nil},
		{"declared otherwise elsewhere", `{"properties":{"Path":{},"o":{"properties":{"path":{}}}}}`, `{"Path":1,"o":{"path":1}}`, nil},
		{"declared otherwise here", `{"properties":{"Path":{},"o":{"properties":{"path":{}}}}}`, `{"o":{"Path":1}}`, []string{"/o", "path"}},
		{"declared in another branch", `{"anyOf":[{"properties":{"path":{}}},{"properties":{"PATH":{}}}]}`, `{"PATH":1}`, nil},
		{"recursive", `{"properties":{"path":{},"child":{"$ref":"#"}}}`, `{"child":{"child":{"PATH":1}}}`, []string{"/child/child", "path"}},
		{"several", `{"properties":{"a":{},"b":{}}}`, `{"A":1,"B":1}`, []string{"", "a", "", "b"}},
		{"only excluded", `{"not":{"properties":{"path":{}}}}`, `{"PATH":1}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := must(t, test.schema, Options{})
			args := object(t, test.args)
			var want []Violation
			for i := 0; i < len(test.want); i += 2 {
				want = append(want, Violation{test.want[i], fmt.Sprintf(like, test.want[i+1])})
			}
			require.Equal(t, want, s.FoldConflicts(args))
			out := s.Check(args)
			require.Equal(t, want, out.Malformed)
			if want != nil {
				require.False(t, out.OK)
			}
		})
	}
}

func TestFoldConflictsAreBounded(t *testing.T) {
	s := must(t, `{"properties":{"l":{"items":{"properties":{"path":{}}}}}}`, Options{})
	args := object(t, `{"l":[`+strings.Repeat(`{"PATH":1},`, 50_000)+`{}]}`)
	var conflicts []Violation
	soon(t, "comparing names", func() { conflicts = s.FoldConflicts(args) })
	require.Len(t, conflicts, 50)
	require.Equal(t, "49951 more violations are not shown", conflicts[49].Message)

	s = must(t, `{"$ref":"#/$defs/d0","$defs":{`+repeat(150, ",", `"d@":{"anyOf":[{"properties":{"p@":{"$ref":"#/$defs/d0"}}},{"properties":{"a":{"$ref":"#"}}}]}`)+`}}`, Options{})
	args = object(t, nested(60, `{"a":`, `{"P0":1}`, `}`))
	soon(t, "comparing names", func() { require.NotEmpty(t, s.FoldConflicts(args)) })

	cyclic := map[string]any{"PATH": 1}
	cyclic["l"] = []any{cyclic}
	soon(t, "comparing names", func() { require.NotEmpty(t, s.FoldConflicts(cyclic)) })
}

func TestFoldConflictsWithoutSchema(t *testing.T) {
	require.NotEmpty(t, (*Schema)(nil).FoldConflicts(map[string]any{}))
	require.NotEmpty(t, new(Schema).FoldConflicts(map[string]any{}))
}
