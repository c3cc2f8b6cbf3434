package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/test/wire"
)

// recordEnv makes the test binary be a lenient server on standard streams: it is the file
// that gets every byte that came.
const recordEnv = "REGOGATE_TEST_RECORD"

func TestMain(m *testing.M) {
	if path := os.Getenv(recordEnv); path != "" {
		if err := serveLines(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveLines writes down every line and then answers it, if it can.
func serveLines(path string) error {
	record, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	l := &lenient{}
	for {
		line, err := in.ReadBytes('\n')
		if _, err := record.Write(line); err != nil {
			return err
		}
		if answer := l.answer(line); answer != "" {
			if _, err := io.WriteString(os.Stdout, answer+"\n"); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// A record is what a lenient server on standard streams got.
type record struct {
	t    *testing.T
	path string

	mu    sync.Mutex
	read  int64
	calls int
	id    string
}

// saw returns what some reader would have run of what came: of the lines, and of all
// since it was called last for readers to whom line feeds are nothing special.
func (r *record) saw([][]byte) (runs []wire.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.Open(r.path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(r.t, err)
	defer f.Close()
	_, err = f.Seek(r.read, io.SeekStart)
	require.NoError(r.t, err)
	text, err := io.ReadAll(f)
	require.NoError(r.t, err)
	r.read += int64(len(text))
	for line := range bytes.Lines(text) {
		found := wire.Readings(nil, line)
		if len(found) > 0 {
			r.calls++
		}
		runs = append(runs, found...)
		var m struct {
			ID     any
			Method string
		}
		if json.Unmarshal(line, &m) == nil && m.Method == "tools/list" {
			r.id, _ = m.ID.(string)
		}
	}
	return append(runs, wire.Readings(nil, text)...)
}

// reached returns how many lines came that somebody would take for a call.
func (r *record) reached() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = 0
	return calls
}

func (r *record) gateID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// TestStdioInFrontOfALenientServer plays every trick on standard streams.
func TestStdioInFrontOfALenientServer(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, e := range eras {
		t.Run(string(e), func(t *testing.T) {
			r := &record{t: t, path: filepath.Join(t.TempDir(), "record")}
			fromClient, in := io.Pipe()
			out, toClient := io.Pipe()
			status := make(chan int, 1)
			go func() {
				code, err := stdioproxy.Run(t.Context(), stdioproxy.Options{
					Command: []string{exe}, Env: append(os.Environ(), recordEnv+"="+r.path, "GORACE=atexit_sleep_ms=0"),
					Stdin: fromClient, Stdout: toClient, Stderr: os.Stderr, Gate: gate(t),
				})
				if err != nil {
					code = -1
				}
				_ = toClient.Close()
				status <- code
			}()
			lines := wire.ReadLines(out)
			if e == wire.Sessions {
				_, err := io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
				require.NoError(t, err)
				lines.Until(t, "0")
			}
			played := wire.PlayLines(t, wire.Stream{
				In: in, Out: lines, Era: e, Names: wire.DefaultNames(), Saw: r.saw, GateID: r.gateID, Calls: r.reached,
			})
			require.Greater(t, played, 130)
			require.NoError(t, in.Close())
			require.Zero(t, <-status)
			require.Empty(t, lines.All(t))
		})
	}
}
