package policy

import (
	"fmt"
	"time"
)

// modeInForce is the mode of a gate and, of shadow mode, its end.
type modeInForce struct {
	mode  Mode
	until time.Time // zero for no end
}

// SetMode changes what happens to calls that the rules refuse, from the next decision
// on. Shadow mode ends at until by itself, unless until is zero; [Enforce] has no end.
// The error says that mode is none.
func (g *Gate) SetMode(mode Mode, until time.Time) error {
	switch mode {
	case "", Enforce:
		g.mode.Store(nil)
	case Shadow:
		g.mode.Store(&modeInForce{Shadow, until})
	default:
		return fmt.Errorf("mode: %q is not one of %q", mode, []Mode{Enforce, Shadow})
	}
	return nil
}

// Mode returns the mode in force now and, of shadow mode, when it ends; zero for never.
func (g *Gate) Mode() (Mode, time.Time) { return g.modeAt(time.Now()) }

func (g *Gate) modeAt(now time.Time) (Mode, time.Time) {
	m := g.mode.Load()
	if m == nil || !m.until.IsZero() && !now.Before(m.until) {
		return Enforce, time.Time{}
	}
	return m.mode, m.until
}
