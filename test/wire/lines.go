package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Stream is a gate on standard streams, in front of some server.
type Stream struct {
	In    io.Writer // what the gate reads
	Out   *Lines    // what it wrote
	Era   Era
	Names Names
	// Saw, GateID and Skip are as in [Target].
	Saw    func(answers [][]byte) []Run
	GateID func() string
	Skip   []string
	// Calls returns how many lines reached the server, since it was asked last, that some
	// reader would take for a call. nil is for servers that can't tell, and what is answered
	// then isn't looked at either: they answer differently.
	Calls func() int
}

// PlayLines plays every case that makes sense there, each followed by a call that has to
// run, and returns how many.
func PlayLines(t *testing.T, s Stream) (played int) {
	t.Helper()
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.HTTPOnly != "" || c.Era != "" && c.Era != s.Era || c.Large && testing.Short() || slices.Contains(s.Skip, c.Name) {
			continue
		}
		played++
		t.Run(c.Name, func(t *testing.T) { s.play(t, c) })
	}
	t.Logf("%d of %d cases", played, len(cases))
	return played
}

func (s Stream) play(t *testing.T, c Case) {
	f := filler{s.Names, s.Era, "", ""}
	body := c.filled(t, &f, s.GateID)
	s.Saw(nil)
	if s.Calls != nil {
		s.Calls()
	}
	if _, err := s.In.Write(append(body, '\n')); err != nil {
		t.Fatal(err)
	}
	id, _ := json.Marshal("after " + c.Name) // a string
	control := `{"jsonrpc":"2.0","id":` + string(id) + `,"method":"tools/call","params":{"name":"{{safe}}","arguments":{{safe_args}}{{meta}}}}`
	if _, err := io.WriteString(s.In, f.fill(control)+"\n"); err != nil {
		t.Fatal(err)
	}
	answers, last := s.Out.Until(t, string(id))
	saw := s.Saw(append(answers, last))
	s.Names.noneHidden(t, saw)
	if !slices.ContainsFunc(saw, func(r Run) bool { return r.Tool == s.Names.Safe }) || bytes.Contains(last, []byte(`"isError":true`)) {
		t.Fatalf("an ordinary call doesn't run any more: saw %v, answered %.300q", saw, last)
	}
	if s.Calls == nil {
		return
	}
	if err := c.answered(s.Era, s.Names, answers); err != nil {
		t.Fatalf("%v: answered %.300q", err, answers)
	}
	want := 1 // the ordinary call
	if c.Runs {
		want++
	}
	if got := s.Calls(); c.Lines == "" && c.StdioOnly == "" && got != want {
		t.Fatalf("%d calls reached the server, not %d: %v", got, want, saw)
	}
}

// answered says what is wrong with a gate's answers to a case, nil when nothing is.
func (c Case) answered(e Era, n Names, answers [][]byte) error {
	switch {
	case c.Lines == "any":
		return nil
	case c.Lines == "none":
		if len(answers) > 0 {
			return fmt.Errorf("there is an answer")
		}
		return nil
	case c.Runs:
		if len(answers) != 1 || bytes.Contains(answers[0], []byte("rror")) {
			return fmt.Errorf("an allowed call is not answered as such")
		}
		return nil
	case c.StdioOnly != "":
		return nil
	case len(answers) != 1:
		return fmt.Errorf("there are %d answers, not one", len(answers))
	}
	got, err := codeOf(answers[0])
	switch {
	case err != nil:
		return err
	case repeats(answers[0], got, n):
		return fmt.Errorf("the answer repeats the name of a tool that there isn't")
	case c.Lines != "" && got != c.Lines:
		return fmt.Errorf("the code is %v, not %s", got, c.Lines)
	case c.Lines == "" && !c.says(e, got):
		return fmt.Errorf("the code is %v, not %v", got, c.Code)
	}
	return nil
}

// Lines are what a gate writes. Make them with [ReadLines].
type Lines struct {
	mu    sync.Mutex
	lines [][]byte
	next  int
	news  chan struct{}
	err   error
}

// ReadLines reads lines until there are no more.
func ReadLines(r io.Reader) *Lines {
	l := &Lines{news: make(chan struct{}, 1)}
	go func() {
		in := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := in.ReadBytes('\n')
			l.add(line, err)
			if err != nil {
				return
			}
		}
	}()
	return l
}

func (l *Lines) add(line []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(line) > 0 {
		l.lines = append(l.lines, line)
	}
	l.err = err
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// Until returns the lines that come before the response with that id, and that one. A
// line that is no JSON fails the test.
func (l *Lines) Until(t *testing.T, id string) (before [][]byte, last []byte) {
	t.Helper()
	deadline := time.After(answerTime)
	for {
		line, err := l.take()
		if line != nil {
			var m struct {
				ID     json.RawMessage
				Method *string
			}
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatalf("a line is no JSON: %.300q", line)
			}
			if string(m.ID) == id && m.Method == nil {
				return before, line
			}
			before = append(before, line)
			continue
		}
		if err != nil {
			t.Fatalf("no answer to %s: %v", id, err)
		}
		select {
		case <-l.news:
		case <-deadline:
			t.Fatalf("no answer to %s in time; before: %.300q", id, before)
		}
	}
}

// take returns the next line, nil when there is none yet; err says that there won't be.
func (l *Lines) take() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next < len(l.lines) {
		line := l.lines[l.next]
		l.lines[l.next] = nil
		l.next++
		return line, nil
	}
	return nil, l.err
}

// All returns the lines that nobody has asked for, as soon as there will be no more.
func (l *Lines) All(t *testing.T) (rest [][]byte) {
	t.Helper()
	deadline := time.After(answerTime)
	for {
		line, err := l.take()
		switch {
		case line != nil:
			rest = append(rest, line)
			continue
		case err != nil:
			return rest
		}
		select {
		case <-l.news:
		case <-deadline:
			t.Fatalf("the gate doesn't end its output")
		}
	}
}
