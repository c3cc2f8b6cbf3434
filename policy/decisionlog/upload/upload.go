package upload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/regogate/regogate/policy/decisionlog"
	"github.com/regogate/regogate/policy/internal/outbound"
)

// Options say where records go. Zeros mean the defaults.
type Options struct {
	// URL of the service; /logs is appended unless it ends so.
	URL string
	// TokenFile holds a bearer token. It is read for each request, so that it may change.
	TokenFile string
	// CAFile holds the certificates that the server is trusted by, "" for the system's.
	CAFile string
	// ChunkBytes is how much is sent at once, before compression. 0 means 512 KiB.
	ChunkBytes int
	// Delay is how long records are collected. 0 means 1 s.
	Delay time.Duration
	// MinPause and MaxPause bound the pause before another try. 0 means 200 ms and 1 min.
	MinPause, MaxPause time.Duration
	// Timeout bounds one request. 0 means 30 s.
	Timeout time.Duration
	// Logger is told when the server can't be reached, and when it can again. nil is silent.
	Logger *slog.Logger
}

// A Sink is a decisionlog.Sink.
type Sink struct {
	o      Options
	client *outbound.Client
	down   bool
}

var (
	_ decisionlog.Sink     = (*Sink)(nil)
	_ decisionlog.Lingerer = (*Sink)(nil)
)

// New returns a Sink, or an error that names the key that is wrong. It asks nothing of
// the server.
func New(o Options) (*Sink, error) {
	client, err := outbound.New(outbound.Options{Key: "decision_log", URL: o.URL, Path: "logs", ContentType: "application/json", TokenFile: o.TokenFile, CAFile: o.CAFile, Timeout: o.Timeout})
	if err != nil {
		return nil, err
	}
	o.ChunkBytes = cmp.Or(o.ChunkBytes, 512<<10)
	o.Delay = cmp.Or(o.Delay, time.Second)
	o.MinPause = cmp.Or(o.MinPause, 200*time.Millisecond)
	o.MaxPause = max(cmp.Or(o.MaxPause, time.Minute), o.MinPause)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sink{o: o, client: client}, nil
}

// Name implements decisionlog.Sink.
func (s *Sink) Name() string { return s.client.Name() }

// Linger implements decisionlog.Lingerer.
func (s *Sink) Linger() (time.Duration, int64) { return s.o.Delay, int64(s.o.ChunkBytes) }

// Close implements decisionlog.Sink.
func (s *Sink) Close() error {
	s.client.Close()
	return nil
}

// Write implements decisionlog.Sink. It comes back when the server has taken all, but
// for those that it will never take, or when ctx ends.
func (s *Sink) Write(ctx context.Context, lines [][]byte) (int, error) {
	lost := 0
	var why error
	for taken := 0; taken < len(lines); {
		n, size := 0, 0
		for taken+n < len(lines) && (n == 0 || size+len(lines[taken+n]) <= s.o.ChunkBytes) {
			size += len(lines[taken+n])
			n++
		}
		bad, err := s.deliver(ctx, lines[taken:taken+n])
		if ctx.Err() != nil {
			return taken - lost, err
		}
		if bad > 0 {
			lost, why = lost+bad, err
		}
		taken += n
	}
	return len(lines) - lost, why
}

// errUnacceptable says that the server will never take what it was sent.
var errUnacceptable = errors.New("the server refuses it")

// deliver sends lines until the server takes them. It returns how many it never will.
func (s *Sink) deliver(ctx context.Context, lines [][]byte) (lost int, err error) {
	body := pack(lines)
	for try := 0; ; try++ {
		wait, err := s.post(ctx, body)
		switch {
		case err == nil:
			if s.down {
				s.down = false
				s.o.Logger.Info("decision log: the server takes records again", "url", s.client.Name())
			}
			return 0, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case errors.Is(err, errUnacceptable) && len(lines) == 1:
			return 1, err
		case errors.Is(err, errUnacceptable):
			half := len(lines) / 2
			a, errA := s.deliver(ctx, lines[:half])
			b, errB := s.deliver(ctx, lines[half:])
			return a + b, cmp.Or(errA, errB)
		}
		if !s.down {
			s.down = true
			s.o.Logger.Error("decision log: the server doesn't take records, they wait", "url", s.client.Name(), "why", err.Error())
		}
		timer := time.NewTimer(max(wait, s.pause(try)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
	}
}

// pause is a random time up to a bound that doubles with every try.
func (s *Sink) pause(try int) time.Duration {
	most := min(s.o.MinPause<<min(try+1, 20), s.o.MaxPause)
	if most <= 0 {
		most = s.o.MaxPause
	}
	return s.o.MinPause/2 + rand.N(most)
}

// pack makes a gzipped JSON array of lines.
func pack(lines [][]byte) []byte {
	return outbound.Gzipped(func(w io.Writer) {
		for i, line := range lines {
			if i == 0 {
				_, _ = io.WriteString(w, "[")
			} else {
				_, _ = io.WriteString(w, ",")
			}
			_, _ = w.Write(bytes.TrimSuffix(line, []byte("\n")))
		}
		_, _ = io.WriteString(w, "]")
	})
}

// post sends one request. wait is how long the server asks not to be asked again.
func (s *Sink) post(ctx context.Context, body []byte) (wait time.Duration, err error) {
	answer, err := s.client.Post(ctx, body)
	switch {
	case err != nil:
		return 0, err
	case answer.OK():
		return 0, nil
	case answer.Code == http.StatusRequestEntityTooLarge, answer.Code == http.StatusBadRequest, answer.Code == http.StatusUnprocessableEntity:
		return 0, fmt.Errorf("%w: %s", errUnacceptable, answer.Status)
	default:
		return min(answer.Wait, s.o.MaxPause), errors.New(answer.Status)
	}
}
