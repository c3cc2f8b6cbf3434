package inputschema

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompileErrors(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"not JSON", `{`, "the schema can't be read"},
		{"duplicate name", `{"properties":{"a":{},"a":{}}}`, `JSON Pointer "/properties"`},
		{"names that fold", `{"properties":{"a":{},"A":{}}}`, `JSON Pointer "/properties"`},
		{"number that is infinite", `{"properties":{"a":{"maximum":1e999}}}`, `JSON Pointer "/properties/a"`},
		{"too large", `{"title":"` + strings.Repeat("x", 512<<10) + `"}`, "more bytes than allowed"},
		{"too deep", nested(65, `{"not":`, `{}`, `}`), "nested deeper"},
		{"array", `[]`, "#: a tool's input schema must be an object, and this is an array"},
		{"boolean", `true`, "#: a tool's input schema must be an object, and this is a boolean"},
		{"null", `null`, "#: a tool's input schema must be an object, and this is null"},
		{"unknown dialect", `{"$schema":"http://json-schema.org/draft-99/schema#"}`, `#/$schema: "http://json-schema.org/draft-99/schema#" is no dialect that is known`},
		{"dialect without scheme", `{"$schema":"json-schema.org/draft-07/schema"}`, `#/$schema: `},
		{"empty dialect", `{"$schema":""}`, `#/$schema: "" is no dialect`},
		{"dialect of a vocabulary", `{"$schema":"https://json-schema.org/draft/2020-12/meta/core"}`, `#/$schema: `},
		{"dialect that is no string", `{"$schema":7}`, "#/$schema: must be a string, and is a number"},
		{"embedded unknown dialect", `{"$defs":{"a":{"$id":"a","$schema":"http://example.com/s"}}}`, `#/$defs/a/$schema: the document "http://example.com/s" is outside`},
		{"keyword in another letter case", `{"properties":{"a/b":{"Required":[]}}}`, `#/properties/a~1b: the name "Required" differs from the keyword "required" by letter case only`},
		{"keyword beside the real one", `{"properties":{"a":{"type":"string"}},"additionalProperties":false,"AdditionalProperties":true}`, "confusable_names"},
		{"keyword with a long s", `{"propertie\u017f":{}}`, `differs from the keyword "properties"`},
		{"keyword in another letter case in an odd place", `{"$ref":"#/x/y","x":{"y":{"Type":"string"}}}`, `#/x/y: the name "Type"`},
		{"http reference", `{"properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, `#/properties/a/$ref: the document "http://127.0.0.1:1/x" is outside of the schema`},
		{"file reference", `{"items":[{"$ref":"file:///etc/passwd"}],"$schema":"http://json-schema.org/draft-07/schema#"}`, `#/items/0/$ref: the document "file:///etc/passwd" is outside`},
		{"relative reference", `{"$ref":"other.json#/a"}`, `#/$ref: the document "tool:///other.json" is outside`},
		{"reference relative to an identifier", `{"$id":"http://example.com/a/","$ref":"b"}`, `#/$ref: the document "http://example.com/a/b" is outside`},
		{"dynamic reference outside", `{"$dynamicRef":"http://example.com/x#a"}`, `#/$dynamicRef: the document "http://example.com/x" is outside`},
		{"reference below not", `{"not":{"$ref":"http://example.com/"}}`, `#/not/$ref: the document`},
		{"missing definition", `{"$ref":"#/$defs/a"}`, `a reference leads to where nothing is`},
		{"missing anchor", `{"$ref":"#a"}`, `a reference leads to where nothing is`},
		{"wrong value", `{"properties":{"a":{"minLength":"3"}}}`, `#/properties/a/minLength: not valid for its dialect: got string, want integer`},
		{"null for a subschema", `{"properties":{"a":null}}`, `#/properties/a: not valid for its dialect`},
		{"unknown type", `{"type":"strng"}`, `#/type: not valid for its dialect`},
		{"format that is no string", `{"properties":{"a":{"format":5}}}`, `#/properties/a/format: must be a string, and is a number`},
		{"title that is no string", `{"title":5}`, `#/title: must be a string`},
		{"huge length", `{"properties":{"a":{"minLength":18446744073709551617}}}`, `#/properties/a/minLength: 18446744073709551617 is not an integer that is less than 2^63`},
		{"huge length with exponent", `{"maxProperties":1e30}`, `#/maxProperties: 1e30 is not an integer that is less than 2^63`},
		{"lookahead", `{"properties":{"a":{"pattern":"(?!x)"}}}`, `#/properties/a/pattern: the pattern can't be used; patterns are RE2`},
		{"name pattern", `{"patternProperties":{"(":{}}}`, `the pattern can't be used; patterns are RE2`},
		{"large pattern", `{"properties":{"a":{"pattern":"((a{30}){30}){1}(b{1000}){1}(c{1000}){1}"}}}`, ``},
		{"too large pattern", `{"properties":{"a":{"pattern":"` + strings.Repeat("a{1000}", 21) + `"}}}`, `#/properties/a/pattern`},
		{"self", `{"$ref":"#"}`, `#: the subschema refers to itself for the same value`},
		{"self below not", `{"properties":{"a":{"not":{"$ref":"#/properties/a"}}}}`, `#/properties/a`},
		{"self below if", `{"if":{"$ref":"#"},"then":false}`, `refers to itself`},
		{"self below dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, `refers to itself`},
		{"self below dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`, `refers to itself`},
		{"self by dynamic reference", `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, `refers to itself`},
		{"self by recursive reference", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"anyOf":[{"$recursiveRef":"#"}]}`, `refers to itself`},
		{"self by way of another resource", `{"$id":"http://example.com/a","$dynamicAnchor":"x","$ref":"b","$defs":{"b":{"$id":"b","$dynamicRef":"#x","$dynamicAnchor":"x"}}}`, `refers to itself`},
		{"recursive reference for names", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"propertyNames":{"not":{"$recursiveRef":"#"}}}`, `#/propertyNames: engines disagree`},
		{"dynamic reference for names", `{"$dynamicAnchor":"x","propertyNames":{"allOf":[{"$ref":"#/$defs/n"}]},"$defs":{"n":{"not":{"$dynamicRef":"#x"}}}}`, `#/propertyNames: engines disagree`},
		{"long chain", chain(150, `{}`), `more than 200 subschemas refer to one another`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := Compile([]byte(test.schema), Options{})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
			require.Nil(t, s)
			require.NotContains(t, err.Error(), schemaURL)
			require.Less(t, len(err.Error()), 1500)
		})
	}
}

func TestCompileTakesWhatTheDialectsAllow(t *testing.T) {
	for _, schema := range []string{
		`{}`, `{"type":"object"}`, `{"$schema":"http://json-schema.org/draft-07/schema"}`, `{"$schema":"https://json-schema.org/draft-07/schema#"}`,
		`{"properties":{"Required":{},"TYPE":{"const":{"Type":1}},"$Ref":{"default":{"Enum":1},"examples":[{"Not":1}]}}}`, // names and data, no keywords
		`{"properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"},"b":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`,
		`{"$id":"http://example.com/a","properties":{"a":{"$ref":"b"}},"$defs":{"b":{"$id":"b","$anchor":"c"},"d":{"$ref":"b#c"}}}`,
		`{"properties":{"child":{"$ref":"#"},"l":{"items":{"$ref":"#"}}},"additionalProperties":{"$ref":"#"}}`,
		`{"$dynamicAnchor":"node","properties":{"c":{"items":{"$dynamicRef":"#node"}}}}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"c":{"$recursiveRef":"#"}}}`,
		`{"propertyNames":{"$ref":"#"}}`, `{"x-vendor":{"anything":[1,{"Type":1}]},"nullable":true}`,
		`{"properties":{"a":{"maxLength":9007199254740991,"minimum":-9007199254740991}}}`,
	} {
		_, err := Compile([]byte(schema), Options{OptionalNull: OptionalNullAbsent, Undeclared: UndeclaredRefuse})
		require.NoError(t, err, schema)
	}
}
