package decisionlog

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
)

// Arguments says how a call's arguments are recorded.
type Arguments string

const (
	// Masked records them without what looks like a secret. The zero value means the same.
	Masked Arguments = "masked"
	// Digest records only a keyed digest of them.
	Digest Arguments = "digest"
	// None records nothing of them.
	None Arguments = "none"
	// Full records them as they are, secrets included.
	Full Arguments = "full"
)

// Options say what is recorded and where it goes. The zero value masks, buffers within
// the default bounds, and drops what can't be recorded.
type Options struct {
	Arguments Arguments
	// Key keys the digests, so that nobody can try out what an argument was. At least 16
	// bytes; nil means a random one, which makes digests comparable within one Log only.
	Key []byte
	// Labels identify the gate. A member id is added when there is none.
	Labels map[string]string
	// Required refuses a call whose decision can't be masked or finds no room.
	Required bool
	// QueueBytes bounds the decisions that wait to be written down, by what they may
	// take in memory: 50 times the text of their arguments. 0 means 64 MiB.
	QueueBytes int64
	// BufferBytes bounds the records that wait for each sink. 0 means 16 MiB.
	BufferBytes int64
	// Sinks are where records go: at least one.
	Sinks []Sink
	// Logger is told, now and then, of what was dropped and of sinks that fail. nil is silent.
	Logger *slog.Logger
}

const (
	defaultQueueBytes  = 64 << 20
	defaultBufferBytes = 16 << 20
	minKey             = 16
)

// filled returns o with defaults, or an error for each field that has no meaning.
func (o Options) filled() (Options, error) {
	var errs []error
	switch o.Arguments {
	case "":
		o.Arguments = Masked
	case Masked, Digest, None, Full:
	default:
		errs = append(errs, fmt.Errorf("decision_log.arguments: %q is not one of masked, digest, none, full", o.Arguments))
	}
	if o.QueueBytes < 0 || o.BufferBytes < 0 {
		errs = append(errs, errors.New("decision_log: a bound is negative"))
	}
	o.QueueBytes = cmp.Or(o.QueueBytes, defaultQueueBytes)
	o.BufferBytes = cmp.Or(o.BufferBytes, defaultBufferBytes)
	switch {
	case o.Key == nil:
		o.Key = make([]byte, 32)
		rand.Read(o.Key) // it never fails
	case len(o.Key) < minKey:
		errs = append(errs, fmt.Errorf("decision_log.key_file: a key of %d bytes: give at least %d", len(o.Key), minKey))
	}
	if len(o.Sinks) == 0 {
		errs = append(errs, errors.New("decision_log: no sink"))
	}
	o.Labels = maps.Clone(o.Labels)
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	if o.Labels["id"] == "" {
		o.Labels["id"] = rand.Text()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}
