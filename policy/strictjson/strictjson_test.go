package strictjson_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

// reasonOf parses input and returns why it was refused, or "" if it was accepted.
func reasonOf(t *testing.T, input string, l strictjson.Limits) strictjson.Reason {
	t.Helper()
	value, err := strictjson.Parse([]byte(input), l)
	if err == nil {
		return ""
	}
	require.Nil(t, value, "a refusal must not come with a value")
	var refusal *strictjson.Error
	require.ErrorAs(t, err, &refusal)
	require.NotEmpty(t, refusal.Reason)
	return refusal.Reason
}

// Each rule has neighbours on its right side (no reason) and on its wrong side.
var rules = []struct {
	rule   string
	input  string
	reason strictjson.Reason
}{
	{"one value", `null`, ""},
	{"one value", ``, strictjson.ReasonEmpty},
	{"one value", " \t\r\n", strictjson.ReasonEmpty},
	{"one value", `{}{}`, strictjson.ReasonTrailingData},
	{"one value", `{} {}`, strictjson.ReasonTrailingData},
	{"one value", `1 2`, strictjson.ReasonTrailingData},
	{"one value", `{},`, strictjson.ReasonTrailingData},
	{"one value", `{}}`, strictjson.ReasonTrailingData},
	{"one value", "{}\x00", strictjson.ReasonTrailingData},
	{"one value", `"a""b"`, strictjson.ReasonTrailingData},

	{"white space", " \t\r\n{ \"a\" :\n[ 1\t, 2 ]\r}\n \t\r\n", ""},
	{"white space", "{}\v", strictjson.ReasonTrailingData},
	{"white space", "{}\f", strictjson.ReasonTrailingData},
	{"white space", "{}\u00a0", strictjson.ReasonTrailingData},
	{"white space", "{}\u2028", strictjson.ReasonTrailingData},
	{"white space", "{}\ufeff", strictjson.ReasonTrailingData},
	{"white space", "\v{}", strictjson.ReasonSyntax},
	{"white space", "\u00a0", strictjson.ReasonSyntax},

	{"byte order mark", "\ufeff{}", strictjson.ReasonByteOrderMark},
	{"byte order mark", "\ufeff", strictjson.ReasonByteOrderMark},
	{"byte order mark", " \ufeff{}", strictjson.ReasonSyntax},
	{"byte order mark", "[\ufeff1]", strictjson.ReasonSyntax},
	{"byte order mark", "\"\ufeff\"", ""},
	{"byte order mark", "\xef\xbb{}", strictjson.ReasonInvalidUTF8},
	{"byte order mark", "\xff\xfe{\x00}\x00", strictjson.ReasonInvalidUTF8},
	{"byte order mark", "\xfe\xff\x00{\x00}", strictjson.ReasonInvalidUTF8},
	{"byte order mark", "\x00{\x00}", strictjson.ReasonSyntax},

	{"grammar", `{"a":[true,false,null,"",0,{}]}`, ""},
	{"grammar", `{a:1}`, strictjson.ReasonSyntax},
	{"grammar", `{'a':1}`, strictjson.ReasonSyntax},
	{"grammar", `{"a"}`, strictjson.ReasonSyntax},
	{"grammar", `{"a" 1}`, strictjson.ReasonSyntax},
	{"grammar", `{"a":}`, strictjson.ReasonSyntax},
	{"grammar", `{"a":1,}`, strictjson.ReasonSyntax},
	{"grammar", `{,"a":1}`, strictjson.ReasonSyntax},
	{"grammar", `{"a":1 "b":2}`, strictjson.ReasonSyntax},
	{"grammar", `{"a"::1}`, strictjson.ReasonSyntax},
	{"grammar", `{1:1}`, strictjson.ReasonSyntax},
	{"grammar", `{null:1}`, strictjson.ReasonSyntax},
	{"grammar", `{[]:1}`, strictjson.ReasonSyntax},
	{"grammar", `{{}:1}`, strictjson.ReasonSyntax},
	{"grammar", `[1,]`, strictjson.ReasonSyntax},
	{"grammar", `[,1]`, strictjson.ReasonSyntax},
	{"grammar", `[1,,2]`, strictjson.ReasonSyntax},
	{"grammar", `[1 2]`, strictjson.ReasonSyntax},
	{"grammar", `[1:2]`, strictjson.ReasonSyntax},
	{"grammar", `[1}`, strictjson.ReasonSyntax},
	{"grammar", `{"a":1]`, strictjson.ReasonSyntax},
	{"grammar", `]`, strictjson.ReasonSyntax},
	{"grammar", `,1`, strictjson.ReasonSyntax},
	{"grammar", `:1`, strictjson.ReasonSyntax},
	{"grammar", `True`, strictjson.ReasonSyntax},
	{"grammar", `nulL`, strictjson.ReasonSyntax},
	{"grammar", `truefalse`, strictjson.ReasonTrailingData},
	{"grammar", `[1] // comment`, strictjson.ReasonTrailingData},
	{"grammar", `[1 /* comment */]`, strictjson.ReasonSyntax},
	{"grammar", `undefined`, strictjson.ReasonSyntax},

	{"complete", `{`, strictjson.ReasonIncomplete},
	{"complete", `{"a"`, strictjson.ReasonIncomplete},
	{"complete", `{"a":`, strictjson.ReasonIncomplete},
	{"complete", `{"a":1`, strictjson.ReasonIncomplete},
	{"complete", `{"a":1,`, strictjson.ReasonIncomplete},
	{"complete", `[[]`, strictjson.ReasonIncomplete},
	{"complete", `"abc`, strictjson.ReasonIncomplete},
	{"complete", `"abc\`, strictjson.ReasonIncomplete},
	{"complete", `"abc\u00`, strictjson.ReasonIncomplete},
	{"complete", `tru`, strictjson.ReasonIncomplete},
	{"complete", `-`, strictjson.ReasonIncomplete},
	{"complete", `1.`, strictjson.ReasonIncomplete},
	{"complete", `1e+`, strictjson.ReasonIncomplete},

	{"strings", `"\"\\\/\b\f\n\r\t\u0000\u001f\u007F\uFFFF"`, ""},
	{"strings", "\"\x7f\u2028\u2029\uffff\U0010ffff\"", ""},
	{"strings", "\"\ufffd \\ufffd\"", ""},
	{"strings", "\"a\nb\"", strictjson.ReasonSyntax},
	{"strings", "\"a\x00b\"", strictjson.ReasonSyntax},
	{"strings", `"\x41"`, strictjson.ReasonSyntax},
	{"strings", `"\u00g0"`, strictjson.ReasonSyntax},
	{"strings", `"\U0041"`, strictjson.ReasonSyntax},
	{"strings", `"\'"`, strictjson.ReasonSyntax},

	{"UTF-8", "\"\u00e9\u20ac\U0001f600\"", ""},
	{"UTF-8", "\"\xe9\"", strictjson.ReasonInvalidUTF8},
	{"UTF-8", "\"\x80\"", strictjson.ReasonInvalidUTF8},
	{"UTF-8", "\"\xc0\xaf\"", strictjson.ReasonInvalidUTF8},
	{"UTF-8", "\"\xed\xa0\x80\"", strictjson.ReasonInvalidUTF8},
	{"UTF-8", "\"\xf4\x90\x80\x80\"", strictjson.ReasonInvalidUTF8},
	{"UTF-8", "{\"\xff\":1}", strictjson.ReasonInvalidUTF8},
	{"UTF-8", "[\xff]", strictjson.ReasonInvalidUTF8},
	{"UTF-8", "{}\xff", strictjson.ReasonTrailingData},

	{"surrogates", `"\ud83d\ude00 \uD83D\uDE00"`, ""},
	{"surrogates", `"\ud7ff\ue000"`, ""},
	{"surrogates", `"\ud83d"`, strictjson.ReasonLoneSurrogate},
	{"surrogates", `"\ude00"`, strictjson.ReasonLoneSurrogate},
	{"surrogates", `"\ude00\ud83d"`, strictjson.ReasonLoneSurrogate},
	{"surrogates", `"\ud83d\ud83d\ude00"`, strictjson.ReasonLoneSurrogate},
	{"surrogates", `"\ud83dx\ude00"`, strictjson.ReasonLoneSurrogate},
	{"surrogates", `"\ud83d\n"`, strictjson.ReasonLoneSurrogate},
	{"surrogates", `{"\uDFFF":1}`, strictjson.ReasonLoneSurrogate},

	{"duplicates", `{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":3}}`, ""},
	{"duplicates", `{"a":1,"a":1}`, strictjson.ReasonDuplicateName},
	{"duplicates", `{"a":1,"b":2,"\u0061":3}`, strictjson.ReasonDuplicateName},
	{"duplicates", `{"a/b":1,"a\/b":3}`, strictjson.ReasonDuplicateName},
	{"duplicates", `{"😀":1,"\ud83d\ude00":3}`, strictjson.ReasonDuplicateName},
	{"duplicates", `{"":1,"":2}`, strictjson.ReasonDuplicateName},
	{"duplicates", `[{"x":[],"y":{"a":1,"a":{}}}]`, strictjson.ReasonDuplicateName},
	{"duplicates", `{"a":{"b":1},"c":1,"a":2}`, strictjson.ReasonDuplicateName},

	{"confusables", `{"name":1,"names":2,"na-me":3,"na_me":4,"náme":5}`, ""},
	{"confusables", `{"name":1,"Name":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"NAME":1,"x":{},"nAmE":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"n\u0061me":1,"N\u0041ME":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"tasks":1,"ta\u017fks":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"kind":1,"\u212aind":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"Σ":1,"ς":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"é":1,"É":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"name":1,"name\u0000":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"Name\u0000\u0000":1,"name\u0000":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"":1,"\u0000":2}`, strictjson.ReasonConfusableNames},
	{"confusables", `{"name":1,"\u0000name":2,"na\u0000me":3}`, ""},
	{"confusables", `{"straße":1,"strasse":2}`, ""},
	{"confusables", `["a","A","a"]`, ""},
	{"confusables", `{"a":"A","b":"a"}`, ""},

	{"number grammar", `[0,-0,10,1.0,1e0,1E+1,1e-1,0.5e05,-0.0e-0]`, ""},
	{"number grammar", `01`, strictjson.ReasonTrailingData},
	{"number grammar", `[01]`, strictjson.ReasonSyntax},
	{"number grammar", `[-01]`, strictjson.ReasonSyntax},
	{"number grammar", `+1`, strictjson.ReasonSyntax},
	{"number grammar", `[1.]`, strictjson.ReasonSyntax},
	{"number grammar", `.5`, strictjson.ReasonSyntax},
	{"number grammar", `[1_000]`, strictjson.ReasonSyntax},
	{"number grammar", `[0x10]`, strictjson.ReasonSyntax},
	{"number grammar", `NaN`, strictjson.ReasonSyntax},
	{"number grammar", `[-Infinity]`, strictjson.ReasonSyntax},

	{"number range", `1.7976931348623157e308`, ""},
	{"number range", `-1.7976931348623157e308`, ""},
	{"number range", `1.7976931348623159e308`, strictjson.ReasonNumberRange},
	{"number range", `1e308`, ""},
	{"number range", `1e309`, strictjson.ReasonNumberRange},
	{"number range", `-1E309`, strictjson.ReasonNumberRange},
	{"number range", `1e400`, strictjson.ReasonNumberRange},
	{"number range", `1e999999999`, strictjson.ReasonNumberRange},
	{"number range", `1e99999999999999999999999999`, strictjson.ReasonNumberRange},
	{"number range", `5e-324`, ""},
	{"number range", `-5e-324`, ""},
	{"number range", `2e-324`, strictjson.ReasonNumberRange},
	{"number range", `-1e-400`, strictjson.ReasonNumberRange},
	{"number range", `1e-999999999`, strictjson.ReasonNumberRange},
	{"number range", `0.000000000000000000000000000000000000000000000000001e360`, strictjson.ReasonNumberRange},
	{"number range", `0.000000000000000000000000000000000000000000000000001e355`, ""},
	{"number range", `1000000000000000000000000000000000000000000000000000e-370`, ""},
	{"number range", `1000000000000000000000000000000000000000000000000000e-380`, strictjson.ReasonNumberRange},
	{"number range", `9007199254740993`, ""},
	{"number range", `{"a":[1,{"b":1e999}]}`, strictjson.ReasonNumberRange},

	{"zero", `0e1`, ""},
	{"zero", `-0.00E-0009999`, ""},
	{"zero", `0e9999`, ""},
	{"zero", `0e10000`, strictjson.ReasonNumberRange},
	{"zero", `0.0e-10000`, strictjson.ReasonNumberRange},
	{"zero", `0e999999`, strictjson.ReasonNumberRange},
	{"zero", `0e999999999999999999999`, strictjson.ReasonNumberRange},
}

func TestRules(t *testing.T) {
	for _, test := range rules {
		t.Run(test.rule+" "+test.input, func(t *testing.T) {
			require.Equal(t, test.reason, reasonOf(t, test.input, strictjson.Limits{}), "as it is")
			if test.rule == "one value" || test.rule == "white space" || test.rule == "byte order mark" ||
				test.reason == strictjson.ReasonTrailingData || test.reason == strictjson.ReasonIncomplete {
				return // what surrounds it matters
			}
			require.Equal(t, test.reason, reasonOf(t, `{"v": `+test.input+` }`, strictjson.Limits{}), "as a member")
			require.Equal(t, test.reason, reasonOf(t, `[0,`+test.input+`,0]`, strictjson.Limits{}), "as an element")
		})
	}
}

func TestParseBuildsTheTree(t *testing.T) {
	got, err := strictjson.Parse([]byte(` {"b":true,"f":false,"n":null,"s":"a\u00e9\"\ud83d\ude00","e":"","NaMe":1,
		"num":[1.50,-0,1E5,12345678901234567890.000],"o":{},"a":[],"deep":[[{"x":[]}]],"":{"":""}} `), strictjson.Limits{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"b": true, "f": false, "n": nil, "s": "aé\"😀", "e": "", "NaMe": json.Number("1"),
		"num": []any{json.Number("1.50"), json.Number("-0"), json.Number("1E5"), json.Number("12345678901234567890.000")},
		"o":   map[string]any{}, "a": []any{}, "deep": []any{[]any{map[string]any{"x": []any{}}}},
		"": map[string]any{"": ""},
	}, got)
}

func TestParseObject(t *testing.T) {
	got, err := strictjson.ParseObject([]byte(`{"a":1}`), strictjson.Limits{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": json.Number("1")}, got)

	got, err = strictjson.ParseObject([]byte(`{}`), strictjson.Limits{})
	require.NoError(t, err)
	require.NotNil(t, got, "an empty object is not the absence of one")

	for input, reason := range map[string]strictjson.Reason{
		`null`: strictjson.ReasonNotObject, `[]`: strictjson.ReasonNotObject, `[{}]`: strictjson.ReasonNotObject,
		`"{}"`: strictjson.ReasonNotObject, `1`: strictjson.ReasonNotObject, `false`: strictjson.ReasonNotObject,
		``: strictjson.ReasonEmpty, `{} 1`: strictjson.ReasonTrailingData, `{"a":1,"A":1}`: strictjson.ReasonConfusableNames,
	} {
		object, err := strictjson.ParseObject([]byte(input), strictjson.Limits{})
		require.Nil(t, object, input)
		var refusal *strictjson.Error
		require.ErrorAs(t, err, &refusal, input)
		require.Equal(t, reason, refusal.Reason, input)
	}
}

// What is decided must not change when the caller uses its buffer again, and the
// bytes go on to the handler as they came.
func TestParseSharesNoMemoryWithItsInput(t *testing.T) {
	input := []byte(`{"name":"value","escaped":"\u0076alue","number":12.5}`)
	original := bytes.Clone(input)
	room := append(make([]byte, 0, 2*len(input)), input...)
	got, err := strictjson.ParseObject(room, strictjson.Limits{})
	require.NoError(t, err)
	require.Equal(t, original, room, "the input was changed")
	require.Equal(t, make([]byte, len(input)), room[len(room):cap(room)], "the room behind the input was written to")
	for i := range room {
		room[i] = 'X'
	}
	require.Equal(t, map[string]any{"name": "value", "escaped": "value", "number": json.Number("12.5")}, got)
}

// Numbers that are accepted must be readable by those with exact arithmetic, as the
// schema library is: a literal that big.Rat refuses made it panic.
func TestAcceptedNumbersAreExactlyReadable(t *testing.T) {
	for _, test := range rules {
		value, err := strictjson.Parse([]byte(test.input), strictjson.Limits{})
		if number, ok := value.(json.Number); ok && err == nil {
			_, ok := new(big.Rat).SetString(number.String())
			require.True(t, ok, number)
		}
	}
}

func TestParseIsConcurrent(t *testing.T) {
	input := []byte(`{"a":[1,{"B":"\u00e9"}],"` + strings.Repeat("k", 100) + `":{"c":null}}`)
	want, err := strictjson.Parse(input, strictjson.Limits{})
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				got, err := strictjson.Parse(input, strictjson.Limits{})
				if err != nil || len(got.(map[string]any)) != len(want.(map[string]any)) {
					t.Errorf("got %v, %v", got, err)
				}
			}
		})
	}
	group.Wait()
}
