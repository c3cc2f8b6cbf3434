package mcpwire

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A wireCase is one line of testdata. The message is in exactly one of Message (the
// bytes as they stand in the file), Line (as a string) and Hex.
type wireCase struct {
	Name    string          `json:"name"`
	Message json.RawMessage `json:"message"`
	Line    *string         `json:"line"`
	Hex     string          `json:"hex"`

	Kind         string          `json:"kind"`
	ID           string          `json:"id"`
	Method       string          `json:"method"`
	Tool         string          `json:"tool"`
	Arguments    json.RawMessage `json:"arguments"`
	RawArguments string          `json:"raw_arguments"`
	Task         bool            `json:"task"`

	Fault     int    `json:"fault"`
	FaultID   string `json:"fault_id"`
	Multiline string `json:"multiline"`
}

func (c wireCase) bytes(t testing.TB) []byte {
	t.Helper()
	switch {
	case c.Line != nil:
		return []byte(*c.Line)
	case c.Hex != "":
		b, err := hex.DecodeString(c.Hex)
		require.NoError(t, err)
		return b
	default:
		return c.Message
	}
}

func readCases(t testing.TB, file string) []wireCase {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	var cases []wireCase
	names := map[string]bool{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var c wireCase
		dec := json.NewDecoder(bytes.NewReader(s.Bytes()))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(&c), s.Text())
		require.False(t, names[c.Name], "two cases are called %q", c.Name)
		names[c.Name] = true
		cases = append(cases, c)
	}
	require.NotEmpty(t, cases)
	return cases
}

var kinds = map[string]Kind{"request": Request, "notification": Notification, "response": Response}

// Readers of lines must not find another message in one that has several lines.
func TestLinesThatAreMessages(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`
	for _, inner := range []string{call, "[" + call + "]", `[1,` + call + `]`, call + ",1", `{"Method":"tools\/call","params":{}}`, `{"\u006dethod":"x/y"}`} {
		for _, ending := range []string{"\n", " \n\t"} {
			text := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":[` + ending + inner + ending + `]}}`
			_, fault := Read([]byte(text), Limits{Multiline: true})
			require.NotNil(t, fault, text)
			require.Equal(t, CodeInvalidRequest, fault.Code)
			require.Equal(t, "1", string(fault.ID))
		}
	}
	for _, inner := range []string{`{"method":"GET"}`, `{"path":"/a"}`, `[]`, `{}`, `[{"params":1}]`, `"` + `tools/call"`} {
		text := "{\"jsonrpc\":\"2.0\",\n\"id\":1,\n\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"arguments\":{\"x\":\n" + inner + "\n}}}\n"
		_, fault := Read([]byte(text), Limits{Multiline: true})
		require.Nil(t, fault, text)
	}
}

func TestReadAccepts(t *testing.T) {
	for _, c := range readCases(t, "accepted.jsonl") {
		t.Run(c.Name, func(t *testing.T) {
			line := c.bytes(t)
			before := bytes.Clone(line)
			m, fault := Read(line, Limits{})
			require.Nil(t, fault)
			require.Equal(t, before, line, "reading must not change what is forwarded")
			require.Equal(t, kinds[c.Kind], m.Kind)
			require.Equal(t, c.ID, string(m.ID))
			require.Equal(t, c.Method, m.Method)
			require.Equal(t, c.Tool, m.Tool)
			require.Equal(t, c.Task, m.IsTask())
			switch {
			case c.RawArguments != "":
				require.Equal(t, c.RawArguments, string(m.Arguments()))
			case c.Arguments != nil:
				require.Equal(t, string(c.Arguments), string(m.Arguments()))
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range readCases(t, "refused.jsonl") {
		t.Run(c.Name, func(t *testing.T) {
			require.NotZero(t, c.Fault)
			m, fault := Read(c.bytes(t), Limits{})
			require.NotNil(t, fault)
			require.Nil(t, m)
			require.Equal(t, c.Fault, fault.Code, fault.Message)
			require.Equal(t, c.FaultID, string(fault.ID))
			require.NotContains(t, fault.Message, "secret")

			var answer struct {
				ID    json.RawMessage `json:"id"`
				Error struct {
					Code    int    `json:"code"`
					Message string `json:"message"`
				} `json:"error"`
			}
			require.NoError(t, json.Unmarshal(fault.Answer(), &answer))
			require.Equal(t, c.Fault, answer.Error.Code)
			require.Equal(t, fault.Message, answer.Error.Message)
			if c.FaultID == "" {
				require.Equal(t, "null", string(answer.ID))
			} else {
				require.Equal(t, c.FaultID, string(answer.ID))
			}

			m, fault = Read(c.bytes(t), Limits{Multiline: true})
			require.Equal(t, c.Multiline == "accepted", m != nil && fault == nil)
		})
	}
}

func TestReadKeepsBytes(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0", "id" : "a\u0062" ,"method":"tools/call","params": {"name":"x","arguments":{"n":1.50,"s":"\/"} , "_meta":{"progressToken": 7},"inputResponses":{"q":{"action":"accept"}}} }` + "\r\n")
	m, fault := Read(line, Limits{})
	require.Nil(t, fault)
	require.Equal(t, `"a\u0062"`, string(m.ID))
	require.Equal(t, `{"n":1.50,"s":"\/"}`, string(m.Arguments()))
	require.Equal(t, `{"q":{"action":"accept"}}`, string(m.InputResponses()))
	require.Equal(t, `7`, string(m.Meta("progressToken")))
	require.Equal(t, `{"progressToken": 7}`, string(m.Param("_meta")))
	require.Equal(t, `{"name":"x","arguments":{"n":1.50,"s":"\/"} , "_meta":{"progressToken": 7},"inputResponses":{"q":{"action":"accept"}}}`, string(m.Params))
	require.Nil(t, m.Param("absent"))
}

// Nothing that a message says may come back in the fault.
func TestFaultsRepeatNothing(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"HUNTER2":1,"HUNTER2":2}}`,
		`{"jsonrpc":"2.0","id":1,"method":"HUNTER2","method":"HUNTER2"}`,
		`{"jsonrpc":"HUNTER2","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","x":HUNTER2}`,
		`HUNTER2`,
	} {
		_, fault := Read([]byte(line), Limits{})
		require.NotNil(t, fault, line)
		require.NotContains(t, string(fault.Answer()), "HUNTER2")
	}
}

func call(arguments string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"x","arguments":` + arguments + `,"_meta":{}}}`)
}

func nested(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2) }

// Arguments that are too deep for anybody to read are still a call's arguments.
func TestDeepArguments(t *testing.T) {
	for _, depth := range []int{64, 66, 1000, 9_990, 9_998, 10_000, 100_000, 2_000_000} {
		arguments := nested(depth)
		m, fault := Read(call(arguments), Limits{})
		require.Nil(t, fault, depth)
		require.Equal(t, `"deep"`, string(m.ID))
		require.Equal(t, "x", m.Tool)
		require.True(t, string(m.Arguments()) == arguments, "depth %d: arguments are not the bytes sent", depth)
	}
	for name, arguments := range map[string]string{
		"no end":                strings.Repeat("[", 20_000),
		"end of the message":    strings.Repeat("[", 20_000) + strings.Repeat("]", 19_998),
		"an envelope in it":     nested(20_000) + `,"name":"y"`,
		"duplicate beside it":   nested(20_000) + `,"arguments":{}`,
		"two of them":           nested(20_000) + `,"arguments":` + nested(20_000),
		"a string without end ": strings.Repeat("[", 20_000) + `"`,
	} {
		m, fault := Read(call(arguments), Limits{})
		require.NotNil(t, fault, name)
		require.Nil(t, m, name)
	}
}

func TestLimits(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":` + nested(n) + `}}`)
	}
	m, fault := Read(deep(254), Limits{}) // two more around it
	require.Nil(t, fault)
	require.Equal(t, "ping", m.Method)
	_, fault = Read(deep(256), Limits{})
	require.NotNil(t, fault)
	require.Equal(t, CodeInvalidRequest, fault.Code)
	require.Equal(t, "1", string(fault.ID))
	_, fault = Read(deep(20_000), Limits{})
	require.NotNil(t, fault)
	require.Equal(t, CodeParse, fault.Code)

	ping := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	_, fault = Read(ping, Limits{Bytes: len(ping)})
	require.Nil(t, fault)
	_, fault = Read(ping, Limits{Bytes: len(ping) - 1})
	require.NotNil(t, fault)
	require.Equal(t, CodeInvalidRequest, fault.Code)
	for _, l := range []Limits{{Bytes: -1}, {Depth: -1}} {
		_, fault = Read(ping, l)
		require.NotNil(t, fault, "a negative limit must refuse")
	}

	id := strings.Repeat("x", maxIDBytes-2)
	_, fault = Read([]byte(`{"jsonrpc":"2.0","id":"`+id+`","method":"ping"}`), Limits{})
	require.Nil(t, fault)
	_, fault = Read([]byte(`{"jsonrpc":"2.0","id":"`+id+`x","method":"ping"}`), Limits{})
	require.NotNil(t, fault)
	require.Nil(t, fault.ID)
}

func TestLargeMessages(t *testing.T) {
	image := strings.Repeat("QUJD", 4<<20) // 16 MiB
	m, fault := Read([]byte(`{"jsonrpc":"2.0","id":7,"result":{"content":{"type":"image","data":"`+image+`"}}}`), Limits{})
	require.Nil(t, fault)
	require.Equal(t, Response, m.Kind)

	m, fault = Read(call(`{"data":"`+image+`"}`), Limits{})
	require.Nil(t, fault)
	require.Len(t, m.Arguments(), len(image)+len(`{"data":""}`))

	_, fault = Read(call(`{"data":"`+strings.Repeat(image, 4)+`"}`), Limits{})
	require.NotNil(t, fault, "64 MiB and an envelope are too much")
}

func TestManyMembers(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`,"x` + strings.Repeat("y", i%7) + string(rune('a'+i%26)) + hex.EncodeToString([]byte{byte(i), byte(i >> 8), byte(i >> 16)}) + `":1`)
		}
		return b.String()
	}
	_, fault := Read([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1`+many(maxMembers-1)+`}}`), Limits{})
	require.Nil(t, fault)
	_, fault = Read([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1`+many(maxMembers)+`}}`), Limits{})
	require.NotNil(t, fault)
	_, fault = Read([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"`+many(1<<17)+`,"Method":"x"}`), Limits{})
	require.NotNil(t, fault)
	require.Nil(t, fault.ID, "an id that might be contradicted later is not certain")
}
