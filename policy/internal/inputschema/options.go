package inputschema

import (
	"errors"
	"fmt"
)

// Formats says what the keyword format means.
type Formats int

const (
	// Assert makes a string that isn't of its format a violation, in every dialect.
	Assert Formats = iota
	// Annotate ignores formats, in every dialect.
	Annotate
)

// Undeclared says what happens to arguments that an open top level doesn't declare.
type Undeclared int

const (
	// UndeclaredFollow does what the schema says: an open object takes any argument.
	UndeclaredFollow Undeclared = iota
	// UndeclaredRefuse closes a top level whose additionalProperties is absent or true.
	UndeclaredRefuse
)

// OptionalNull says what an explicit null stands for where null isn't accepted.
type OptionalNull int

const (
	// OptionalNullRefuse takes null for null, which is then a violation.
	OptionalNullRefuse OptionalNull = iota
	// OptionalNullAbsent takes null for an absent property, if the property is declared,
	// not required, and doesn't accept null.
	OptionalNullAbsent
)

// Defaults says whether the view has the schema's defaults.
type Defaults int

const (
	// DefaultsView fills in defaults, in the view only.
	DefaultsView Defaults = iota
	// DefaultsIgnore leaves the view without them.
	DefaultsIgnore
)

// SecondOpinion names an engine that is asked after the first one accepted.
type SecondOpinion int

const (
	// SecondOpinionNone asks no other engine.
	SecondOpinionNone SecondOpinion = iota
	// SecondOpinionQri asks github.com/qri-io/jsonschema, which can only refuse more.
	SecondOpinionQri
)

// Options say how a schema is compiled and what its checks do. The zero value is the
// safe default.
type Options struct {
	Formats       Formats
	Undeclared    Undeclared
	OptionalNull  OptionalNull
	Defaults      Defaults
	SecondOpinion SecondOpinion

	// Steps bounds one check: how many times a subschema is evaluated, plus other work
	// in proportion. 0 means 50,000. More than 500,000 count as 500,000.
	Steps int
	// Bytes and Depth bound the schema document. 0 means 512 KiB and 64. Depths above
	// 128 count as 128.
	Bytes, Depth int
	// MaxViolations bounds the violations in one outcome. 0 means 50.
	MaxViolations int
	// MaxMessage bounds each violation's message and pointer, in bytes. 0 means 2048.
	MaxMessage int
	// SecondOpinionBytes bounds the arguments that the second engine is asked about.
	// 0 means 64 KiB.
	SecondOpinionBytes int
}

const (
	defaultSteps              = 50_000
	defaultBytes              = 512 << 10
	defaultDepth              = 64
	defaultMaxViolations      = 50
	defaultMaxMessage         = 2048
	defaultSecondOpinionBytes = 64 << 10

	// greatestSteps keeps a check from taking more than some seconds.
	greatestSteps = 500_000
	// greatestDepth is how deep a schema may be whatever Depth says: the engine's time to
	// compile one grows with the third power of it.
	greatestDepth = 128
)

// filled returns o with its defaults filled in, or an error for what has no meaning.
func (o Options) filled() (Options, error) {
	var errs []error
	bound := func(name string, n *int, def int) {
		switch {
		case *n == 0:
			*n = def
		case *n < 0:
			errs = append(errs, fmt.Errorf("option %s is %d: set it to more than 0, or to 0 for %d", name, *n, def))
		}
	}
	choice := func(name string, got, last int) {
		if got < 0 || got > last {
			errs = append(errs, fmt.Errorf("option %s is %d, which has no meaning", name, got))
		}
	}
	choice("Formats", int(o.Formats), int(Annotate))
	choice("Undeclared", int(o.Undeclared), int(UndeclaredRefuse))
	choice("OptionalNull", int(o.OptionalNull), int(OptionalNullAbsent))
	choice("Defaults", int(o.Defaults), int(DefaultsIgnore))
	choice("SecondOpinion", int(o.SecondOpinion), int(SecondOpinionQri))
	bound("Steps", &o.Steps, defaultSteps)
	bound("Bytes", &o.Bytes, defaultBytes)
	bound("Depth", &o.Depth, defaultDepth)
	bound("MaxViolations", &o.MaxViolations, defaultMaxViolations)
	bound("MaxMessage", &o.MaxMessage, defaultMaxMessage)
	bound("SecondOpinionBytes", &o.SecondOpinionBytes, defaultSecondOpinionBytes)
	o.Steps = min(o.Steps, greatestSteps)
	o.Depth = min(o.Depth, greatestDepth)
	return o, errors.Join(errs...)
}
