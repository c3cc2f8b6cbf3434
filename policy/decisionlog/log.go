package decisionlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regogate/regogate/policy"
)

// A Log records decisions. It is safe for concurrent use. Make one with [New] and close it.
type Log struct {
	options Options
	queue   chan job
	queued  atomic.Int64 // bytes that queue's decisions may take
	pipes   []*pipe
	stats   counters
	told    atomic.Int64 // when dropping was last reported, Unix ns
	closing sync.Once
	closed  chan struct{}   // no more decisions are taken
	patient context.Context // ends when what is queued is given up
	giveUp  context.CancelFunc
	done    chan struct{}
}

var _ policy.Admitter = (*Log)(nil)

// A job is one decision that waits to be written down.
type job struct {
	record policy.Record
	trace  string // traceparent of the call
	raw    []byte // of malformed arguments that are recorded
	weight int64
}

// maxQueued is how many decisions may wait, however small they are.
const maxQueued = 10_000

// Stats count what became of decisions.
type Stats struct {
	Recorded  int64 // handed to every sink
	Dropped   int64 // for want of room
	Unmasked  int64 // could not be masked, and were dropped
	Discarded int64 // taken by a sink that gave up on them, once for each such sink
}

type counters struct{ recorded, dropped, unmasked atomic.Int64 }

// New starts a Log. The error names each option that has no meaning.
func New(o Options) (*Log, error) {
	filled, err := o.filled()
	if err != nil {
		return nil, err
	}
	l := &Log{options: filled, queue: make(chan job, maxQueued), closed: make(chan struct{}), done: make(chan struct{})}
	l.patient, l.giveUp = context.WithCancel(context.Background())
	for _, s := range filled.Sinks {
		l.pipes = append(l.pipes, newPipe(s, filled.BufferBytes, filled.Logger))
	}
	go l.run()
	return l, nil
}

// Record implements policy.Recorder. It never waits.
func (l *Log) Record(ctx context.Context, r policy.Record) {
	j := l.job(ctx, r)
	if l.queued.Add(j.weight) > l.options.QueueBytes {
		l.queued.Add(-j.weight)
		l.drop()
		return
	}
	select {
	case <-l.closed:
		l.queued.Add(-j.weight)
		l.drop()
		return
	default:
	}
	select {
	case l.queue <- j:
	default:
		l.queued.Add(-j.weight)
		l.drop()
	}
}

// Admit implements policy.Admitter: where records are required it masks and hands over r
// at once, or says why it can't.
func (l *Log) Admit(ctx context.Context, r policy.Record) error {
	if !l.options.Required {
		l.Record(ctx, r)
		return nil
	}
	line, err := l.encode(ctx, l.job(ctx, r))
	if err != nil {
		l.stats.unmasked.Add(1)
		return fmt.Errorf("decision log: %w", err)
	}
	select {
	case <-l.closed:
		return errors.New("decision log: it is closed")
	default:
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	if !l.hand(line) {
		l.drop()
		return errors.New("decision log: there is no room for the record: a sink is too slow, or fails")
	}
	return nil
}

func (l *Log) job(ctx context.Context, r policy.Record) job {
	j := job{record: r, trace: policy.TraceparentFrom(ctx), weight: 2048 + 50*int64(r.Input.Arguments().Len())}
	if !r.Parsed && l.options.Arguments == Full {
		j.raw = r.Input.Arguments().Raw() // the only bytes that don't outlive the call
	}
	return j
}

func (l *Log) run() {
	defer close(l.done)
	for {
		select {
		case j := <-l.queue:
			l.write(j)
		case <-l.closed:
			for l.patient.Err() == nil {
				select {
				case j := <-l.queue:
					l.write(j)
				default:
					return
				}
			}
			return
		}
	}
}

func (l *Log) write(j job) {
	defer l.queued.Add(-j.weight)
	if !slices.ContainsFunc(l.pipes, (*pipe).hasRoom) { // masking takes longer than deciding: not for nothing
		l.drop()
		return
	}
	line, err := l.encode(l.patient, j)
	if err != nil {
		l.stats.unmasked.Add(1)
		l.complain("a decision could not be masked and is not recorded", "decision_id", j.record.Decision.ID, "why", err.Error())
		return
	}
	if !l.hand(line) {
		l.drop()
	}
}

// encode makes the line of one decision.
func (l *Log) encode(ctx context.Context, j job) ([]byte, error) {
	e, err := l.event(ctx, j)
	if err != nil {
		return nil, err
	}
	if s := l.Stats(); s.Dropped+s.Unmasked+s.Discarded > 0 {
		e.Metrics["counter_decision_logs_dropped"] = s.Dropped
		e.Metrics["counter_decision_logs_unmasked"] = s.Unmasked
		e.Metrics["counter_decision_logs_discarded"] = s.Discarded
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, errors.New("the record is no JSON")
	}
	return b.Bytes(), nil
}

// hand gives a line to every sink. It reports whether all had room.
func (l *Log) hand(line []byte) bool {
	all := true
	for _, p := range l.pipes {
		all = p.put(line) && all
	}
	if all {
		l.stats.recorded.Add(1)
	}
	return all
}

func (l *Log) drop() {
	l.stats.dropped.Add(1)
	l.complain("decisions are not recorded: there is no room for more", "dropped", l.stats.dropped.Load())
}

// complain tells the logger, at most every ten seconds.
func (l *Log) complain(what string, attrs ...any) {
	const pause = 10 * time.Second
	now, last := time.Now().UnixNano(), l.told.Load()
	if now-last > int64(pause) && l.told.CompareAndSwap(last, now) {
		go l.options.Logger.Error("decision log: "+what, attrs...) // a slow log must not delay a decision
	}
}

// Stats returns what became of decisions so far.
func (l *Log) Stats() Stats {
	s := Stats{Recorded: l.stats.recorded.Load(), Dropped: l.stats.dropped.Load(), Unmasked: l.stats.unmasked.Load()}
	for _, p := range l.pipes {
		s.Discarded += p.discarded.Load()
	}
	return s
}

// Close records what is waiting and closes the sinks. It gives up when ctx ends: the
// error says how much was lost. Decisions that come later are dropped.
func (l *Log) Close(ctx context.Context) error {
	l.closing.Do(func() { close(l.closed) })
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	l.giveUp()
	<-l.done       // no record takes long, and its mask is stopped
	l.dropQueued() // what was given up, and what others were recording at this very moment
	var errs []error
	for _, p := range l.pipes {
		errs = append(errs, p.close(ctx))
	}
	return errors.Join(errs...)
}

func (l *Log) dropQueued() {
	for {
		select {
		case j := <-l.queue:
			l.queued.Add(-j.weight)
			l.drop()
		default:
			return
		}
	}
}
