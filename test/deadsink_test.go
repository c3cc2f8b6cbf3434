package test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
	"github.com/regogate/regogate/policy/decisionlog/upload"
)

// deadServers are the ways in which a log's server can be there and take nothing. Each
// handles one connection until the test ends; nil stands for a port that nobody listens on.
var deadServers = map[string]func(net.Conn, <-chan struct{}){
	"connection refused": nil,
	"never answers":      func(c net.Conn, end <-chan struct{}) { <-end },
	"reads and never answers": func(c net.Conn, _ <-chan struct{}) {
		_, _ = io.Copy(io.Discard, c)
	},
	"500": func(c net.Conn, _ <-chan struct{}) {
		for r := bufio.NewReader(c); readRequest(r) == nil; {
			if _, err := io.WriteString(c, "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops"); err != nil {
				return
			}
		}
	},
	"slow drip": func(c net.Conn, end <-chan struct{}) {
		go func() { // reads as slowly as it writes
			for one := make([]byte, 1); ; time.Sleep(50 * time.Millisecond) {
				if _, err := c.Read(one); err != nil {
					return
				}
			}
		}()
		drip := "HTTP/1.1 200 OK\r\nX-Wait: "
		for i := 0; ; i++ {
			text := "a"
			if i < len(drip) {
				text = drip[i : i+1]
			}
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			select {
			case <-end:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	},
	"breaks off": func(c net.Conn, _ <-chan struct{}) {
		_, _ = io.ReadFull(c, make([]byte, 100))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-")
	},
}

// readRequest reads one request, whose body ends where its chunks or its length say.
func readRequest(r *bufio.Reader) error {
	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if _, err := fmt.Sscanf(line, "Content-Length: %d", &length); err != nil && line == "\r\n" {
			_, err := io.CopyN(io.Discard, r, int64(length))
			return err
		}
	}
}

// deadServer returns the URL of a server that is dead in one way.
func deadServer(t *testing.T, handle func(net.Conn, <-chan struct{})) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + l.Addr().String()
	if handle == nil {
		require.NoError(t, l.Close())
		return url
	}
	end := make(chan struct{})
	var handling sync.WaitGroup
	handling.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			handling.Go(func() {
				over := context.AfterFunc(t.Context(), func() { _ = c.Close() })
				defer over()
				defer c.Close()
				handle(c, end)
			})
		}
	})
	t.Cleanup(func() {
		close(end)
		_ = l.Close()
		handling.Wait()
	})
	return url
}

// A load is what many decisions at a steady rate were like.
type load struct {
	decisions       int64
	slowest, p999   time.Duration
	took            time.Duration
	before, highest uint64 // heap after a collection
	wrong           int64
}

// decideSteadily decides calls at a rate on every core until it is enough. Each is timed from when it was
// begun: a loaded machine makes the rate smaller, and no decision slower.
func decideSteadily(t *testing.T, g *policy.Gate, call policy.Call, rate int64, enough func(time.Duration) bool) (l load) {
	t.Helper()
	var next, wrong atomic.Int64
	var mu sync.Mutex
	var all []time.Duration
	l.before = heapNow()
	began := time.Now()
	var deciding sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		deciding.Go(func() {
			var own []time.Duration
			for n := next.Add(1) - 1; ; n = next.Add(1) - 1 {
				due := time.Duration(n) * time.Second / time.Duration(rate)
				if enough(max(due, time.Since(began))) {
					break
				}
				time.Sleep(due - time.Since(began))
				at := time.Now()
				if !g.Decide(t.Context(), call).Allowed {
					wrong.Add(1)
				}
				own = append(own, time.Since(at))
			}
			mu.Lock()
			all = append(all, own...)
			mu.Unlock()
		})
	}
	done := make(chan struct{})
	go func() { deciding.Wait(); close(done) }()
	for look := time.NewTicker(2 * time.Second); ; {
		select {
		case <-look.C:
			l.highest = max(l.highest, heapNow())
			continue
		case <-done:
			look.Stop()
		}
		break
	}
	l.highest = max(l.highest, heapNow())
	l.took = time.Since(began)
	slices.Sort(all)
	l.decisions, l.wrong = int64(len(all)), wrong.Load()
	if len(all) > 0 {
		l.slowest, l.p999 = all[len(all)-1], all[len(all)*999/1000]
	}
	return l
}

func heapNow() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Whatever way the log's server is dead in, it delays and changes no decision, memory is
// bounded, and what is lost is counted and told. REGOGATE_SOAK, a duration, says for how
// long each; without it, a second.
func TestDeadSinkOverHTTP(t *testing.T) {
	const rate = 10_000
	duration := time.Second
	if s := os.Getenv("REGOGATE_SOAK"); s != "" {
		var err error
		duration, err = time.ParseDuration(s)
		require.NoError(t, err, "REGOGATE_SOAK is a duration such as 30s")
	}
	rs, err := bundles.Load(t.Context(), bundles.Options{Bundles: []string{writeBundle(t, map[string]string{"t.rego": soakPolicy})}})
	require.NoError(t, err)
	for name, handle := range deadServers {
		t.Run(name, func(t *testing.T) {
			told := &lines{}
			logger := slog.New(slog.NewTextHandler(told, nil))
			sink, err := upload.New(upload.Options{URL: deadServer(t, handle), Logger: logger})
			require.NoError(t, err)
			// Room for less than the test makes, so that drops happen in every run.
			log, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{sink}, BufferBytes: 256 << 10, Logger: logger})
			require.NoError(t, err)
			g, err := policy.NewGate(policy.Options{Recorder: log})
			require.NoError(t, err)
			g.Use(rs)
			call := policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "t", InputSchema: []byte(soakSchema)}), Arguments: []byte(`{"path":"/srv/some/file.txt","n":7,"when":"2026-11-30T00:00:00Z"}`)}
			got := decideSteadily(t, g, call, rate, func(since time.Duration) bool { // longer where the machine is busy
				return since > duration && (log.Stats().Dropped > 0 || since > duration+time.Minute)
			})
			during := log.Stats()
			hurry, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			require.Error(t, log.Close(hurry), "what waits is lost, and that is said")
			after := log.Stats()
			t.Logf("%d decisions in %s (%.0f a second), slowest %s, 99.9%% within %s; heap %d MB before, %d MB at most; while it ran %+v, after closing %+v",
				got.decisions, got.took.Round(time.Millisecond), float64(got.decisions)/got.took.Seconds(), got.slowest, got.p999, got.before>>20, got.highest>>20, during, after)
			require.Zero(t, got.wrong, "decisions were changed")
			require.Less(t, got.slowest, g.Options().Timeout, "a decision took longer than its deadline")
			require.Less(t, got.highest, got.before+160<<20, "the queue has 64 MiB, the buffer a quarter of one")
			require.Positive(t, during.Dropped)
			require.Equal(t, got.decisions, after.Recorded+after.Dropped+after.Unmasked, "every decision is accounted for")
			require.Equal(t, after.Recorded, after.Discarded, "the server took nothing")
			require.Contains(t, told.String(), "decisions are not recorded")
			require.Contains(t, told.String(), "a sink has trouble")
		})
	}
}

// lines is a log that several goroutines write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
