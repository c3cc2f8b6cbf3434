package inputschema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

// FuzzCheck compiles any schema and checks any value against it, in every way: nothing
// panics, nothing takes long, and what is said keeps to the bounds.
func FuzzCheck(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"properties":{"a":{"type":"string","minLength":2,"format":"date"}},"required":["a"],"additionalProperties":false}`, `{"a":"x","b":1}`},
		{`{"properties":{"l":{"items":{"$ref":"#/$defs/i"},"uniqueItems":true,"contains":{"const":1}}},"$defs":{"i":{"anyOf":[{"type":"null"},{"enum":[1,"x",[2]]}]}}}`, `{"l":[1,1.0,null,"y"]}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"c":{"minProperties":2}},"items":[{}],"additionalItems":false}`, `{"a":1,"c":null}`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"c":{"$recursiveRef":"#"}},"unevaluatedProperties":false}`, `{"c":{"c":{"x":1}}}`},
		{`{"$dynamicAnchor":"n","properties":{"c":{"$dynamicRef":"#n"}},"propertyNames":{"pattern":"^[a-c]$"},"not":{"required":["d"]}}`, `{"c":{"d":1}}`},
		{`{"oneOf":[{"properties":{"k":{"const":"a"}}},{"properties":{"k":{"const":"b"}}}],"if":{"required":["k"]},"then":{"maxProperties":1},"else":false}`, `{"k":"c","x":1}`},
		{`{"properties":{"a":{"default":{"b":1},"properties":{"b":{"default":2},"c":{"type":"string"}}}},"patternProperties":{"^x":{"multipleOf":0.1}}}`, `{"a":{"c":null},"x":0.25}`},
		{`{"$id":"http://example.com/a","$ref":"b","$defs":{"b":{"$id":"b","prefixItems":[true],"unevaluatedItems":false}}}`, `[1,2]`},
		{`{"$ref":"#"}`, `{}`}, {`true`, `1e400`}, {`{"$ref":"file:///etc/passwd"}`, `{}`}, {`{"Type":1}`, `null`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	all := []Options{
		{Steps: 2_000},
		{Steps: 2_000, Formats: Annotate, Undeclared: UndeclaredRefuse, OptionalNull: OptionalNullAbsent, MaxViolations: 3, MaxMessage: 50},
		{Steps: 2_000, SecondOpinion: SecondOpinionQri, Defaults: DefaultsIgnore},
	}
	f.Fuzz(func(t *testing.T, schema, instance []byte) {
		start := elapsed()
		for _, o := range all {
			s, err := compile(schema, o, environment{anyRoot: true})
			if err != nil {
				require.Nil(t, s)
				continue
			}
			v, err := strictjson.Parse(instance, strictjson.Limits{})
			if err != nil {
				continue
			}
			violations, err := s.check(v)
			args, ok := v.(map[string]any)
			if !ok {
				continue
			}
			out := s.Check(args)
			requireBounded(t, out, s.options)
			require.False(t, out.OK && o.OptionalNull == OptionalNullRefuse && (err != nil || len(violations) > 0), "the two ways to check disagree")
			again := s.Check(args)
			if o.SecondOpinion == SecondOpinionNone {
				require.Equal(t, out.Violations, again.Violations)
				require.Equal(t, out.OK, again.OK)
			}
			s.View(args)
		}
		require.Less(t, elapsed()-start, 5*timeLimit())
	})
}
