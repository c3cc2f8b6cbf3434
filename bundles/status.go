package bundles

import "time"

// A Status says how things stand with the bundles at one moment.
type Status struct {
	// Ready says that a ruleset is in force; without one every call is not_ready.
	Ready bool `json:"ready"`
	// Revision is that of the ruleset in force, and Since when it was put in force.
	Revision string    `json:"revision,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	// Expired says that a ruleset was taken out of force, because its bundles could not
	// be refreshed for the time of MaxAge.
	Expired bool `json:"expired,omitempty"`
	// Activations and Refusals count rulesets put in force and bundles that were fetched
	// and not accepted; Failures counts fetches that brought nothing.
	Activations int64 `json:"activations"`
	Refusals    int64 `json:"refusals"`
	Failures    int64 `json:"failures"`
	// StateError says why the last good bundles could not be kept, "" when they were.
	StateError string `json:"state_error,omitempty"`
	// Bundles are in the order of the configuration; the settings file, if there is one,
	// is the last.
	Bundles []BundleStatus `json:"bundles"`
}

// A BundleStatus says how things stand with one source.
type BundleStatus struct {
	// Name is the path or the URL, without its query.
	Name string `json:"name"`
	// Revision, ETag, Digest, Sequence and KeyID are those of what is in force. Digest is
	// of the content, whatever archive it came in; KeyID is the signature's.
	Revision string `json:"revision,omitempty"`
	ETag     string `json:"etag,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Sequence *int64 `json:"sequence,omitempty"`
	KeyID    string `json:"key_id,omitempty"`
	// LastGood says that it came from disk, and the source hasn't confirmed it since.
	LastGood bool `json:"last_good,omitempty"`
	// LastAttempt is when the source was last asked, LastSuccess when it last had what is
	// in force, Activated when that was put in force.
	LastAttempt time.Time `json:"last_attempt,omitzero"`
	LastSuccess time.Time `json:"last_success,omitzero"`
	Activated   time.Time `json:"activated,omitzero"`
	// Refused names the revision that the source has and that was not accepted, or its
	// digest.
	Refused string `json:"refused,omitempty"`
	// Error says what is wrong: the last attempt failed, or what it brought was refused.
	Error string `json:"error,omitempty"`
	// Failures counts attempts that failed, in a row.
	Failures int `json:"failures,omitempty"`
}

// An EventKind says what an [Event] is about.
type EventKind string

// What can happen to bundles.
const (
	// Activated: a ruleset was put in force.
	Activated EventKind = "activated"
	// Confirmed: a source still has what is in force.
	Confirmed EventKind = "confirmed"
	// Refused: a source has something that was not accepted; what was in force still is.
	Refused EventKind = "refused"
	// Unreachable: a source could not be read; what was in force still is.
	Unreachable EventKind = "unreachable"
	// Expired: the ruleset was taken out of force by MaxAge.
	Expired EventKind = "expired"
	// StateFailed: the last good bundles could not be kept, or read.
	StateFailed EventKind = "state_failed"
)

// An Event is one thing that happened to bundles.
type Event struct {
	Kind     EventKind
	At       time.Time
	Bundle   string // "" when it is about all of them
	Revision string // of the ruleset in force after it
	Err      error
	// Took is how long it took to read, check and compile what was put in force.
	Took time.Duration
}

// An Observer is told of every event with the status after it, in order. It must not
// block, and not call the Watcher.
type Observer interface {
	BundleEvent(Event, Status)
}

// observers tells several observers; nil ones are left out.
type observers []Observer

func (o observers) BundleEvent(e Event, s Status) {
	for _, one := range o {
		if one != nil {
			one.BundleEvent(e, s)
		}
	}
}
