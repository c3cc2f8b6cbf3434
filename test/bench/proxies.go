package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/regogate/regogate/test/bench/measure"
)

// buildGate builds the program that users run.
func buildGate(dir string) (string, error) {
	path := filepath.Join(dir, "regogate")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/regogate")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/regogate: %w: %s", err, out)
	}
	return path, nil
}

const oneRule = "package tools.echo\n\nimport rego.v2\n\ndeny contains \"not that\" if input.arguments.text == \"secret\"\n"

func oneRuleBundle(dir string) (string, error) {
	path := filepath.Join(dir, "one-rule")
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(filepath.Join(path, "echo.rego"), []byte(oneRule), 0o600)
}

// callOf is a tools/call of that many bytes.
func callOf(size int) string {
	const shell = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":""}}}`
	return strings.Replace(shell, `"text":""`, `"text":"`+strings.Repeat("x", max(1, size-len(shell)))+`"`, 1)
}

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listTools   = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

var errAnswer = errors.New("not the expected answer")

// overStdio starts a command that is, or has behind it, the example server, and returns
// a subject that calls its tool.
func overStdio(name string, size int, command ...string) (s measure.Subject, stop func(), err error) {
	var log bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = &log
	in, err := cmd.StdinPipe()
	if err != nil {
		return s, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, nil, err
	}
	if err := cmd.Start(); err != nil {
		return s, nil, err
	}
	stop = func() {
		_ = in.Close()
		timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
	}
	r := bufio.NewReaderSize(out, 1<<16)
	ask := func(line []byte, want string) error {
		if _, err := in.Write(line); err != nil {
			return fmt.Errorf("%w: %s", err, &log)
		}
		for want != "" {
			got, err := r.ReadSlice('\n')
			if err != nil {
				return fmt.Errorf("%w: %s", err, &log)
			}
			if bytes.Contains(got, []byte(`"isError":true`)) || !bytes.Contains(got, []byte(want)) {
				return fmt.Errorf("%w: %.200s", errAnswer, got)
			}
			return nil
		}
		return nil
	}
	for _, step := range [][2]string{{initialize, `"id":1,`}, {initialized, ""}, {listTools, `"id":2,`}} {
		if err := ask([]byte(step[0]+"\n"), step[1]); err != nil {
			stop()
			return s, nil, err
		}
	}
	call := []byte(callOf(size) + "\n")
	return measure.Subject{Name: name, Run: func() error { return ask(call, `"id":7,"result"`) }}, stop, nil
}

// overHTTP returns a subject that calls the tool at an endpoint.
func overHTTP(name string, size int, url string) (s measure.Subject, err error) {
	client := &http.Client{Timeout: 10 * time.Second}
	session := ""
	ask := func(body []byte, want string) error {
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
			req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		if bytes.Contains(data, []byte(`"isError":true`)) || !bytes.Contains(data, []byte(want)) {
			return fmt.Errorf("%w: HTTP %d %.200s", errAnswer, resp.StatusCode, data)
		}
		return nil
	}
	for _, step := range [][2]string{{initialize, `"id":1,`}, {initialized, ""}, {listTools, `"id":2,`}} {
		if err := ask([]byte(step[0]), step[1]); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
	}
	call := []byte(callOf(size))
	return measure.Subject{Name: name, Run: func() error { return ask(call, `"id":7,"result"`) }}, nil
}
