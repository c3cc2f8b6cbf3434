package bridge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// serverEnv makes the test binary be a server instead, of the kind that its value names.
const serverEnv = "REGOGATE_TEST_BRIDGE_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(serverEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case "dies":
		os.Exit(3)
	case "deaf":
		time.Sleep(time.Minute)
	default:
		(&fakeServer{}).serve()
	}
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		N int `json:"n"`
	} `json:"params"`
}

// A fakeServer does what the method of a request says.
type fakeServer struct {
	asked, slow json.RawMessage // ids of the requests that wait
}

func (f *fakeServer) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...) + "\n"
	if _, err := os.Stdout.WriteString(line); err != nil {
		os.Exit(1)
	}
}

func (f *fakeServer) serve() {
	r := bufio.NewReader(os.Stdin)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		var m rpc
		if json.Unmarshal([]byte(line), &m) == nil {
			f.handle(m, strings.TrimSuffix(line, "\n"))
		}
	}
}

// rounded is a number as a server has it that keeps all numbers in 64 bits of floating point.
func rounded(raw json.RawMessage) json.RawMessage {
	var n float64
	if json.Unmarshal(raw, &n) != nil {
		return raw
	}
	text, _ := json.Marshal(n) // a number
	return text
}

func (f *fakeServer) handle(m rpc, line string) {
	result := func(id json.RawMessage, text string) {
		f.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, text)
	}
	switch m.Method {
	case "initialize":
		if strings.Contains(line, `"refuse"`) {
			f.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`, m.ID)
			return
		}
		if !strings.Contains(line, `"hang"`) {
			result(m.ID, `{"protocolVersion":"2025-11-25"}`)
		}
	case "resources/read": // echo
		quoted, _ := json.Marshal(line)
		result(m.ID, fmt.Sprintf(`{"pid":%d,"line":%s}`, os.Getpid(), quoted))
	case "prompts/get": // progress
		for i := range m.Params.N {
			f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.Params.Meta.Token, i)
		}
		result(m.ID, "{}")
	case "tools/list": // asks before it answers
		f.asked = m.ID
		f.say(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	case "":
		if f.asked != nil {
			quoted, _ := json.Marshal(line)
			result(f.asked, fmt.Sprintf(`{"heard":%s}`, quoted))
			f.asked = nil
		}
	case "resources/list": // notifies
		f.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		result(m.ID, "{}")
	case "subscriptions/listen":
		f.slow = m.ID
		f.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
	case "notifications/cancelled":
		if string(m.Params.RequestID) == string(f.slow) {
			f.slow = nil
		}
	case "prompts/list": // how it stands
		result(m.ID, fmt.Sprintf(`{"slow":%t}`, f.slow != nil))
	case "logging/setLevel": // writes things that are no messages
		f.say("hello\n{\"jsonrpc\":\n\n[1,2]\r")
		f.say(`[{"jsonrpc":"2.0","method":"notifications/message","params":{}},{"jsonrpc":"2.0","id":%s,"result":{}}]`, m.ID)
	case "prompts/rounded": // has read numbers as floating point ones
		f.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, rounded(m.Params.Meta.Token))
		result(rounded(m.ID), "{}")
	case "completion/complete":
		os.Exit(3)
	case "ping":
		// never answered
	}
}
