package policy

import "time"

// Phases are how long the parts of one decision took. A part that was not reached is 0.
// They are measured only for a gate that has a Recorder.
type Phases struct {
	Parse  time.Duration // from the bytes to one unambiguous value
	Schema time.Duration // the tool's declaration and its input schema
	Rules  time.Duration // the deny set, the Go validators and the warn set
}

// A stopwatch measures phases, one after the other. The zero stopwatch measures nothing.
type stopwatch struct {
	on   bool
	last time.Time // when the phase began that is under way
	took Phases
}

// lap says that a phase has ended.
func (w *stopwatch) lap(phase *time.Duration) {
	if !w.on {
		return
	}
	now := time.Now()
	*phase = now.Sub(w.last)
	w.last = now
}

// Tool returns the tool that was decided about, nil when the call named none. What a
// tool that isn't [Tool.Known] is called, somebody made up.
func (r Record) Tool() *Tool {
	if r.Input.call == nil {
		return nil
	}
	return r.Input.call.Tool
}
