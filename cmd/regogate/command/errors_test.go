package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/regoeval"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\r\n  c": "a b c",
		"panic: x\ngoroutine 1 [running]:\nmain.f()": "panic: x",
		"\x1b[31mred\x1b[0m \a":                      "\ufffd[31mred\ufffd[0m \ufffd",
		"ünïcödé \u202e":                             "ünïcödé \ufffd",
	} {
		require.Equal(t, want, oneLine(in))
	}
}

func TestPrintError(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"any":           {errors.New("a\nb"), "regogate: a b\n"},
		"usage":         {usage{"what", "where", "do this"}, "regogate: what: where: do this\n"},
		"configuration": {&config.Error{Problems: []config.Problem{{File: "f", Line: 2, Key: "k", What: "w", Fix: "x"}, {File: "f", What: "v"}}}, "regogate: configuration: f:2: k: w; x\nregogate: configuration: f: v\n"},
		"findings":      {fmt.Errorf("bundle b: %w", &regoeval.LoadError{Findings: []regoeval.Finding{{ID: "i", File: "f", Line: 1, Col: 2, Message: "m", Fix: "x"}}}), "f:1:2: i: m; x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			printError(&out, c.err)
			require.Equal(t, c.want, out.String())
		})
	}
}

// A defect is a failure, and is told in one line.
func TestPanicIsAFailure(t *testing.T) {
	bundle := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bundle, "x.rego"), []byte("package tools.x\n\nimport rego.v2\n\ndeny contains \"no\" if input.arguments.no\n"), 0o600))
	var stderr bytes.Buffer
	status := Run(context.Background(), []string{"check", "--bundle", bundle, "--no-schema", "--tool", "x", "--arguments-file", "-"},
		panicking{}, io.Discard, &stderr)
	require.Equal(t, failed, status)
	require.Equal(t, 1, strings.Count(stderr.String(), "\n"))
	require.Contains(t, stderr.String(), "a defect of regogate")
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("boom") }
