package wire

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Target is a gate over HTTP, in front of some server.
type Target struct {
	Addr  string // of the gate, host:port
	Path  string // of its endpoint
	Era   Era
	Names Names
	// Session is the Mcp-Session-Id of a session that was opened, in the era of those.
	Session string
	// Saw returns the calls that the server ran since it was asked last. answers are what
	// the client got meanwhile, for servers that can't tell otherwise.
	Saw func(answers [][]byte) []Run
	// GateID returns an id that the gate used with the server, "" when nobody knows.
	GateID func() string
	// Strict says that the server is one that runs what is not hidden, so that the cases
	// that run have to. Mirrored says that the allowed tool's schema has the argument in the
	// header Mcp-Param-Path, too.
	Strict, Mirrored bool
	// HTTP2 has everything sent over HTTP/2, to a gate with the certificate of these roots.
	// nil means HTTP/1.1 without TLS.
	HTTP2 *x509.CertPool
	// Skip are the names of cases that the server itself doesn't survive.
	Skip []string
	// BodyTimeout is the gate's.
	BodyTimeout time.Duration
}

// answerTime is how long an answer may take.
const answerTime = 30 * time.Second

// Play plays every case on a target, and an allowed call after each.
func Play(t *testing.T, target Target) {
	t.Helper()
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, c := range cases {
		if !target.plays(c) {
			continue
		}
		played++
		t.Run(c.Name, func(t *testing.T) { target.play(t, c) })
	}
	t.Logf("%d of %d cases", played, len(cases))
}

func (target Target) plays(c Case) bool {
	switch {
	case c.StdioOnly != "", c.Era != "" && c.Era != target.Era, c.Mirrored && !target.Mirrored, c.Large && testing.Short(), slices.Contains(target.Skip, c.Name):
		return false
	case target.HTTP2 == nil:
		return c.Pseudo == nil
	default:
		return c.Framing != "pipelined" // requests have frames there
	}
}

func (target Target) play(t *testing.T, c Case) {
	f := filler{target.Names, target.Era, "", target.Path}
	body := c.filled(t, &f, target.GateID)
	target.Saw(nil)
	answers := target.send(t, c, f, body)
	saw := target.Saw(bodies(answers))
	target.Names.noneHidden(t, saw)
	switch {
	case target.HTTP2 != nil && c.onlyHTTP1(): // what it is refused with differs, but that it is
		if !c.Runs && len(saw) > 0 {
			t.Fatalf("a call ran: %v", saw)
		}
	case c.Runs && target.Strict:
		if len(saw) == 0 {
			t.Fatalf("an allowed call did not run: %v", answers)
		}
	case c.Runs, c.Answer != "":
	default:
		if len(saw) > 0 {
			t.Fatalf("a call ran: %v", saw)
		}
		target.check(t, c, answers)
	}
	target.control(t)
}

// control makes a call that is allowed, and has to run.
func (target Target) control(t *testing.T) {
	t.Helper()
	f := filler{target.Names, target.Era, "", target.Path}
	c := Case{Name: "control", Body: `{"jsonrpc":"2.0","id":"control","method":"tools/call","params":{"name":"{{safe}}","arguments":{{safe_args}}{{meta}}}}`}
	answers := target.send(t, c, f, []byte(f.fill(c.Body)))
	if saw := target.Saw(bodies(answers)); len(saw) == 0 || slices.ContainsFunc(saw, func(r Run) bool { return r.Tool != target.Names.Safe }) {
		t.Fatalf("an ordinary call doesn't run any more: saw %v, answered %v", saw, answers)
	}
}

// An answer is what the client got.
type answer struct {
	status int
	body   []byte
	err    error
}

func (a answer) String() string { return fmt.Sprintf("%d %.300q %v", a.status, a.body, a.err) }

func bodies(answers []answer) (all [][]byte) {
	for _, a := range answers {
		all = append(all, a.body)
	}
	return all
}

// send sends a case over a connection of its own and returns the answers.
func (target Target) send(t *testing.T, c Case, f filler, body []byte) []answer {
	t.Helper()
	if target.HTTP2 != nil {
		return target.send2(t, c, f, body)
	}
	conn, err := net.DialTimeout("tcp", target.Addr, answerTime)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	request := target.request(c, f, body)
	// The other side may answer and close before it has read everything.
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		_, _ = conn.Write(request)
		if c.Framing == "cut" {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
		}
	}()
	method, _, _ := strings.Cut(c.Line, " ")
	r := bufio.NewReader(conn)
	answers := []answer{readAnswer(r, method)}
	if c.Framing == "pipelined" {
		answers = append(answers, readAnswer(r, method))
	}
	_ = conn.Close()
	<-wrote
	return answers
}

func readAnswer(r *bufio.Reader, method string) answer {
	for {
		res, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return answer{err: err}
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusContinue {
			return answer{res.StatusCode, body, err}
		}
	}
}

// check compares an answer with what the case says of it.
func (target Target) check(t *testing.T, c Case, answers []answer) {
	t.Helper()
	a := answers[0]
	if errors.Is(a.err, io.EOF) && a.status == 0 {
		t.Fatalf("no answer: %v", a.err)
	}
	if want := target.status(c); want != 0 && a.status != want {
		t.Fatalf("the status is not %d: %v", want, a)
	}
	method, _, _ := strings.Cut(c.Line, " ")
	if method == http.MethodHead {
		return
	}
	got, err := codeOf(a.body)
	if err != nil {
		t.Fatalf("%v: %v", err, a)
	}
	if repeats(a.body, got, target.Names) {
		t.Fatalf("the answer repeats the name of a tool that there isn't: %v", a)
	}
	if !c.says(target.Era, got) {
		t.Fatalf("the code is %v, not %v: %v", got, c.Code, a)
	}
}

// status returns the HTTP status that a case has to be answered with, 0 for any.
func (target Target) status(c Case) int {
	switch s := c.Status.(type) {
	case float64:
		return int(s)
	case string: // "method" and "blank": of a method that doesn't pass
		if target.Era != Stateless {
			return http.StatusOK
		}
		if s == "blank" || c.MethodHeader != nil && *c.MethodHeader == "" {
			return http.StatusBadRequest // for Mcp-Method doesn't say it
		}
		return http.StatusNotFound
	default:
		return 0
	}
}

// says reports whether a code is that of the case.
func (c Case) says(e Era, got any) bool {
	if c.Code == nil {
		return true
	}
	if got == c.Code {
		return true
	}
	// In the stateless era a header that is missing may be noticed first.
	return e == Stateless && c.MethodHeader != nil && *c.MethodHeader == "" && got == float64(-32020)
}

// repeats reports whether a refusal for a tool that there isn't says the name that the
// client made up: nothing that an agent reads is to be written by another.
func repeats(body []byte, code any, n Names) bool {
	return code == float64(-32602) && bytes.Contains(bytes.ToLower(body), []byte(n.Secret))
}

// codeOf returns what an answer of a gate says: a JSON-RPC error's code, or that of a
// refused call.
func codeOf(body []byte) (any, error) {
	var m struct {
		Error  *struct{ Code float64 }
		Result *struct {
			IsError bool
			Meta    map[string]struct {
				Refusals []struct{ Code string }
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, fmt.Errorf("not a JSON-RPC answer: %w", err)
	}
	if m.Error != nil {
		return m.Error.Code, nil
	}
	if m.Result == nil || !m.Result.IsError || len(m.Result.Meta["io.regogate/decision"].Refusals) == 0 {
		return nil, errors.New("neither an error nor a refusal")
	}
	return m.Result.Meta["io.regogate/decision"].Refusals[0].Code, nil
}
