package stdioproxy_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

// relay is what a proxy costs at least: it copies bytes both ways, and reads none.
func relay(argv, env []string, stdin io.Reader, stdout io.Writer) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// Wrapped, so that the bytes come through this process and aren't spliced by the kernel.
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{in}, struct{ io.Reader }{stdin})
		_ = in.Close()
	}()
	if _, err := io.Copy(struct{ io.Writer }{stdout}, struct{ io.Reader }{out}); err != nil {
		return err
	}
	return cmd.Wait()
}

// BenchmarkCall measures the time from a call to its answer, through pipes like those
// of a client: by a relay of bytes, and by the proxy, with a gate that has one rule and a schema.
func BenchmarkCall(b *testing.B) {
	gate, err := policy.NewGate(policy.Options{})
	if err != nil {
		b.Fatal(err)
	}
	gate.Use(rules{})
	s := script{ListRaw: `{"tools":[{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}`}
	argv, env := command(b, s)
	for name, run := range map[string]func(in io.Reader, out io.Writer) error{
		"relay": func(in io.Reader, out io.Writer) error { return relay(argv, env, in, out) },
		"proxy": func(in io.Reader, out io.Writer) error {
			_, err := stdioproxy.Run(context.Background(), stdioproxy.Options{Command: argv, Env: env, Stdin: in, Stdout: out, Gate: gate})
			return err
		},
	} {
		for size, arguments := range map[string]string{"100B": `/a`, "10kB": strings.Repeat("/a", 5000)} {
			b.Run(name+"/"+size, func(b *testing.B) { benchmarkCall(b, run, arguments) })
		}
	}
}

func benchmarkCall(b *testing.B, run func(in io.Reader, out io.Writer) error, path string) {
	inR, inW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- run(inR, outW) }()
	answers := bufio.NewReaderSize(outR, 64<<10)
	roundTrip := func(line string) {
		if _, err := io.WriteString(inW, line); err != nil {
			b.Fatal(err)
		}
		if answer, err := answers.ReadString('\n'); err != nil || strings.Contains(answer, "isError") {
			b.Fatal(answer, err)
		}
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"` + path + `"}}}` + "\n"
	roundTrip(initialize)
	if _, err := io.WriteString(inW, initialized); err != nil {
		b.Fatal(err)
	}
	roundTrip(call)
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		roundTrip(call)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1000, "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds())/1000, "p99-µs")
	if err := inW.Close(); err != nil {
		b.Fatal(err)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	for _, f := range []*os.File{inR, outR, outW} {
		_ = f.Close()
	}
}
