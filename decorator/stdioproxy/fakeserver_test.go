package stdioproxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeServerEnv makes the test binary be a server instead: its value is a script.
const fakeServerEnv = "REGOGATE_TEST_FAKE_SERVER"

// A script says how the fake server behaves. The zero script is a well-behaved one
// without tools.
type script struct {
	Pages      [][]string // names of tools, page by page
	Record     string     // file that gets every line as it came
	ListError  int        // answers tools/list with that error
	ListRaw    string     // answers tools/list with that result
	ListNever  bool       // doesn't answer tools/list
	ListDelay  int        // milliseconds before tools/list is answered
	RootsFirst bool       // answers tools/list only after the client told its roots
	Batch      bool       // answers tools/list in a batch with something for the client
	Verbose    bool       // answers initialize at length
	ListLine   string     // a line that precedes each answer to tools/list
	Later      []string   // tools that come with the call of "grow"
	Banner     []byte     // written before anything is read
	OnEOF      string     // "ignore" goes on, "exit N" exits with N after a last line without ending
	IgnoreTERM bool
	ExitAfter  string // name of a tool whose call makes the server exit with 7
}

type fakeServer struct {
	script
	out    *bufio.Writer
	record *os.File
	listed []json.RawMessage // ids of tools/list that wait for roots
}

func TestMain(m *testing.M) {
	if s := os.Getenv(fakeServerEnv); s != "" {
		var f fakeServer
		if err := json.Unmarshal([]byte(s), &f.script); err != nil {
			panic(err)
		}
		f.serve()
	}
	os.Exit(m.Run())
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
	} `json:"params"`
}

func (f *fakeServer) serve() {
	if f.IgnoreTERM {
		signal.Ignore(syscall.SIGTERM)
	}
	f.out = bufio.NewWriter(os.Stdout)
	if f.Record != "" {
		r, err := os.OpenFile(f.Record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		f.record = r
	}
	f.say(string(f.Banner))
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			if f.record != nil {
				_, _ = f.record.WriteString(line)
			}
			var m rpc
			if json.Unmarshal([]byte(line), &m) == nil {
				f.handle(line, m)
			}
		}
		if err == io.EOF {
			f.eof()
		}
	}
}

func (f *fakeServer) eof() {
	switch {
	case f.OnEOF == "ignore":
		for {
			time.Sleep(time.Hour)
		}
	case strings.HasPrefix(f.OnEOF, "exit "):
		n, _ := strconv.Atoi(f.OnEOF[5:])
		f.say("last words")
		os.Exit(n)
	}
	os.Exit(0)
}

func (f *fakeServer) say(s string) {
	_, _ = f.out.WriteString(s)
	_ = f.out.Flush()
}

func (f *fakeServer) result(id json.RawMessage, result string) {
	f.say(`{"result":` + result + `,"jsonrpc":"2.0","id":` + string(id) + "}\n")
}

func (f *fakeServer) handle(line string, m rpc) {
	switch m.Method {
	case "initialize":
		instructions := ""
		if f.Verbose {
			instructions = strings.Repeat("read this. ", 1000)
		}
		f.result(m.ID, `{"instructions":"`+instructions+`","protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "tools/list":
		f.list(m)
	case "tools/call":
		f.call(line, m)
	case "":
		if f.RootsFirst && string(m.ID) == `"roots-1"` {
			f.RootsFirst = false
			for _, id := range f.listed {
				f.answerList(rpc{ID: id})
			}
		}
	default:
		if m.ID != nil {
			f.result(m.ID, `{}`)
		}
	}
}

func (f *fakeServer) list(m rpc) {
	if f.ListLine != "" {
		f.say(f.ListLine + "\n")
	}
	switch {
	case f.ListNever:
	case f.ListError != 0:
		f.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`+"\n", m.ID, f.ListError))
	case f.RootsFirst:
		f.listed = append(f.listed, m.ID)
		f.say(`{"jsonrpc":"2.0","id":"roots-1","method":"roots/list"}` + "\n")
	default:
		time.Sleep(time.Duration(f.ListDelay) * time.Millisecond)
		f.answerList(m)
	}
}

func (f *fakeServer) answerList(m rpc) {
	if f.ListRaw != "" {
		f.result(m.ID, f.ListRaw)
		return
	}
	page, _ := strconv.Atoi(m.Params.Cursor)
	var tools []string
	if page < len(f.Pages) {
		for _, name := range f.Pages[page] {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
	}
	next := ""
	if page+1 < len(f.Pages) {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, page+1)
	}
	result := `{"tools":[` + strings.Join(tools, ",") + `]` + next + `}`
	if f.Batch {
		f.say(`[ {"jsonrpc":"2.0","method":"notifications/message","params":{"data":1.0}}, {"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + "} ]\n")
		return
	}
	f.result(m.ID, result)
}

func (f *fakeServer) call(line string, m rpc) {
	if m.Params.Name == f.ExitAfter && f.ExitAfter != "" {
		os.Exit(7)
	}
	if m.Params.Name == "grow" || m.Params.Name == "grow_silently" {
		f.Pages[0] = append(f.Pages[0], f.Later...)
		f.Later = nil
		if m.Params.Name == "grow" {
			f.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		}
	}
	if m.Params.Name == "big" {
		f.result(m.ID, `{"content":[{"type":"text","text":"`+strings.Repeat("x", bigResult)+`"}]}`)
		return
	}
	if m.ID != nil {
		f.result(m.ID, fmt.Sprintf(`{"content":[{"type":"text","text":"ran %s %d"}]}`, m.Params.Name, len(line)))
	}
}

const bigResult = 20 << 20 // more than the proxy looks at

// command returns how to start the fake server with that script.
func command(t testing.TB, s script) (argv, env []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe}, append(os.Environ(), fakeServerEnv+"="+string(b), "GORACE=atexit_sleep_ms=0")
}
