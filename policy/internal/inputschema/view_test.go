package inputschema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestView(t *testing.T) {
	absent := Options{OptionalNull: OptionalNullAbsent}
	for _, test := range []struct {
		name         string
		options      Options
		schema       string
		args         string
		want         string // "" for the arguments themselves
		violated     bool
		alsoViewOnly bool
	}{
		{"nothing to fill in", Options{}, `{"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, ``, false, true},
		{"absent property", Options{}, `{"properties":{"a":{"default":1},"b":{"default":{"x":[1]}}}}`, `{"c":2}`, `{"a":1,"b":{"x":[1]},"c":2}`, false, true},
		{"present property", Options{}, `{"properties":{"a":{"default":1}}}`, `{"a":null}`, ``, false, true},
		{"ignored", Options{Defaults: DefaultsIgnore}, `{"properties":{"a":{"default":1}}}`, `{}`, ``, false, true},
		{"through $ref", Options{}, `{"properties":{"a":{"$ref":"#/$defs/m"}},"$defs":{"m":{"default":"fast"}}}`, `{}`, `{"a":"fast"}`, false, true},
		{"beside $ref wins", Options{}, `{"properties":{"a":{"$ref":"#/$defs/m","default":"slow"}},"$defs":{"m":{"default":"fast"}}}`, `{}`, `{"a":"slow"}`, false, true},
		{"beside $ref of draft-07", Options{}, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/m","default":"slow"}},"definitions":{"m":{"type":"string"}}}`, `{}`, `{"a":"slow"}`, false, true},
		{"properties through $ref", Options{}, `{"$ref":"#/$defs/m","$defs":{"m":{"properties":{"a":{"default":1}}}}}`, `{}`, `{"a":1}`, false, true},
		{"allOf, the first one wins", Options{}, `{"allOf":[{"properties":{"a":{"default":1}}},{"properties":{"a":{"default":2},"b":{"default":3}}}]}`, `{}`, `{"a":1,"b":3}`, false, true},
		{"its own before allOf", Options{}, `{"properties":{"a":{"default":0}},"allOf":[{"properties":{"a":{"default":1}}}]}`, `{}`, `{"a":0}`, false, true},
		{"default in allOf of the property", Options{}, `{"properties":{"a":{"allOf":[{"type":"integer"},{"default":7},{"default":8}]}}}`, `{}`, `{"a":7}`, false, true},
		{"nested object that is present", Options{}, `{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{"o":{"b":2}}`, `{"o":{"a":1,"b":2}}`, false, true},
		{"nested object that is absent", Options{}, `{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{}`, ``, false, true},
		{"parent with a default", Options{}, `{"properties":{"o":{"default":{},"properties":{"a":{"default":1}}}}}`, `{}`, `{"o":{"a":1}}`, false, true},
		{"array items", Options{}, `{"properties":{"l":{"items":{"properties":{"a":{"default":1}}}}}}`, `{"l":[{},{"a":2},3,[]]}`, `{"l":[{"a":1},{"a":2},3,[]]}`, false, true},
		{"items by place", Options{}, `{"properties":{"l":{"prefixItems":[{},{"properties":{"a":{"default":1}}}],"items":{"properties":{"b":{"default":2}}}}}}`, `{"l":[{},{},{}]}`, `{"l":[{},{"a":1},{"b":2}]}`, false, true},
		{"items by place of draft-07", Options{}, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"l":{"items":[{"properties":{"a":{"default":1}}}],"additionalItems":{"properties":{"b":{"default":2}}}}}}`, `{"l":[{},{}]}`, `{"l":[{"a":1},{"b":2}]}`, false, true},
		{"values of a map", Options{}, `{"properties":{"m":{"additionalProperties":{"properties":{"a":{"default":1}}}}}}`, `{"m":{"x":{}}}`, `{"m":{"x":{"a":1}}}`, false, true},
		{"the one branch for objects", Options{}, `{"properties":{"o":{"anyOf":[{"$ref":"#/$defs/o"},{"type":"null"}],"default":null}},"$defs":{"o":{"type":"object","properties":{"a":{"default":1}}}}}`, `{"o":{}}`, `{"o":{"a":1}}`, false, true},
		{"null as default", Options{}, `{"properties":{"o":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}`, `{}`, `{"o":null}`, false, true},
		{"several branches", Options{}, `{"properties":{"o":{"anyOf":[{"properties":{"a":{"default":1}}},{"properties":{"b":{"default":2}}}]}}}`, `{"o":{}}`, ``, false, true},
		{"conditional", Options{}, `{"if":{"required":["x"]},"then":{"properties":{"a":{"default":1}}}}`, `{"x":1}`, ``, false, true},
		{"recursive default", Options{}, `{"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"default":{},"properties":{"c":{"$ref":"#/$defs/n"},"v":{"default":1}}}}}`, `{}`,
			`{"n":{"v":1,"c":{"v":1,"c":{}}}}`, false, true},
		{"a violation stays one", Options{}, `{"properties":{"a":{"default":1}},"required":["a"]}`, `{}`, `{"a":1}`, true, true},
		{"a default that isn't valid", Options{}, `{"properties":{"a":{"type":"string","default":1}}}`, `{}`, `{"a":1}`, false, true},

		{"null that isn't accepted", Options{}, `{"properties":{"a":{"type":"string"}}}`, `{"a":null}`, ``, true, true},
		{"null is absent", absent, `{"properties":{"a":{"type":"string"}}}`, `{"a":null,"b":null}`, `{"b":null}`, false, true},
		{"null is accepted", absent, `{"properties":{"a":{"type":["string","null"]},"b":{}}}`, `{"a":null,"b":null}`, ``, false, true},
		{"null is required", absent, `{"properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a":null}`, ``, true, true},
		{"null required through allOf", absent, `{"properties":{"a":{"type":"string"}},"allOf":[{"required":["a"]}]}`, `{"a":null}`, ``, true, true},
		{"null through $ref", absent, `{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"enum":["x"]}}}`, `{"a":null}`, `{}`, false, true},
		{"null in depth", absent, `{"properties":{"o":{"properties":{"l":{"items":{"properties":{"a":{"type":"string"}}}}}}}}`, `{"o":{"l":[{"a":null,"b":null},{"a":"x"}]}}`, `{"o":{"l":[{"b":null},{"a":"x"}]}}`, false, true},
		{"null in an optional object", absent, `{"properties":{"o":{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"null"}]}}}`, `{"o":{"a":null}}`, `{"o":{}}`, false, true},
		{"null accepted by one of two declarations", absent, `{"properties":{"a":{}},"allOf":[{"properties":{"a":{"type":"string"}}}]}`, `{"a":null}`, ``, true, true},
		{"null item", absent, `{"properties":{"l":{"items":{"type":"string"}}}}`, `{"l":[null]}`, ``, true, true},
		{"null then default", absent, `{"properties":{"a":{"type":"string","default":"x"}}}`, `{"a":null}`, `{"a":"x"}`, false, true},
		{"null as default of what doesn't accept it", absent, `{"properties":{"a":{"type":"string","default":null}}}`, `{"a":null}`, `{}`, false, true},
		{"null for a closed object", absent, `{"properties":{"a":{"type":"string"}},"maxProperties":0}`, `{"a":null}`, `{}`, false, true},
		{"null for what excludes itself by its presence", absent, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["b"]}}`, `{"a":null}`, `{}`, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := must(t, test.schema, test.options)
			args := object(t, test.args)
			before, err := json.Marshal(args)
			require.NoError(t, err)
			out := s.Check(args)
			require.NoError(t, out.Err)
			require.Equal(t, test.violated, len(out.Violations) > 0, "%v", out.Violations)
			require.Equal(t, !test.violated, out.OK)
			view := s.View(args)
			require.Equal(t, out.View, view)
			if test.want == "" {
				require.True(t, same(args, out.View), "a copy where nothing changed")
				require.True(t, same(args, view), "a copy where nothing changed")
			} else {
				require.Equal(t, object(t, test.want), view)
			}
			after, err := json.Marshal(args)
			require.NoError(t, err)
			require.JSONEq(t, string(before), string(after), "the arguments were modified")
		})
	}
}

func TestViewSharesOnlyWhatIsUnchanged(t *testing.T) {
	s := must(t, `{"properties":{"a":{"default":{"x":[1]}},"o":{"properties":{"p":{"default":1}}},"u":{}}}`, Options{})
	args := object(t, `{"o":{},"u":{"k":[1]}}`)
	first, second := s.View(args), s.View(args)
	require.True(t, same(args["u"], first["u"]), "an unchanged part was copied")
	require.False(t, same(first["a"], second["a"]), "two views share a default")
	first["a"].(map[string]any)["x"].([]any)[0] = "changed"
	require.Equal(t, object(t, `{"x":[1]}`), s.View(args)["a"], "a default was changed through a view")
	require.Empty(t, args["o"])
}

func TestViewOfWhatCannotBeSeen(t *testing.T) {
	cyclic := map[string]any{}
	cyclic["o"] = cyclic
	s := must(t, `{"properties":{"a":{"default":1},"o":{"$ref":"#"}}}`, Options{})
	require.Nil(t, s.View(cyclic))
	require.Nil(t, s.View(nil))
	require.Nil(t, (*Schema)(nil).View(map[string]any{}))
	require.Nil(t, new(Schema).View(map[string]any{}))
}
