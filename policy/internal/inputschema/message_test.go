package inputschema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMessages(t *testing.T) {
	for _, test := range []struct {
		schema, args string
		want         []string
	}{
		{`{"required":["b","a"]}`, `{}`, []string{`: required and missing: "b", "a"`}},
		{`{"properties":{"o":{"required":["a"]}}}`, `{"o":{}}`, []string{`/o: required and missing: "a"`}},
		{`{"properties":{"a":{},"b":{}},"additionalProperties":false}`, `{"x":1,"y":2}`, []string{`: 2 undeclared properties not accepted here: use only "a", "b"`}},
		{`{"additionalProperties":false}`, `{"x":1}`, []string{`: 1 undeclared property not accepted here: leave out all`}},
		{`{"properties":{"a":{"type":"string"}}}`, `{"a":1}`, []string{`/a: must be a string, and is a number`}},
		{`{"properties":{"a":{"type":["integer","null"]}}}`, `{"a":1.5}`, []string{`/a: must be null or an integer, and is a number with a fraction`}},
		{`{"properties":{"a":{"type":"boolean"}}}`, `{"a":"true"}`, []string{`/a: must be a boolean, and is a string`}},
		{`{"properties":{"a":{"enum":["r","w",null,{"x":1}]}}}`, `{"a":"d"}`, []string{`/a: must be one of "r", "w", null, {"x":1}`}},
		{`{"properties":{"a":{"enum":["r"]}}}`, `{"a":"d"}`, []string{`/a: must be "r"`}},
		{`{"properties":{"a":{"enum":[` + repeat(40, ",", "@") + `]}}}`, `{"a":"d"}`, []string{`/a: must be one of ` + repeat(30, ", ", "@") + `, 10 more`}},
		{`{"properties":{"a":{"const":[1]}}}`, `{"a":[2]}`, []string{`/a: must be [1]`}},
		{`{"properties":{"a":{"const":"` + strings.Repeat("ä", 200) + `"}}}`, `{"a":1}`, []string{`/a: must be "` + strings.Repeat("ä", 58) + `…`}},
		{`{"properties":{"a":{"minimum":1,"exclusiveMaximum":2.5}}}`, `{"a":0}`, []string{`/a: must be at least 1`}},
		{`{"properties":{"a":{"maximum":9007199254740991}}}`, `{"a":1e300}`, []string{`/a: must be at most 9007199254740991`}},
		{`{"properties":{"a":{"exclusiveMinimum":0,"exclusiveMaximum":-0.10}}}`, `{"a":0}`, []string{`/a: must be greater than 0`, `/a: must be less than -0.1`}},
		{`{"properties":{"a":{"minimum":1e300}}}`, `{"a":0}`, []string{`/a: must be at least 1e+300`}},
		{`{"properties":{"a":{"multipleOf":0.01}}}`, `{"a":0.001}`, []string{`/a: must be a multiple of 0.01`}},
		{`{"properties":{"a":{"minLength":2}}}`, `{"a":"ä"}`, []string{`/a: must have at least 2 characters, and has 1`}},
		{`{"properties":{"a":{"maxLength":1}}}`, `{"a":"äö"}`, []string{`/a: must have at most 1 character, and has 2`}},
		{`{"properties":{"a":{"pattern":"^a+$"}}}`, `{"a":"b"}`, []string{`/a: must match the pattern ^a+$`}},
		{`{"properties":{"a":{"format":"date"}}}`, `{"a":"b"}`, []string{`/a: must be of the format "date", like 2025-01-31`}},
		{`{"properties":{"a":{"format":"semver"}}}`, `{"a":"b"}`, []string{`/a: must be of the format "semver"`}},
		{`{"properties":{"a":{"minItems":1}}}`, `{"a":[]}`, []string{`/a: must have at least 1 item, and has 0`}},
		{`{"properties":{"a":{"maxItems":1}}}`, `{"a":[1,2]}`, []string{`/a: must have at most 1 item, and has 2`}},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,2,1.0]}`, []string{`/a: items must not repeat, and item 2 is equal to item 0 (counted from 0)`}},
		{`{"properties":{"a":{"contains":{"type":"string"}}}}`, `{"a":[1,true]}`, []string{`/a: must have an item of a certain kind, and has none: it must be a string, and is a boolean; must be a string, and is a number`}},
		{`{"properties":{"a":{"contains":{"type":"string"},"minContains":2,"maxContains":3}}}`, `{"a":["x"]}`, []string{`/a: must have at least 2 items of a certain kind, and has 1`}},
		{`{"properties":{"a":{"contains":{"type":"string"},"maxContains":1}}}`, `{"a":["x","y"]}`, []string{`/a: must have at most 1 item of a certain kind, and has 2`}},
		{`{"properties":{"a":{"prefixItems":[{}],"items":false}}}`, `{"a":[1,2]}`, []string{`/a/1: is not accepted here: leave it out`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{}],"additionalItems":false}}}`, `{"a":[1,2,3]}`, []string{`/a: the last 2 items must be left out`}},
		{`{"minProperties":1}`, `{}`, []string{`: must have at least 1 property, and has 0`}},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, []string{`: must have at most 1 property, and has 2`}},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, []string{`: required along with "a" and missing: "b"`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`, []string{`: required along with "a" and missing: "b"`}},
		{`{"propertyNames":{"maxLength":1}}`, `{"aa":1,"bbb":1}`, []string{`: 2 names of properties not accepted: it must have at most 1 character, and has 2; must have at most 1 character, and has 3`}},
		{`{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"x":1,"y":1}`, []string{`: undeclared properties, or some that don't go with the others, are not accepted here: use only "a"`}},
		{`{"properties":{"a":false}}`, `{"a":1}`, []string{`/a: is not accepted here: leave it out`}},
		{`{"allOf":[false]}`, `{}`, []string{`: nothing is accepted: the schema refuses every call`}},
		{`{"properties":{"a":{"not":{"type":"string"}}}}`, `{"a":"x"}`, []string{`/a: must not be what the schema excludes: {"type":"string"}`}},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, []string{`: required and missing: "b"`}},
		{`{"properties":{"a/b~c":{"type":"string"}}}`, `{"a/b~c":1}`, []string{`/a~1b~0c: must be a string, and is a number`}},

		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, []string{`/a: must be null or a string, and is a number`}},
		{`{"properties":{"a":{"anyOf":[{"type":"string","minLength":3},{"type":"null"}]}}}`, `{"a":"x"}`, []string{`/a: must have at least 3 characters, and has 1`}},
		{`{"properties":{"a":{"anyOf":[{"const":"x"},{"const":"y"},{"type":"number"}]}}}`, `{"a":"z"}`, []string{`/a: must be one of "x", "y"`}},
		{`{"properties":{"a":{"oneOf":[{"properties":{"k":{"const":"f"}},"required":["path"]},{"properties":{"k":{"const":"u"}},"required":["url"]}]}}}`, `{"a":{"k":"u"}}`,
			[]string{`/a: required and missing: "url"`}},
		{`{"properties":{"a":{"oneOf":[{"properties":{"k":{"const":"f"}},"required":["path"]},{"properties":{"k":{"const":"u"}},"required":["url"]}]}}}`, `{"a":{"k":"x"}}`,
			[]string{`/a/k: must be one of "f", "u"`}},
		{`{"properties":{"a":{"oneOf":[{"title":"By name","required":["name"]},{"required":["id"],"properties":{"name":false}}]}}}`, `{"a":{}}`,
			[]string{`/a: must match exactly one of 2 forms; form 1 ("By name"): required and missing: "name"; form 2: required and missing: "id"`}},
		{`{"properties":{"a":{"oneOf":[{"minimum":1},{"multipleOf":2}]}}}`, `{"a":2}`, []string{`/a: matches form 1 and form 2 of those allowed, but must match exactly one: leave out what belongs to the other`}},
		{`{"properties":{"a":{"anyOf":[` + repeat(9, ",", `{"required":["r@"]}`) + `]}}}`, `{"a":{}}`,
			[]string{`/a: must match at least one of 9 forms; ` + numbered(6) + `; 3 forms not shown`}},
		{`{"properties":{"a":{"anyOf":[{"properties":{"x":{"type":"string"}}},{"properties":{"y":{"minimum":5}}}]}}}`, `{"a":{"x":1,"y":1}}`,
			[]string{`/a: must match at least one of 2 forms; form 1: /x must be a string, and is a number; form 2: /y must be at least 5`}},
	} {
		out := must(t, test.schema, Options{}).Check(object(t, test.args))
		require.NoError(t, out.Err, test.schema)
		require.Equal(t, test.want, texts(out.Violations), "%s of %s", test.args, test.schema)
	}
}

func numbered(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(`form %d: required and missing: "r%d"`, i+1, i))
	}
	return strings.Join(parts, "; ")
}

// TestNothingOfTheArgumentsIsShown plants secrets as values and as undeclared names at
// many places, and looks for them in everything that an agent may read.
func TestNothingOfTheArgumentsIsShown(t *testing.T) {
	const value, name, number = "s3cr3tvalue", "s3cr3tname", "918273645"
	atoms := []string{`"` + value + `"`, number, `-` + number + `.5`, `{"` + name + `":"` + value + `"}`, `["` + value + `",` + number + `]`, `["` + value + `","` + value + `"]`,
		`{"` + name + `":{"` + name + `":["` + value + `"]}}`, `{"K":"` + value + `"}`, `{"k":"` + value + `","` + name + `":1,"` + name + `2":2}`, `null`, `true`, `{"A":1,"` + name + `":1}`,
		`[{"` + name + `":1},{"` + name + `":` + number + `}]`}
	schemas := []string{
		`{"type":"null"}`, `{"type":"boolean"}`, `{"const":1}`, `{"const":{"k":2}}`, `{"enum":[1,"x"]}`, `{"enum":[]}`, `{"format":"date-time"}`, `{"format":"uri"}`, `{"format":"email"}`, `{"format":"ipv6"}`,
		`{"format":"regex","pattern":"^$"}`, `{"format":"json-pointer"}`, `{"format":"duration"}`, `{"format":"uuid"}`, `{"format":"hostname","maxLength":1}`, `{"pattern":"^x$"}`, `{"minLength":100}`, `{"maxLength":1}`,
		`{"minimum":1e12}`, `{"maximum":-1e12}`, `{"exclusiveMinimum":1e12}`, `{"exclusiveMaximum":-1e12}`, `{"multipleOf":1000}`, `{"minItems":9}`, `{"maxItems":0}`, `{"uniqueItems":true}`,
		`{"contains":{"type":"null"}}`, `{"contains":{"const":5},"minContains":2}`, `{"contains":true,"maxContains":0}`, `{"items":false}`, `{"items":{"type":"null"}}`, `{"prefixItems":[{"type":"null"}],"items":{"maxLength":1}}`,
		`{"prefixItems":[true],"unevaluatedItems":false}`, `{"required":["a"]}`, `{"minProperties":9}`, `{"maxProperties":0}`, `{"additionalProperties":false}`, `{"additionalProperties":{"type":"null"}}`,
		`{"properties":{"k":{"type":"null"}},"additionalProperties":false}`, `{"properties":{"a":{}},"additionalProperties":{"const":1}}`, `{"patternProperties":{"^s3":{"type":"null"}}}`, `{"patternProperties":{"s3":false}}`,
		`{"propertyNames":{"pattern":"^x$"}}`, `{"propertyNames":{"maxLength":1}}`, `{"propertyNames":{"enum":["a"]}}`, `{"propertyNames":false}`, `{"propertyNames":{"format":"uuid"}}`,
		`{"unevaluatedProperties":false}`, `{"unevaluatedProperties":{"type":"null"}}`, `{"anyOf":[{"properties":{"k":{}}}],"unevaluatedProperties":false}`, `{"dependentRequired":{"k":["z"]}}`, `{"dependentSchemas":{"k":{"maxProperties":0}}}`,
		`{"not":{}}`, `{"not":{"type":["object","string","number","array","null","boolean"]}}`, `{"allOf":[{"type":"null"},{"maxLength":1}]}`, `{"anyOf":[{"type":"null"},{"type":"boolean"}]}`, `{"anyOf":[{"maxLength":1,"maxProperties":0,"maximum":0,"maxItems":0},{"const":5}]}`,
		`{"anyOf":[{"additionalProperties":{"type":"null"},"maxLength":1,"maximum":1},{"additionalProperties":{"maxLength":2},"minLength":50,"maximum":2}]}`,
		`{"oneOf":[{},true]}`, `{"oneOf":[{"properties":{"k":{"const":"f"}},"required":["k"]},{"properties":{"k":{"const":"g"}},"required":["k"]}]}`, `{"oneOf":[{"required":["x"]},{"required":["y"]}]}`,
		`{"if":{},"then":{"type":"null"}}`, `{"if":false,"else":{"enum":[5]}}`, `false`, `{"$ref":"#/$defs/n"}`,
	}
	outcomes := 0
	for _, o := range []Options{{MaxViolations: 1000}, {Undeclared: UndeclaredRefuse, OptionalNull: OptionalNullAbsent}, {SecondOpinion: SecondOpinionQri}} {
		for _, inner := range schemas {
			for _, outer := range []string{
				`{"properties":{"a":%s}}`, `{"additionalProperties":%s}`, `{"properties":{"a":{"items":%s}}}`, `{"properties":{"a":{"additionalProperties":%s}}}`,
				`{"patternProperties":{"":%s}}`, `{"properties":{"a":{"anyOf":[%s,{"type":"null"}]}}}`, `{"properties":{"a":{"contains":%s}}}`, `{"not":{"not":%s}}`,
			} {
				s := must(t, strings.Replace(fmt.Sprintf(outer, inner), `{`, `{"$defs":{"n":{"type":"null"}},`, 1), o)
				for _, atom := range atoms {
					for _, args := range []string{`{"a":` + atom + `}`, `{"` + name + `":` + atom + `}`, `{"a":[` + atom + `]}`, `{"a":{"` + name + `":` + atom + `,"` + name + `x":` + atom + `}}`} {
						out := s.Check(object(t, args))
						shown := strings.Join(append(texts(out.Violations), texts(out.Malformed)...), "\n")
						for _, secret := range []string{"s3cr3t", number, "S3CR3T"} {
							require.NotContains(t, shown, secret, "%s of %s of %s", args, inner, outer)
						}
						if !out.OK {
							outcomes++
						}
						requireBounded(t, out, s.options)
					}
				}
			}
		}
	}
	require.Greater(t, outcomes, 10_000)
}
