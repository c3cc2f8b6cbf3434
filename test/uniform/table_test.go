// Package uniform has one table of calls and every source of tools that there is: the
// decision, its code and its text must be the same for all of them.
//
// # Limits
//
// A source that can't carry a call's bytes says which and why; the test counts them.
package uniform

import (
	"fmt"
	"strings"

	"github.com/regogate/regogate/policy"
)

// A row is one call and the code that it is refused with, "" when it is let through.
type row struct {
	gate      string // "" for the one with rules, "none" for the one without
	tool      string
	arguments string // as they come; "" for none at all
	code      policy.Code
}

func (r row) String() string {
	const most = 60
	a := fmt.Sprintf("%q", r.arguments)
	if len(a) > most {
		a = a[:most] + "…"
	}
	return strings.TrimSpace(fmt.Sprintf("%s%s %s", r.gate, r.tool, a))
}

const readSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string","maxLength":300},"n":{"type":"integer"},"limit":{"type":"integer","exclusiveMinimum":0,"maximum":100},"mode":{"type":"string","enum":["text","raw"],"default":"text"},` +
	`"tags":{"type":"array","items":{"type":"string"},"maxItems":3},"at":{"type":"string","format":"date"},` +
	`"o":{"type":"object","properties":{"x":{"type":"number","minimum":0}},"required":["x"],"additionalProperties":false}},` +
	`"required":["path"],"additionalProperties":false}`

// tools are what every server declares.
var tools = []struct{ name, schema string }{
	{"read", readSchema},
	{"open", `{"type":"object"}`},
	{"nothing", `{"type":"object","properties":{},"additionalProperties":false}`},
	{"uncovered", `{"type":"object"}`},
	{"unfit", `{"type":"object"}`},
	{"broken", `{"type":"object","properties":{"a":{"type":"strnig"}}}`},
}

// table returns all rows.
func table() []row {
	var rows []row
	add := func(tool string, code policy.Code, arguments ...string) {
		for _, a := range arguments {
			rows = append(rows, row{"", tool, a, code})
		}
	}
	add("read", "", `{"path":"/a"}`, ` { "path" : "/a" } `, "{\t\"path\":\"/a\"}", "{\"path\":\n\"/a\"}", `{"path":""}`, `{"path":"\u002fa"}`,
		`{"path":"/a","mode":"raw"}`, `{"mode":"text","path":"/a"}`, `{"path":"/a","tags":[]}`, `{"path":"/a","tags":["a","a",""]}`, `{"path":"/a","at":"2026-07-28"}`,
		`{"path":"/a","o":{"x":0}}`, `{"path":"/a","o":{"x":0.1}}`, `{"p\u0061th":"/a"}`, `{"path":"`+strings.Repeat("é", 300)+`"}`)
	for _, s := range []string{"é", "e\u0301", "日本語", "😀", "\u200b", "\u202e", "\ufeff", "\u2028", "ſ", "İ", "<script>", "&amp;", "'", "\u007f", "\ufffd", "\U0010ffff"} {
		add("read", "", `{"path":"`+s+`"}`)
	}
	for _, s := range []string{`\"`, `\\`, `\/`, `\b\f\n\r\t`, `\u0000`, `\u001f`, `\ud83d\ude00`, `\uFFFF`, `\u00e9`, `\u2028`} {
		add("read", "", `{"path":"`+s+`"}`)
	}
	for _, n := range []string{"0", "-0", "1", "-1", "1.0", "1e2", "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551617", "1e300", "1E+2", "1.5e1", "100e-2"} {
		add("read", "", `{"path":"/a","n":`+n+`}`)
	}
	for _, n := range []string{"1.5", "1e-2", `"1"`, "true", "null", "[]", "{}", "9007199254740993.5"} {
		add("read", policy.SchemaViolation, `{"path":"/a","n":`+n+`}`)
	}
	for _, n := range []string{"0", "-1", "101", "100.5", "9007199254740993", "1e300", `"50"`} {
		add("read", policy.SchemaViolation, `{"path":"/a","limit":`+n+`}`)
	}
	add("read", "", `{"path":"/a","limit":100}`, `{"path":"/a","limit":1}`)
	add("read", policy.SchemaViolation, ``, `null`, `{}`, `{"n":1}`, `{"path":7}`, `{"path":null}`, `{"path":["/a"]}`, `{"path":{}}`, `{"path":true}`,
		`{"path":"/a","undeclared":1}`, `{"path":"/a","":1}`, `{"path":"/a","__proto__":{}}`, `{"path":"/a","path ":"x"}`, `{"path":"/a","mode":"TEXT"}`, `{"path":"/a","mode":null}`,
		`{"path":"/a","tags":"a"}`, `{"path":"/a","tags":[1]}`, `{"path":"/a","tags":["a","b","c","d"]}`, `{"path":"/a","at":"tomorrow"}`, `{"path":"/a","at":"2026-02-30"}`,
		`{"path":"/a","o":{}}`, `{"path":"/a","o":{"x":-1}}`, `{"path":"/a","o":{"x":1,"y":2}}`, `{"path":"/a","o":[]}`, `{"path":"`+strings.Repeat("a", 301)+`"}`,
		`{"path":7,"n":"x","mode":1,"undeclared":1}`, `{"pаth":"/a"}`)
	add("read", policy.Denied, `{"path":"/etc/shadow"}`, `{ "path": "/etc/shadow", "n": 1 }`, `{"path":"\u002fetc\/shadow"}`, `{"path":"/etc/shadow","mode":"raw"}`,
		`{"path":"two reasons"}`, `{"path":"markup"}`, `{"path":"who"}`, `{"path":"/a","n":666}`, `{"path":"/a","n":666.0}`, `{"path":"/a","n":6.66e2}`, `{"path":"default"}`, `{"path":"long"}`, `{"path":"many"}`)
	add("read", policy.Undecided, `{"path":"error"}`, `{"path":"panic"}`, `{"path":"empty refusal"}`, `{"path":"error","n":1}`)
	add("read", policy.Malformed, `{"path":"/a","path":"/a"}`, `{"path":"/a","path":"/etc/shadow"}`, `{"path":"/a","Path":"/b"}`, `{"PATH":"/a"}`, `{"path":"/a","N":1}`, `{"path":"/a","p\u0061th":"/b"}`,
		`{"path":"/a","o":{"x":1,"x":2}}`, `{"path":"/a","o":{"X":1}}`, `{"path":"/a","o":{"x":1,"X":1}}`, `{"path":"/a","tagſ":[]}`, `{"path":"/a","u":{"a":1,"A":2}}`, `{"path":"\ud800"}`, `{"path":"\udc00\ud800"}`,
		`{"path":"\ud83d"}`, "{\"path\":\"\xff\"}", "{\"path\":\"\xc0\xaf\"}", "{\"path\":\"\xed\xa0\x80\"}", "{\"\xff\":1}", `[]`, `["/a"]`, `"/a"`, `7`, `true`, `false`, `""`,
		`{"path":"/a","n":1e400}`, `{"path":"/a","n":1e-400}`, `{"path":"/a","n":`+strings.Repeat("9", 65)+`}`, `{"path":"/a","n":-1e999}`,
		`{"path":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`}`, `{"path":`+strings.Repeat(`{"a":`, 70)+`1`+strings.Repeat("}", 70)+`}`, `{"path":"`+strings.Repeat("a", 1<<20)+`"}`)
	add("read", policy.Malformed, `{`, `{"path"`, `{"path":`, `{"path":"/a"`, `{"path":"/a",}`, `{"path":"/a"}}`, `{"path":"/a"} {}`, `{"path":"/a"}x`, `{path:"/a"}`, `{'path':'/a'}`, `{"path":"/a" /* c */}`,
		`{"path":01}`, `{"path":+1}`, `{"path":.5}`, `{"path":1.}`, `{"path":NaN}`, `{"path":Infinity}`, `{"path":"\x41"}`, `{"path":"\u12"}`, `{"path":undefined}`, `   `, "\ufeff{}", "{\"path\":\"/a\"}\x00", `{"path":"/a";"n":1}`, `nul`)
	for c := range 32 {
		add("read", policy.Malformed, `{"path":"`+string(rune(c))+`"}`)
	}
	add("open", "", ``, `null`, `{}`, `{"a":1}`, `{"A":1}`, `{"a":[{"b":null}]}`, `{"a":9007199254740993}`, `{"a":0.1}`, `{"":""}`, `{"a b":{"c":[true,false,null]}}`, `{"x":[`+strings.Repeat("[", 60)+strings.Repeat("]", 60)+`]}`)
	for _, v := range []string{"null", "true", "0", "-0.0", "1e308", "5e-324", "123456789012345678901234567890", "0.1234567890123456789", `""`, `"\u0000"`, `[[],{}]`, `{"a":{"a":{}}}`} {
		add("open", "", `{"value":`+v+`}`, `{"nested":{"value":[`+v+`]}}`)
	}
	add("open", policy.Malformed, `{"a":1,"a":1}`, `{"a":1,"A":1}`, `{"k":1,"K":2}`, `{"a":{"b":1,"B":2}}`, `{"a":"\udfff"}`, `[{}]`)
	add("open", policy.Denied, `{"path":"/etc/shadow"}`)
	add("nothing", "", ``, `null`, `{}`, ` {} `)
	add("nothing", policy.SchemaViolation, `{"a":null}`, `{"a":1,"b":2}`)
	add("nothing", policy.Malformed, `[]`, `{"a":1,"a":1}`)
	add("uncovered", policy.Unmapped, ``, `{}`, `{"path":"/a"}`)
	add("uncovered", policy.Malformed, `[]`, `{"a":1,"a":2}`)
	add("unfit", policy.Undecided, ``, `{}`, `{"path":"/etc/shadow"}`)
	add("broken", policy.SchemaUnusable, ``, `{}`, `{"a":1}`)
	add("broken", policy.Malformed, `[]`, `{"a":1,"a":2}`)
	add("undeclared", policy.UnknownTool, ``, `{}`, `{"path":"/a"}`)
	add("Read", policy.UnknownTool, `{"path":"/a"}`)
	add("undeclared", policy.Malformed, `[]`, `{"a":1,"a":2}`)
	for _, r := range []row{{"none", "read", `{"path":"/a"}`, ""}, {"none", "read", `{}`, ""}, {"none", "read", `[]`, ""}, {"none", "undeclared", `{}`, ""}, {"none", "open", ``, ""}} {
		r.code = policy.NotReady
		rows = append(rows, r)
	}
	return rows
}
