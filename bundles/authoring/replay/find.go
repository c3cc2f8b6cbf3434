package replay

import (
	"context"
	"io"

	"github.com/regogate/regogate/policy"
)

// A Past is one decision of a log.
type Past struct {
	Line     int
	Tool     string
	Server   string
	Allowed  bool
	Refusals []policy.Refusal
	// Reason says why it can't be decided again, "" when it can.
	Reason Reason

	record record
}

// Find looks for a decision by its id. It reports whether there is one; lines that are no
// decisions are passed over. The error says why the log can't be read to its end.
func Find(log io.Reader, id string) (p Past, found bool, err error) {
	err = lines(log, func(l line) bool {
		if l.err != nil {
			return true
		}
		r, err := parse(l.data)
		if err != nil || r.ID != id {
			return true
		}
		p, found = Past{l.number, r.Tool, r.Server, r.Allowed, r.Refusals, r.Reason, r}, true
		return false
	})
	return p, found, err
}

// Decide decides the call again.
func (p Past) Decide(ctx context.Context, s Side) policy.Decision {
	d := newDecider(s)
	return d.decide(ctx, p.record)
}
