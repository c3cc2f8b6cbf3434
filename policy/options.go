package policy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regogate/regogate/policy/internal/inputschema"
	"github.com/regogate/regogate/policy/strictjson"
)

// A Mode says what happens to calls that the rules refuse.
type Mode string

const (
	// Enforce refuses what the rules refuse. The zero Mode means the same.
	Enforce Mode = "enforce"
	// Shadow forwards, and records, what would have been schema_violation, unmapped,
	// denied or undecided. Everything else is refused as ever.
	Shadow Mode = "shadow"
)

// SchemaOptions say how arguments are checked against input schemas. The zero value
// is the strictest that changes nothing for a client that follows the schema.
type SchemaOptions struct {
	// SkipEnforce turns off the schema check and nothing else (schema.enforce: false).
	SkipEnforce bool
	// Formats: "assert" (default) or "annotate".
	Formats string
	// Undeclared: "follow" (default) the schema, or "refuse" undeclared arguments at an open top level.
	Undeclared string
	// OptionalNull: "refuse" (default) null where the schema does, or take it as "absent" for optional arguments.
	OptionalNull string
	// Defaults: "view" (default) shows validators the schema's defaults, "ignore" doesn't.
	Defaults string
	// SecondOpinion: "" (default) or "qri", a second engine that can only refuse more.
	SecondOpinion string
	// Steps bounds the evaluation of a schema. 0 means 50,000.
	Steps int
}

// Options configure a [Gate]. The zero value enforces everything with the default limits.
type Options struct {
	Mode   Mode
	Schema SchemaOptions
	// Arguments bounds what is read: 0 means 1 MiB, depth 64, number literals of 64 characters.
	Arguments strictjson.Limits
	// Unmapped says what happens to a tool that nothing covers: "refuse" (default) or "allow".
	Unmapped string
	// OwnPackage "require" refuses also a tool that only common packages cover; "optional" is the default.
	OwnPackage string
	// Pins says what a tool's pin is for: "enforce" (default) refuses a tool that isn't as
	// the ruleset pins it, "warn" reports it, "off" doesn't look.
	Pins string
	// CallerRequire lists what must be known of every caller: "subject", "tenant",
	// "scopes", "claims.NAME". A call by a caller who lacks one is undecided.
	CallerRequire []string
	// Timeout is the wall-clock backstop of one decision's rules. 0 means 1 s.
	Timeout time.Duration
	// MaxRefusals and MaxMessage bound an answer: 0 means 50 refusals of 2048 bytes.
	MaxRefusals, MaxMessage int
	// MaxAbandoned is how many Go validators that outlived the deadline may still be
	// running before every call that needs one is undecided. 0 means 64.
	MaxAbandoned int
	// Validators are asked after the deny set, in this order; [Gate.Register] adds to
	// them. Two with the same Name for the same Server and Tool are an error.
	Validators []Registration
	// Recorder is told of every decision; nil records nothing.
	Recorder Recorder
}

const (
	defaultTimeout      = time.Second
	defaultMaxRefusals  = 50
	defaultMaxMessage   = 2048
	defaultMaxAbandoned = 64
)

// filled returns o with defaults in place of zeros, or an error for each field that
// has no meaning.
func (o Options) filled() (Options, inputschema.Options, error) {
	var errs []error
	pick := func(key, got, def string, others ...string) string {
		if got == "" || got == def {
			return def
		}
		for _, v := range others {
			if got == v {
				return v
			}
		}
		errs = append(errs, fmt.Errorf("%s: %q is not one of %q", key, got, append([]string{def}, others...)))
		return def
	}
	positive := func(key string, got *int, def int) {
		if *got < 0 {
			errs = append(errs, fmt.Errorf("%s: must not be negative", key))
		}
		if *got <= 0 {
			*got = def
		}
	}
	o.Mode = Mode(pick("mode", string(o.Mode), string(Enforce), string(Shadow)))
	o.Unmapped = pick("tools.unmapped", o.Unmapped, "refuse", "allow")
	o.Pins = pick("tools.pins", o.Pins, PinsEnforce, PinsWarn, PinsOff)
	o.OwnPackage = pick("tools.own_package", o.OwnPackage, "optional", "require")
	positive("limits.refusals", &o.MaxRefusals, defaultMaxRefusals)
	positive("limits.message_bytes", &o.MaxMessage, defaultMaxMessage)
	positive("limits.abandoned", &o.MaxAbandoned, defaultMaxAbandoned)
	positive("limits.argument_bytes", &o.Arguments.Bytes, 1<<20)
	positive("limits.depth", &o.Arguments.Depth, 64)
	positive("limits.number_length", &o.Arguments.NumberLength, 64)
	positive("limits.schema_steps", &o.Schema.Steps, 50_000)
	if o.Timeout < 0 {
		errs = append(errs, errors.New("limits.timeout: must not be negative"))
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	for _, p := range o.CallerRequire {
		errs = append(errs, checkCallerPath(p))
	}
	o.Validators = slices.Clone(o.Validators)
	errs = append(errs, checkRegistrations(o.Validators)...)
	s := inputschema.Options{Steps: o.Schema.Steps, MaxViolations: o.MaxRefusals, MaxMessage: o.MaxMessage}
	if pick("schema.formats", o.Schema.Formats, "assert", "annotate") == "annotate" {
		s.Formats = inputschema.Annotate
	}
	if pick("schema.undeclared", o.Schema.Undeclared, "follow", "refuse") == "refuse" {
		s.Undeclared = inputschema.UndeclaredRefuse
	}
	if pick("schema.optional_null", o.Schema.OptionalNull, "refuse", "absent") == "absent" {
		s.OptionalNull = inputschema.OptionalNullAbsent
	}
	if pick("schema.defaults", o.Schema.Defaults, "view", "ignore") == "ignore" {
		s.Defaults = inputschema.DefaultsIgnore
	}
	if pick("schema.second_opinion", o.Schema.SecondOpinion, "none", "qri") == "qri" {
		s.SecondOpinion = inputschema.SecondOpinionQri
	}
	return o, s, errors.Join(errs...)
}
