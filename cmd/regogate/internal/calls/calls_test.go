package calls

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func readAll(t testing.TB, in string, max int) []Call {
	t.Helper()
	r := NewReader(iotest.HalfReader(strings.NewReader(in)), max)
	var all []Call
	for {
		c, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, c)
	}
}

func TestGoodLines(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       Call
	}{
		{"bare", `{"tool":"a","arguments":{"x":1}}`, Call{Tool: "a", Arguments: []byte(`{"x":1}`)}},
		{"exact bytes", `{"arguments": { "n":1.0e2 , "n":9007199254740993,"u":"\u0041" } ,"tool":"a"}`,
			Call{Tool: "a", Arguments: []byte(`{ "n":1.0e2 , "n":9007199254740993,"u":"\u0041" }`)}},
		{"bytes that are not UTF-8", "{\"tool\":\"a\",\"arguments\":{\"x\":\"\xff\"}}", Call{Tool: "a", Arguments: []byte("{\"x\":\"\xff\"}")}},
		{"no object as arguments", `{"tool":"a","arguments":[1]}`, Call{Tool: "a", Arguments: []byte(`[1]`)}},
		{"null arguments", `{"tool":"a","arguments":null}`, Call{Tool: "a", Arguments: []byte(`{}`)}},
		{"no arguments", `{"tool":"a"}`, Call{Tool: "a", Arguments: []byte(`{}`)}},
		{"raw arguments", `{"tool":"a","raw_arguments":"{\"x\":1} \u00e9"}`, Call{Tool: "a", Arguments: []byte("{\"x\":1} é")}},
		{"empty raw arguments", `{"tool":"a","raw_arguments":""}`, Call{Tool: "a", Arguments: []byte("")}},
		{"caller", `{"tool":"a","caller":{"subject":"s","tenant":null,"scopes":["x"],"claims":{"o":[1]}}}`,
			Call{Tool: "a", Arguments: []byte(`{}`), Caller: &policy.Caller{Subject: "s", Scopes: []string{"x"}, Claims: map[string]any{"o": []any{json.Number("1")}}}}},
		{"null caller", `{"tool":"a","caller":null,"server":null}`, Call{Tool: "a", Arguments: []byte(`{}`)}},
		{"server and expected", `{"tool":"a","server":"s","expected":"refuse"}`, Call{Tool: "a", Arguments: []byte(`{}`), Server: "s", Expected: "refuse"}},
		{"other members, even twice", `{"id":1,"id":2,"tool":"a","why":{"x":"x"}}`, Call{Tool: "a", Arguments: []byte(`{}`)}},
		{"white space", " \t{\"tool\":\"a\"}\r", Call{Tool: "a", Arguments: []byte(`{}`)}},
		{"escaped name", `{"\u0074ool":"a"}`, Call{Tool: "a", Arguments: []byte(`{}`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Line = 1
			require.Equal(t, []Call{c.want}, readAll(t, c.line, 1000))
		})
	}
}

func TestBrokenLines(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"no JSON", `tool: a`, "the line is not JSON that can be read"},
		{"cut off", `{"tool":"a"`, "the line is not JSON that can be read"},
		{"comma at the end", `{"tool":"a",}`, "the line is not JSON that can be read"},
		{"broken arguments", `{"tool":"a","arguments":{x:1}}`, "the line is not JSON that can be read"},
		{"byte order mark", "\ufeff{\"tool\":\"a\"}", "the line is not JSON that can be read"},
		{"too deep", `{"tool":"a","arguments":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "the line is not JSON that can be read"},
		{"array", `[{"tool":"a"}]`, "the line is not an object"},
		{"string", `"a"`, "the line is not an object"},
		{"number", `-1`, "the line is not an object"},
		{"null", `null`, "the line is not an object"},
		{"two objects", `{"tool":"a"} {"tool":"b"}`, "something follows the line's object"},
		{"rubbish after it", `{"tool":"a"}}`, "something follows the line's object"},
		{"blank", "  \r", "the line is blank"},
		{"no tool", `{"arguments":{}}`, "the line has no member tool"},
		{"empty tool", `{"tool":""}`, "tool is not a non-empty string"},
		{"tool is a number", `{"tool":5}`, "tool is not a non-empty string"},
		{"tool is null", `{"tool":null}`, "tool is not a non-empty string"},
		{"tool is not UTF-8", "{\"tool\":\"a\xff\"}", "tool is not a non-empty string"},
		{"tool has half a surrogate pair", `{"tool":"a\ud800"}`, "tool is not a non-empty string"},
		{"tool twice", `{"tool":"a","tool":"b"}`, "the line has tool twice"},
		{"tool twice, once escaped", `{"tool":"a","\u0074ool":"b"}`, "the line has tool twice"},
		{"arguments twice", `{"tool":"a","arguments":{},"arguments":{"x":1}}`, "the line has arguments twice"},
		{"other letter case", `{"tool":"a","Arguments":{}}`, "the line has a member that is called like arguments in other letter case"},
		{"both kinds of arguments", `{"tool":"a","arguments":{},"raw_arguments":"{}"}`, "the line has both arguments and raw_arguments"},
		{"both, one of them null", `{"tool":"a","arguments":null,"raw_arguments":"{}"}`, "the line has both arguments and raw_arguments"},
		{"raw arguments are an object", `{"tool":"a","raw_arguments":{}}`, "raw_arguments is not a string of valid Unicode"},
		{"raw arguments have half a surrogate pair", `{"tool":"a","raw_arguments":"\ud800"}`, "raw_arguments is not a string of valid Unicode"},
		{"server is a number", `{"tool":"a","server":1}`, "server is not a string"},
		{"caller is a string", `{"tool":"a","caller":"bob"}`, "caller is not one JSON object"},
		{"caller is ambiguous", `{"tool":"a","caller":{"subject":"a","subject":"b"}}`, "caller is not one JSON object"},
		{"caller has something else", `{"tool":"a","caller":{"roles":[]}}`, "caller has a member other than subject, tenant, scopes and claims"},
		{"caller.subject", `{"tool":"a","caller":{"subject":1}}`, "caller.subject has the wrong type"},
		{"caller.scopes", `{"tool":"a","caller":{"scopes":"a b"}}`, "caller.scopes has the wrong type"},
		{"caller.scopes of numbers", `{"tool":"a","caller":{"scopes":["a",1]}}`, "caller.scopes has the wrong type"},
		{"caller.claims", `{"tool":"a","caller":{"claims":[]}}`, "caller.claims has the wrong type"},
		{"expected", `{"tool":"a","expected":"deny"}`, `expected is neither "allow" nor "refuse"`},
		{"expected null", `{"tool":"a","expected":null}`, `expected is neither "allow" nor "refuse"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			const next = `{"tool":"next"}`
			all := readAll(t, c.line+"\n"+next, 100_000)
			require.Len(t, all, 2)
			require.EqualError(t, all[0].Err, c.want)
			require.Equal(t, 1, all[0].Line)
			require.NoError(t, all[1].Err, "a broken line stops nothing")
			require.Equal(t, "next", all[1].Tool)
			require.Equal(t, 2, all[1].Line)
		})
	}
}

// A broken line's expectation counts when it can be read.
func TestExpectationOfBrokenLine(t *testing.T) {
	for line, unread := range map[string]bool{
		`{"expected":"refuse"}`:              false,
		`{"tool":"a","expected":"nonsense"}`: true,
		`{"tool":1}`:                         false,
		`not JSON`:                           true,
		``:                                   true,
	} {
		c := readAll(t, line+"\n", 100)[0]
		require.Error(t, c.Err)
		require.Equal(t, unread, c.Unread, line)
	}
	require.Equal(t, "refuse", readAll(t, `{"expected":"refuse"}`, 100)[0].Expected)
}

func TestLineLimits(t *testing.T) {
	const max = 40
	fits := `{"tool":"` + strings.Repeat("a", max-11) + `"}`
	require.Len(t, fits, max)
	for name, c := range map[string]struct {
		in   string
		good []bool
	}{
		"nothing":                   {"", nil},
		"just fits":                 {fits + "\n", []bool{true}},
		"just fits at the end":      {fits, []bool{true}},
		"one too many":              {fits + " \n" + fits, []bool{false, true}},
		"one too many at the end":   {fits + " ", []bool{false}},
		"far too many":              {strings.Repeat("x", 300_000) + "\n" + fits + "\n", []bool{false, true}},
		"far too many at the end":   {fits + "\n" + strings.Repeat("x", 300_000), []bool{true, false}},
		"blank lines count":         {"\n" + fits + "\n\n", []bool{false, true, false}},
		"a line feed ends the last": {fits + "\n" + fits + "\n", []bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []bool
			for i, c := range readAll(t, c.in, max) {
				require.Equal(t, i+1, c.Line)
				got = append(got, c.Err == nil)
			}
			require.Equal(t, c.good, got)
		})
	}
}

func TestReadError(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader("{\"tool\":\"a\"}\n{\"tool\""), iotest.ErrReader(io.ErrClosedPipe)), 1000)
	c, err := r.Next()
	require.NoError(t, err)
	require.NoError(t, c.Err)
	_, err = r.Next()
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// What a line says is never part of what is said about it.
func TestErrorsDoNotRepeatTheLine(t *testing.T) {
	const secret = "hunter2"
	for _, line := range []string{
		`{"` + secret + `":1`, `{"tool":"a","caller":{"` + secret + `":1}}`, `{"tool":"a","expected":"` + secret + `"}`,
		`{"tool":["` + secret + `"]}`, secret, `["` + secret + `"]`, `{"tool":"a","server":["` + secret + `"]}`,
	} {
		c := readAll(t, line, 1000)[0]
		require.Error(t, c.Err, line)
		require.NotContains(t, c.Err.Error(), secret)
	}
}

func TestSummary(t *testing.T) {
	allowed := policy.Decision{Allowed: true}
	denied := policy.Decision{Refusals: []policy.Refusal{{Code: policy.Denied}}}
	unread := Call{Line: 9, Err: errors.New("the line is blank"), Unread: true}
	type step struct {
		c Call
		d policy.Decision
	}
	for name, c := range map[string]struct {
		steps []step
		good  bool
		text  string
	}{
		"nothing":                  {nil, true, "c: 0 calls: 0 allowed, 0 refused\n"},
		"allowed":                  {[]step{{Call{}, allowed}}, true, "c: 1 calls: 1 allowed, 0 refused\n"},
		"refused":                  {[]step{{Call{}, allowed}, {Call{}, denied}}, false, "c: 2 calls: 1 allowed, 1 refused (denied 1)\n"},
		"as expected":              {[]step{{Call{Expected: "refuse"}, denied}, {Call{}, denied}}, true, "c: 2 calls: 0 allowed, 2 refused (denied 2)\nc: 0 of 1 expected decisions differ\n"},
		"expected to be refused":   {[]step{{Call{Line: 3, Expected: "refuse"}, allowed}}, false, "c: 1 calls: 1 allowed, 0 refused\nc: 1 of 1 expected decisions differ\nc: line 3: expected refuse, was allowed\n"},
		"expected to be allowed":   {[]step{{Call{Line: 3, Expected: "allow"}, denied}}, false, "c: 1 calls: 0 allowed, 1 refused (denied 1)\nc: 1 of 1 expected decisions differ\nc: line 3: expected allow, was refused (denied)\n"},
		"an expectation unread":    {[]step{{Call{Expected: "allow"}, allowed}, {unread, denied}}, false, "c: 2 calls: 1 allowed, 1 refused (denied 1)\nc: 0 of 1 expected decisions differ\nc: line 9: what it expects can't be read: the line is blank\n"},
		"unread, nothing expected": {[]step{{unread, denied}}, false, "c: 1 calls: 0 allowed, 1 refused (denied 1)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var s Summary
			for _, st := range c.steps {
				s.Add(st.c, st.d)
			}
			require.Equal(t, c.good, s.Good())
			var b strings.Builder
			require.NoError(t, s.WriteText(&b, "c: "))
			require.Equal(t, c.text, b.String())
		})
	}
}

func TestSummaryNamesOnlyTheFirst(t *testing.T) {
	var s Summary
	for i := range 1000 {
		s.Add(Call{Line: i + 1, Expected: "refuse"}, policy.Decision{Allowed: true})
		s.Add(Call{Line: i + 1, Unread: true, Err: io.EOF}, policy.Decision{})
	}
	var b strings.Builder
	require.NoError(t, s.WriteText(&b, ""))
	require.Contains(t, b.String(), "and 990 more\n")
	require.Less(t, strings.Count(b.String(), "\n"), 30)
}

func FuzzReader(f *testing.F) {
	f.Add("{\"tool\":\"a\"}\n\n{}", 20)
	f.Add(`{"tool":"a","arguments":{"x":"`+"\xff"+`"},"caller":{"scopes":["a"]},"expected":"allow"}`, 1000)
	f.Add(`{"tool":"a","raw_arguments":"\u0000\""}`, 1000)
	f.Add("x\r\n[1]\n{\"tool\":1}", 5)
	f.Fuzz(func(t *testing.T, in string, max int) {
		if max < 0 || max > 1<<20 {
			return
		}
		lines := strings.Split(in, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		all := readAll(t, in, max)
		require.Len(t, all, len(lines), "one call a line")
		for i, c := range all {
			require.Equal(t, i+1, c.Line)
			if c.Err != nil {
				continue
			}
			require.LessOrEqual(t, len(lines[i]), max)
			require.NotEmpty(t, c.Tool)
			require.NotNil(t, c.Arguments)
		}
	})
}

// endless gives the same bytes again and again.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

func BenchmarkReader(b *testing.B) {
	line := fmt.Sprintf(`{"tool":"send_email","arguments":{"to":["a@b"],"body":%q},"expected":"allow"}`+"\n", strings.Repeat("x", 200))
	b.SetBytes(int64(len(line)))
	r := NewReader(&endless{text: line}, 1<<20)
	for b.Loop() {
		if c, err := r.Next(); err != nil || c.Err != nil {
			b.Fatal(err, c.Err)
		}
	}
}
