package inputschema

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestZeroValuesRefuse(t *testing.T) {
	require.False(t, Outcome{}.OK)
	for _, s := range []*Schema{nil, {}} {
		out := s.Check(map[string]any{})
		require.False(t, out.OK)
		require.Error(t, out.Err)
		require.Nil(t, out.View)
	}
	out := must(t, `{}`, Options{}).Check(nil)
	require.False(t, out.OK)
	require.Error(t, out.Err)
}

func TestOptionsWithoutMeaning(t *testing.T) {
	for _, o := range []Options{
		{Formats: 2}, {Formats: -1}, {Undeclared: 2}, {OptionalNull: 2}, {Defaults: 2}, {SecondOpinion: 2},
		{Steps: -1}, {Bytes: -1}, {Depth: -1}, {MaxViolations: -1}, {MaxMessage: -1}, {SecondOpinionBytes: -1},
	} {
		s, err := Compile([]byte(`{}`), o)
		require.Error(t, err, "%+v", o)
		require.Nil(t, s)
	}
}

func TestUndeclaredTopLevel(t *testing.T) {
	const text = " undeclared property not accepted here: use only "
	for _, test := range []struct{ name, schema, args, follow, refuse string }{
		{"open", `{"properties":{"a":{}}}`, `{"a":1,"b":1}`, ``, `: 1` + text + `"a"`},
		{"open by true", `{"properties":{"a":{}},"additionalProperties":true}`, `{"a":1,"b":1}`, ``, `: 1` + text + `"a"`},
		{"open by an empty schema", `{"properties":{"a":{}},"additionalProperties":{}}`, `{"a":1,"b":1}`, ``, `: 1` + text + `"a"`},
		{"declared only", `{"properties":{"a":{}}}`, `{"a":1}`, ``, ``},
		{"no properties at all", `{"type":"object"}`, `{"b":1}`, ``, `: 1 undeclared property not accepted here: leave out all`},
		{"empty schema", `{}`, `{"b":1,"c":1}`, ``, `: 2 undeclared properties not accepted here: leave out all`},
		{"a map on purpose", `{"properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, `{"b":1}`, ``, ``},
		{"a map on purpose by unevaluatedProperties", `{"unevaluatedProperties":{"type":"integer"}}`, `{"b":1}`, ``, ``},
		{"closed by itself", `{"properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, `: 1` + text + `"a"`, `: 1` + text + `"a"`},
		{"declared by branches", `{"anyOf":[{"properties":{"a":{}}},{"$ref":"#/$defs/b"}],"$defs":{"b":{"properties":{"b":{}}}}}`, `{"a":1,"b":1,"c":1}`, ``, `: 1` + text + `"a", "b"`},
		{"declared by a pattern", `{"patternProperties":{"^x-":{}}}`, `{"x-a":1,"y":1}`, ``, `: 1 undeclared property not accepted here: leave out all`},
		{"only the top level", `{"properties":{"o":{"properties":{"a":{}}}}}`, `{"o":{"b":1}}`, ``, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			for want, o := range map[string]Options{"follow": {}, "refuse": {Undeclared: UndeclaredRefuse}} {
				expected := test.follow
				if want == "refuse" {
					expected = test.refuse
				}
				out := must(t, test.schema, o).Check(object(t, test.args))
				require.NoError(t, out.Err)
				require.Equal(t, expected, strings.Join(texts(out.Violations), "\n"), want)
				require.Equal(t, expected == "", out.OK)
			}
		})
	}
}

func TestFormats(t *testing.T) {
	for _, dialect := range []string{
		"", "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
		"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
	} {
		for format, wrong := range map[string]string{
			"date-time": "soon", "email": "@x", "uri": "http://a@b@c/", "uri-reference": "a b", "regex": "(", "ipv4": "+1.2.3.4",
			"ipv6": "1.2.3.4", "hostname": "a.", "uuid": "1", "date": "2025-02-30", "json-pointer": "a", "duration": "1D",
		} {
			schema := `{"properties":{"a":{"format":"` + format + `"}}}`
			if dialect != "" {
				schema = strings.Replace(schema, `{`, `{"$schema":"`+dialect+`",`, 1)
			}
			args := map[string]any{"a": wrong}
			require.False(t, must(t, schema, Options{}).Check(args).OK, "%s accepted by %s", format, dialect)
			require.True(t, must(t, schema, Options{Formats: Annotate}).Check(args).OK, "%s asserted by %s", format, dialect)
			require.True(t, must(t, schema, Options{}).Check(map[string]any{"a": json.Number("1")}).OK, "%s is for strings", format)
		}
	}
	for format, right := range map[string]string{
		"date-time": "2025-01-31T09:30:00Z", "email": "a.b+c@example.com", "uri": "https://u@[2001:db8::1]:8080/a/b?c=[d]#e", "iri": "https://ex\u00e4mple.com/",
		"uri-reference": "../a%20b", "regex": "^a{1,2}$", "ipv4": "192.0.2.1", "hostname": "www.example.com", "unknown": "\x00",
	} {
		out := must(t, `{"properties":{"a":{"format":"`+format+`"}}}`, Options{}).Check(map[string]any{"a": right})
		require.True(t, out.OK, "%s: %v", format, out.Violations)
	}
}

func TestValuesThatAreNoJSON(t *testing.T) {
	s := must(t, `{"properties":{"a":{"minimum":0},"u":{"uniqueItems":true},"c":{"const":1},"e":{"enum":[1]},"i":{"type":"integer"}}}`, Options{})
	for name, v := range map[string]any{
		"struct": struct{}{}, "NaN": math.NaN(), "infinity": math.Inf(1), "huge exponent": json.Number("1e10000000"), "tiny exponent": json.Number("1e-100000000"),
		"no number": json.Number("x"), "fraction": json.Number("1/2"), "hexadecimal": json.Number("0x10"), "million digits": json.Number(strings.Repeat("9", 1_000_000)),
		"bytes": []byte("x"), "map of strings": map[string]string{"a": "b"},
	} {
		for _, place := range []string{"a", "c", "e", "i"} {
			out := s.Check(map[string]any{place: v})
			require.False(t, out.OK, "%s at %s", name, place)
			require.Error(t, out.Err, "%s at %s", name, place)
			require.Empty(t, out.Violations)
		}
		out := s.Check(map[string]any{"u": []any{v, v}})
		require.False(t, out.OK, name)
		require.Error(t, out.Err, name)
	}
	for _, v := range []any{1, int8(1), uint64(1), 1.0, float32(1), json.Number("1"), json.Number("1.0"), json.Number("10e-1")} {
		out := s.Check(map[string]any{"a": v, "u": []any{v, "1"}, "c": v, "e": v, "i": v})
		require.True(t, out.OK, "%T: %v %v", v, out.Violations, out.Err)
		require.False(t, s.Check(map[string]any{"u": []any{v, json.Number("1")}}).OK, "%T", v)
	}
}

func TestNumbersAreExact(t *testing.T) {
	for _, same := range [][]string{
		{"1", "1.0", "1e0", "10e-1", "0.1e1", "1.000", "1E+0"}, {"0", "-0", "0.0", "-0e5", "0e9999"},
		{"100", "1e2", "100.0", "0.01e4"}, {"-2.5", "-25e-1", "-2.50"}, {"9007199254740993"}, {"9007199254740992"}, {"0.1"}, {"0.1000000000000000000001"},
	} {
		for _, x := range same {
			require.Equal(t, numberKey(same[0]), numberKey(x), x)
		}
	}
	require.NotEqual(t, numberKey("9007199254740993"), numberKey("9007199254740992"))
	require.NotEqual(t, numberKey("1"), numberKey("-1"))
	require.NotEqual(t, numberKey("1"), numberKey("10"))
}

func TestViolationsAreDeterministicAndBounded(t *testing.T) {
	schema := `{"properties":{` + repeat(30, ",", `"p@":{"type":"string","minLength":2,"enum":["aa"]}`) + `,"l":{"items":{"type":"string"}}},"additionalProperties":false,"required":["x","y"]}`
	args := object(t, `{`+repeat(30, ",", `"p@":@`)+`,"q":1,"r":2,"l":[`+repeat(100, ",", "@")+`]}`)
	all := must(t, schema, Options{MaxViolations: 1000}).Check(args).Violations
	require.Len(t, all, 132)
	for range 20 {
		require.Equal(t, all, must(t, schema, Options{MaxViolations: 1000}).Check(args).Violations)
	}
	few := must(t, schema, Options{MaxViolations: 5, MaxMessage: 40}).Check(args).Violations
	require.Len(t, few, 5)
	require.Equal(t, Violation{"", "128 more violations are not shown"}, few[4])
	for i, v := range few[:4] {
		require.Equal(t, all[i].Pointer, v.Pointer)
		require.LessOrEqual(t, len(v.Message), 40)
	}
	for limit := 1; limit < 20; limit++ {
		requireBounded(t, must(t, schema, Options{MaxMessage: limit}).Check(args), Options{MaxViolations: 50, MaxMessage: limit})
	}
}

func TestCutKeepsRunes(t *testing.T) {
	require.Equal(t, "äöü", cut("äöü", 6))
	require.Equal(t, "ä…", cut("äöü", 5))
	require.Equal(t, "…", cut("äöü", 4))
	require.Equal(t, "ä", cut("äöü", 2))
	require.Equal(t, "", cut("äöü", 1))
}

func TestStepsAreDeterministic(t *testing.T) {
	s := must(t, `{"properties":{"l":{"items":{"type":"integer"}}}}`, Options{Steps: 100})
	fits := func(n int) bool { return s.Check(object(t, `{"l":[`+repeat(n, ",", "@")+`]}`)).OK }
	most := 0
	for n := 1; n < 200 && fits(n); n++ {
		most = n
	}
	require.Greater(t, most, 80)
	for range 50 {
		require.True(t, fits(most))
		require.False(t, fits(most+1))
	}
}

func TestManyGoroutines(t *testing.T) {
	s := must(t, `{"properties":{"n":{"type":"integer","minimum":1},"l":{"items":{"$ref":"#/$defs/i"}},"d":{"default":{"x":1}}},"required":["n"],"additionalProperties":false,
		"$defs":{"i":{"anyOf":[{"type":"string","pattern":"^a+$"},{"properties":{"k":{"default":1}},"propertyNames":{"maxLength":1}}]}}}`,
		Options{OptionalNull: OptionalNullAbsent, Undeclared: UndeclaredRefuse, Steps: 400})
	good := object(t, `{"n":1,"l":["a",{},{"k":2}]}`)
	view := object(t, `{"n":1,"l":["a",{},{"k":2}],"d":{"x":1}}`)
	bad := object(t, `{"n":0,"l":["b",{"kk":1},3],"z":1}`)
	large := object(t, `{"n":1,"l":[`+repeat(500, ",", `"a"`)+`]}`)
	folded := object(t, `{"N":1}`)
	want := s.Check(bad).Violations
	require.NotEmpty(t, want)
	var wait sync.WaitGroup
	for range 64 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 20 {
				out := s.Check(good)
				if !out.OK || out.Err != nil {
					t.Errorf("good: %+v", out)
				}
				if len(out.View) != len(view) {
					t.Errorf("view: %v", out.View)
				}
				if out := s.Check(bad); out.OK || out.Err != nil || len(out.Violations) != len(want) || out.Violations[0] != want[0] {
					t.Errorf("bad: %+v", out)
				}
				if out := s.Check(large); out.OK || out.Err == nil {
					t.Errorf("large: %+v", out)
				}
				if out := s.Check(folded); out.OK || len(out.Malformed) != 1 {
					t.Errorf("folded: %+v", out)
				}
				s.View(good)
			}
		}()
	}
	wait.Wait()
	require.LessOrEqual(t, int(s.pool.made.Load()), max(2, runtime.GOMAXPROCS(0)))
	require.Equal(t, int(s.pool.made.Load()), len(s.pool.free), "an engine was not given back")
}

func TestDeepRecursionStaysWithinTheStack(t *testing.T) {
	s := must(t, `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"array","items":`+strings.Replace(chain(95, `{"$ref":"#/$defs/back"}`), `"$defs":{`, `"$defs":{"back":{"$ref":"tool:///schema#/$defs/n"},`, 1)+`}}}`, Options{Steps: math.MaxInt})
	deep := any([]any{})
	for range 9_000 {
		deep = []any{deep}
	}
	out := s.Check(map[string]any{"a": deep})
	require.False(t, out.OK)
	require.Error(t, out.Err)
}
