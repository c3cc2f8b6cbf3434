package inputschema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

// repeat joins n copies of text, in which each @ is the copy's number.
func repeat(n int, separator, text string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(text, "@", fmt.Sprint(i))
	}
	return strings.Join(parts, separator)
}

// nested returns open and close around inner, n deep.
func nested(n int, open, inner, close string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(close, n)
}

// doubling is a schema of n definitions, each of which applies the next one twice.
func doubling(n int, how, end string) string {
	var b strings.Builder
	b.WriteString(`{"$id":"doubling","$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, how, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":%s}}`, n, end)
	return b.String()
}

// shapes returns n different arrays without values but in which arrays are: all of
// them have the same preorder of brackets but for their ends.
func shapes(n, size int) string {
	var all []string
	var build func(prefix string, open, left int)
	build = func(prefix string, open, left int) {
		if len(all) >= n {
			return
		}
		if left == 0 {
			all = append(all, prefix+strings.Repeat("]", open))
			return
		}
		for closed := 0; closed < open; closed++ {
			next := prefix + strings.Repeat("]", closed)
			if closed > 0 {
				next += ","
			} else if strings.HasSuffix(prefix, "]") {
				next += ","
			}
			build(next+"[", open-closed+1, left-1)
		}
	}
	build("[", 1, size-1)
	return "[" + strings.Join(all, ",") + "]"
}

// hostile are schemas and arguments made to take long. None may, and whatever is not
// decided has to be refused.
var hostile = []struct {
	name         string
	schema, args string
	refused      bool // also when there is time enough
}{
	{"2^20 allOf", doubling(20, "allOf", `{"type":"object"}`), `{}`, true},
	{"2^20 anyOf that fails", doubling(20, "anyOf", `{"type":"string"}`), `{}`, true},
	{"2^30 oneOf", doubling(30, "oneOf", `{"type":"object"}`), `{}`, true},
	{"2^24 below not", `{"not":` + doubling(24, "allOf", `{"type":"object"}`) + `}`, `{}`, true},
	{"recursive anyOf", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[
		{"type":"array","items":{"$ref":"#/$defs/n"},"minItems":0},{"type":"array","items":{"$ref":"#/$defs/n"},"maxItems":99}]}}}`,
		`{"a":` + nested(60, "[", `"x"`, "]") + `}`, true},
	{"patterns below not, each of which fails early", `{"not":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"object","patternProperties":{
		"^a":{"$ref":"#/$defs/n"},"a$":{"$ref":"#/$defs/n"},"^a$":{"$ref":"#/$defs/n"}}}}}`,
		nested(60, `{"a":`, "1", "}"), true},
	{"patterns below if", `{"if":{"$ref":"#/$defs/n"},"else":true,"$defs":{"n":{"type":"object","patternProperties":{
		"^a":{"$ref":"#/$defs/n"},"a$":{"$ref":"#/$defs/n"}}}}}`, nested(60, `{"a":`, "1", "}"), true},
	{"draft-07 references, which hide their siblings", `{"$schema":"http://json-schema.org/draft-07/schema#","not":{"$ref":"#/definitions/n"},
		"definitions":{"n":{"type":"object","patternProperties":{"^a":{"$ref":"#/definitions/n"},"a$":{"$ref":"#/definitions/n"}}}}}`,
		nested(60, `{"a":`, "1", "}"), true},
	{"many branches over many items of the wrong type", `{"properties":{"a":{"anyOf":[` + repeat(1500, ",", `{"items":{"type":"string"},"minItems":@}`) + `]}}}`,
		`{"a":[` + repeat(150_000, ",", "1") + `]}`, true},
	{"many branches that forbid items", `{"properties":{"a":{"anyOf":[` + repeat(2400, ",", `{"items":false,"minItems":@}`) + `]}}}`,
		`{"a":[` + repeat(150_000, ",", "1") + `]}`, true},
	{"large enumeration of numbers over many items", `{"properties":{"a":{"items":{"enum":[` + repeat(30_000, ",", "1.0@") + `]}}}}`,
		`{"a":[` + repeat(45_000, ",", "2.5@") + `]}`, true},
	{"large enumeration of arrays", `{"properties":{"a":{"items":{"enum":[` + repeat(20_000, ",", "[1,2,@]") + `]}}}}`,
		`{"a":[` + repeat(40_000, ",", "[1,2,-1]") + `]}`, true},
	{"large constant", `{"properties":{"a":{"items":{"const":[` + repeat(50_000, ",", "1.5") + `,2]}}}}`,
		`{"a":[` + repeat(2, ",", `[`+repeat(50_000, ",", "1.50")+`]`) + `]}`, true},
	{"arrays that hash alike", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":` + shapes(30_000, 13) + `}`, false},
	{"equal items but for the last of each", `{"properties":{"a":{"uniqueItems":true}}}`,
		`{"a":[` + repeat(20, ",", `[`+repeat(20_000, ",", "1")+`,@]`) + `]}`, false},
	{"large program over a long string", `{"properties":{"a":{"pattern":"^(?:(?:a?){90}){9}b$"}}}`, `{"a":"` + strings.Repeat("a", 900_000) + `"}`, true},
	{"large program over many strings", `{"properties":{"a":{"items":{"pattern":"(?:a?){900}b"}}}}`, `{"a":[` + repeat(3000, ",", `"`+strings.Repeat("a", 300)+`"`) + `]}`, true},
	{"large program over many names", `{"patternProperties":{"(?:a?){900}b":true}}`, `{` + repeat(30_000, ",", `"`+strings.Repeat("a", 20)+`@":1`) + `}`, true},
	{"many patterns over many names", `{"patternProperties":{` + repeat(1000, ",", `"^x@$":true`) + `}}`, `{` + repeat(60_000, ",", `"n@":1`) + `}`, true},
	{"chain of 190 over many items", `{"properties":{"a":{"items":` + chain(95, `{"type":"number"}`) + `}}}`, `{"a":[` + repeat(100_000, ",", "1") + `]}`, true},
	{"names against a doubling schema", `{"propertyNames":` + doubling(20, "allOf", `{"type":"string"}`) + `}`,
		`{` + repeat(1000, ",", `"n@":1`) + `}`, true},
	{"names that are not accepted", `{"propertyNames":{"maxLength":1}}`, `{` + repeat(40_000, ",", `"n@":1`) + `}`, true},
	{"unevaluated properties through many branches", `{"unevaluatedProperties":false,"anyOf":[` + repeat(1600, ",", `{"properties":{"p@":{}}}`) + `]}`,
		`{` + repeat(60_000, ",", `"n@":1`) + `}`, true},
	{"unevaluated items through many branches", `{"properties":{"a":{"unevaluatedItems":false,"anyOf":[` + repeat(2000, ",", `{"contains":{"const":@}}`) + `]}}}`,
		`{"a":[` + repeat(100_000, ",", "1") + `]}`, true},
	{"dynamic references in depth", `{"$dynamicAnchor":"n","type":"object","properties":{"a":{"allOf":[` + repeat(150, ",", `{"$dynamicRef":"#n"}`) + `]}}}`,
		nested(60, `{"a":`, "1", "}"), true},
	{"long list of required properties over many items", `{"properties":{"a":{"items":{"required":[` + repeat(50_000, ",", `"r@"`) + `]}}}}`,
		`{"a":[` + repeat(30_000, ",", "{}") + `]}`, true},
	{"100,000 wrong items", `{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":[` + repeat(100_000, ",", "1") + `]}`, true},
	{"40,000 wrong items", `{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":[` + repeat(40_000, ",", "1") + `]}`, true},
	{"wrong items through anyOf", `{"properties":{"a":{"items":{"anyOf":[{"type":"string"},{"minimum":5},{"type":"object"}]}}}}`, `{"a":[` + repeat(12_000, ",", "1") + `]}`, true},
	{"undeclared properties of many items", `{"properties":{"a":{"items":{"additionalProperties":false,"properties":{` + repeat(4_500, ",", `"p@":true`) + `}}}}}`,
		`{"a":[` + repeat(40_000, ",", `{"x":1}`) + `]}`, true},
	{"unevaluated properties of many items", `{"properties":{"a":{"items":{"unevaluatedProperties":false,"properties":{` + repeat(4_500, ",", `"p@":true`) + `}}}}}`,
		`{"a":[` + repeat(25_000, ",", `{"x":1}`) + `]}`, true},
	{"excluded items", `{"properties":{"a":{"items":{"not":{"enum":[` + repeat(40_000, ",", `"v@"`) + `]}}}}}`, `{"a":[` + repeat(20_000, ",", `"v1"`) + `]}`, true},
	{"branches with large constants", `{"properties":{"a":{"items":{"anyOf":[{"const":["` + strings.Repeat("x", 200_000) + `"]},{"const":{` + repeat(15_000, ",", `"k@":1`) + `}}]}}}}`,
		`{"a":[` + repeat(15_000, ",", `[]`) + `]}`, true},
	{"large program over a long name in a branch not taken", `{"properties":{"p":{}},"if":false,"then":{"patternProperties":{"(?:a?){900}b":{"properties":{"x":{"default":1}}}}}}`,
		`{"` + strings.Repeat("a", 1_000_000) + `":{"P":1}}`, false},
	{"large program over a long name beside one that folds", `{"properties":{"p":{}},"if":false,"then":{"patternProperties":{"(?:a?){900}b":{"properties":{"x":{"default":1}}}}}}`,
		`{"` + strings.Repeat("a", 1_000_000) + `":{"P":1},"P":1}`, true},
	{"large program over a long name for defaults", `{"allOf":[{"patternProperties":{"(?:a?){900}b":{"properties":{"x":{"default":1}}}}}]}`,
		`{"` + strings.Repeat("a", 1_000_000) + `":{}}`, true},
	{"long names on the way to wrong items", `{"properties":{"` + strings.Repeat("n", 100_000) + `":{"properties":{"` + strings.Repeat("m", 1_900) + `":{"items":{"type":"string"}}}}}}`,
		`{"` + strings.Repeat("n", 100_000) + `":{"` + strings.Repeat("m", 1_900) + `":[` + repeat(45_000, ",", "1") + `]}}`, true},
	{"contains over wrong items", `{"properties":{"a":{"contains":{"type":"string"}}}}`, `{"a":[` + repeat(40_000, ",", "1") + `]}`, true},
	{"exact arithmetic", `{"properties":{"a":{"items":{"multipleOf":1.7976931348623157e-300,"minimum":-1e308,"maximum":1e308}}}}`,
		`{"a":[` + repeat(20_000, ",", "1.7976931348623157e308") + `]}`, true},
	{"formats of long strings", `{"properties":{"a":{"items":{"format":"uri"}}}}`, `{"a":[` + repeat(10, ",", `"http://a/`+strings.Repeat("%20", 30_000)+`"`) + `]}`, false},
	{"patterns as arguments", `{"properties":{"a":{"items":{"format":"regex"}}}}`, `{"a":[` + repeat(20_000, ",", `"((a{900}){900})"`) + `]}`, true},
	{"defaults that double", `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` +
		repeat(1, ",", `"d0":{"default":{},"properties":{"x":{"$ref":"#/$defs/d1"},"y":{"$ref":"#/$defs/d1"}}}`) + `,` +
		strings.Join(defaultsThatDouble(24), ",") + `}}`, `{}`, true},
}

// chain is a schema of n definitions, each of which refers to the next one.
func chain(n int, end string) string {
	var b strings.Builder
	b.WriteString(`{"$id":"chain","$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"}]},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":%s}}`, n, end)
	return b.String()
}

func defaultsThatDouble(n int) []string {
	var defs []string
	for i := 1; i <= n; i++ {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		if i == n {
			next = `{"default":1}`
		}
		defs = append(defs, fmt.Sprintf(`"d%d":{"default":{},"properties":{"x":%s,"y":%s}}`, i, next, next))
	}
	return defs
}

func TestHostileChecksEndSoon(t *testing.T) {
	skipTiming(t)
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			var s *Schema
			var err error
			soon(t, "compiling", func() { s, err = Compile([]byte(test.schema), Options{}) })
			if err != nil {
				require.True(t, test.refused, "%v", err)
				t.Log(cut(err.Error(), 300))
				return
			}
			args, err := strictjson.ParseObject([]byte(test.args), strictjson.Limits{})
			require.NoError(t, err)
			var out Outcome
			soon(t, "checking", func() { out = s.Check(args) })
			t.Logf("%d violations, %v", len(out.Violations), out.Err)
			require.Equal(t, !test.refused, out.OK)
			requireBounded(t, out, s.options)
		})
	}
}

func skipTiming(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("one goroutine against the clock: skipping under the race detector, which slows it down too much")
	}
}

// soon fails unless f is done within timeLimit, with a second try in case that other
// tests' garbage had to be collected meanwhile.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	var took time.Duration
	for range 2 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := elapsed()
		f()
		took = elapsed() - start
		runtime.ReadMemStats(&after)
		t.Logf("%s took %v and %d MB", what, took.Round(time.Microsecond), (after.TotalAlloc-before.TotalAlloc)>>20)
		if took < timeLimit() {
			return
		}
	}
	require.Less(t, took, timeLimit(), what)
}

// requireBounded holds an outcome to the options' bounds.
func requireBounded(t testing.TB, out Outcome, o Options) {
	t.Helper()
	require.False(t, out.OK && (out.Err != nil || len(out.Violations)+len(out.Malformed) > 0), "%+v", out)
	require.True(t, out.OK || out.Err != nil || len(out.Violations)+len(out.Malformed) > 0, "a refusal without a reason")
	require.LessOrEqual(t, len(out.Violations), o.MaxViolations)
	for _, v := range append(out.Violations, out.Malformed...) {
		require.LessOrEqual(t, len(v.Message), o.MaxMessage)
		require.LessOrEqual(t, len(v.Pointer), o.MaxMessage)
		require.NotEmpty(t, v.Message)
	}
}

func TestHostileSchemasCompileSoonOrNot(t *testing.T) {
	skipTiming(t)
	for _, test := range []struct{ name, schema string }{
		{"wide", `{"properties":{` + repeat(4_900, ",", `"p@":{"type":"string"}`) + `}}`},
		{"wide with definitions", `{"properties":{` + repeat(2_400, ",", `"p@":{"$ref":"#/$defs/d@"}`) + `},"$defs":{` + repeat(2_400, ",", `"d@":{"type":"string"}`) + `}}`},
		{"too wide", `{"properties":{` + repeat(20_000, ",", `"p@":{"type":"string"}`) + `}}`},
		{"booleans", `{"properties":{` + repeat(4_900, ",", `"p@":true`) + `}}`},
		{"deep", nested(31, `{"properties":{"a":`, `{}`, `}}`)},
		{"deep and wide", nested(28, `{"properties":{`+repeat(150, ",", `"p@":true`)+`,"a":`, `{}`, `}}`)},
		{"deep in place", nested(31, `{"allOf":[`, `{}`, `]}`)},
		{"too deep", nested(2_000, `{"items":`, `{}`, `}`)},
		{"identifiers", `{"$defs":{` + repeat(190, ",", `"d@":{"$id":"d@","type":"string"}`) + `},"properties":{` + repeat(190, ",", `"p@":{"$ref":"d@"}`) + `}}`},
		{"identifiers among many", `{"$defs":{` + repeat(190, ",", `"d@":{"$id":"d@","type":"string"}`) + `},"properties":{` + repeat(4_300, ",", `"p@":true`) + `}}`},
		{"too many identifiers", `{"$defs":{` + repeat(2_000, ",", `"d@":{"$id":"d@"}`) + `}}`},
		{"anchors", `{"$defs":{` + repeat(190, ",", `"d@":{"$anchor":"d@"}`) + `},"properties":{` + repeat(3_000, ",", `"p@":{"$ref":"#d1"}`) + `}}`},
		{"references to places that are no keywords", `{"x":{` + repeat(2_400, ",", `"d@":{}`) + `},"properties":{` + repeat(2_400, ",", `"p@":{"$ref":"#/x/d@"}`) + `}}`},
		{"patterns that expand", `{"properties":{` + repeat(500, ",", `"p@":{"pattern":"((a{9}){9}){9}(b{900})@"}`) + `}}`},
		{"many patterns", `{"properties":{` + repeat(2_000, ",", `"p@":{"pattern":"^[a-z]{1,9}@$"}`) + `}}`},
		{"large class", `{"properties":{` + repeat(1_000, ",", `"p@":{"pattern":"[\\pL\\pN\\pM\\pS]{9}@"}`) + `}}`},
		{"long enumeration", `{"enum":[` + repeat(60_000, ",", `"v@"`) + `]}`},
		{"long list", `{"required":[` + repeat(50_000, ",", `"r@"`) + `]}`},
		{"many mistakes", `{"properties":{` + repeat(4_900, ",", `"p@":{"type":5}`) + `}}`},
		{"many mistakes in branches", `{"anyOf":[` + repeat(4_900, ",", `{"items":7}`) + `]}`},
		{"chain", chain(2_000, `{}`)},
		{"chain of the permitted length", chain(95, `{}`)},
		{"cycles", `{"properties":{` + repeat(2_000, ",", `"d@":{"not":{"$ref":"#/properties/d@"}}`) + `}}`},
		{"branches times branches", `{"$defs":{"a":{"anyOf":[` + repeat(2_000, ",", `{"$ref":"#/$defs/b"}`) + `]},"b":{"anyOf":[` + repeat(2_000, ",", `{"type":"string","minLength":@}`) + `]}},"$ref":"#/$defs/a"}`},
		{"embedded dialects", `{"$defs":{` + repeat(190, ",", `"d@":{"$id":"d@","$schema":"http://json-schema.org/draft-07/schema#"}`) + `}}`},
		{"metaschemas", `{"properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"},"b":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`},
		{"nulls of doubling properties", `{"properties":{"a":` + doubling(24, "allOf", `{"type":"string"}`) + `}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s *Schema
			var err error
			soon(t, "compiling", func() {
				s, err = Compile([]byte(test.schema), Options{OptionalNull: OptionalNullAbsent, Undeclared: UndeclaredRefuse})
			})
			if err != nil {
				t.Log(cut(err.Error(), 300))
				return
			}
			soon(t, "checking", func() { s.Check(map[string]any{"a": json.Number("1")}) })
		})
	}
}
