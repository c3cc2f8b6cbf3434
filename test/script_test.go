package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/regogate/regogate/cmd/regogate/command"
	"github.com/regogate/regogate/policy"
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(stdioServerEnv); kind != "" {
		serveStdio(kind)
		return
	}
	testscript.Main(m, map[string]func(){"regogate": command.Main})
}

// The scripts run regogate as its users do: each is a file with commands, and the
// policies and configurations that they are about.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"oneline": oneLine,
			"repeat":  repeat,
			"long":    long,
			"codes":   codes,
		},
	})
}

// exits runs a command that has to exit with a status: exits STATUS COMMAND [ARG...].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	ts.Logf("[stdout]\n%s[stderr]\n%s", ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// oneLine checks that the last command said one line on standard error and nothing on
// standard output, and that the line contains each argument.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	line, rest, found := strings.Cut(ts.ReadFile("stderr"), "\n")
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: oneline TEXT...")
	case !found || rest != "":
		ts.Fatalf("standard error is not one line")
	case ts.ReadFile("stdout") != "":
		ts.Fatalf("there is something on standard output")
	case strings.Contains(line, "goroutine") || strings.Contains(line, "Usage"):
		ts.Fatalf("the line is no plain message")
	}
	for _, text := range args {
		if !strings.Contains(line, text) {
			ts.Fatalf("the line doesn't contain %q", text)
		}
	}
}

// repeat writes a file that has all the lines of another N times: repeat N FROM TO.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: repeat N FROM TO")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Repeat(ts.ReadFile(args[1]), n)), 0o600))
}

// long writes a file of N bytes without a line feed: long N TO.
func long(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: long N TO")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), bytes.Repeat([]byte("x"), n), 0o600))
}

// codes compares the codes of a file of decisions, one a line, with those in another
// file; where a call was allowed that says allowed: codes DECISIONS WANT.
func codes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: codes DECISIONS WANT")
	}
	var got strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var d policy.Decision
		ts.Check(json.Unmarshal([]byte(line), &d))
		if d.Allowed {
			got.WriteString("allowed\n")
			continue
		}
		got.WriteString(string(d.Code()) + "\n")
	}
	if want := ts.ReadFile(args[1]); got.String() != want {
		ts.Fatalf("the codes are\n%swant\n%s", got.String(), want)
	}
}
