package typecheck

import "slices"

// An outcome says what is known of an expression, or of a rule, for every call.
type outcome int

const (
	fails  outcome = iota // never holds
	errs                  // is an error whenever it is asked
	mayErr                // is an error whenever what stands before it holds
	may                   // nothing is known
	holds                 // always holds
)

// A verdict is an outcome, and the findings that explain why it is `fails`.
type verdict struct {
	outcome
	causes []*Finding
	// kind says that it answers the question of which kind a value is, meant that it is
	// `fails` because the question was whether the value is of another kind.
	kind, meant bool
}

var (
	perhaps = verdict{outcome: may}
	always  = verdict{outcome: holds}
	never   = verdict{outcome: fails}
	failure = verdict{outcome: errs}
)

// and is the verdict on two things of which both have to hold, in this order.
func (v verdict) and(w verdict) verdict {
	switch {
	case v.outcome == fails || v.outcome == errs || v.outcome == mayErr:
		return v
	case w.outcome == errs && v.outcome == may:
		return verdict{outcome: mayErr}
	case w.outcome == fails:
		return verdict{outcome: fails, causes: slices.Concat(v.causes, w.causes), meant: w.meant}
	case v.outcome == may && w.outcome == holds:
		return v
	default:
		w.kind = w.kind || v.kind && w.outcome == holds
		return w
	}
}

// or is the verdict on two things of which one has to hold; both are evaluated.
func (v verdict) or(w verdict) verdict {
	switch {
	case v.outcome == errs || w.outcome == errs:
		return failure
	case v.outcome == mayErr || w.outcome == mayErr:
		return verdict{outcome: mayErr}
	case v.outcome == fails && w.outcome == fails:
		return verdict{outcome: fails, causes: slices.Concat(v.causes, w.causes), meant: v.meant && w.meant}
	case v.outcome == fails:
		return w
	case w.outcome == fails:
		return v
	case v.outcome == holds:
		return v
	default:
		return w
	}
}

// not is the verdict on a negation.
func (v verdict) not() verdict {
	switch v.outcome {
	case fails:
		return always
	case holds:
		return verdict{outcome: fails, meant: v.kind}
	case errs, mayErr:
		return verdict{outcome: v.outcome}
	default:
		return perhaps
	}
}

// capped is v where nothing is certain to hold.
func (v verdict) capped() verdict {
	if v.outcome == holds {
		return perhaps
	}
	return v
}

// reached reports whether what follows is evaluated.
func (v verdict) reached() bool { return v.outcome == may || v.outcome == holds }
