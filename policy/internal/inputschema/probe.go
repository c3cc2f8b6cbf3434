package inputschema

import (
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A probe is what the engine calls first whenever it evaluates a subschema. It counts
// the evaluation, and takes over the keywords after which the engine leaves early or
// works without bound: type, const, enum and format.
//
// The engine offers no such call as such. It calls a subschema's format before it
// looks at any other subschema, so a probe stands in for the format.
type probe struct {
	budget *budget
	fixed  int // units for each evaluation
	name   int // units for each name of an object
	item   int // units for each item of an array

	kinds    kind // kindNone allows every kind
	constant *any
	shown    string // constant, as it is shown
	enum     *enumeration
	format   *format
	numeric  bool // compares numbers
	measures bool // measures strings
	late     *late
}

// A finding is a probe's reason to refuse a value.
type finding struct {
	reason reason
	got    kind   // of the value
	want   kind   // for reasonKind
	text   string // what is wrong, unless it depends on got
	value  string // the constant as it is shown, for reasonConst
}

type reason int

const (
	reasonKind reason = iota + 1
	reasonConst
	reasonEnum
	reasonFormat
)

// Error makes a finding an error for the engine, which doesn't look at it.
func (f *finding) Error() string { return "refused by a probe" }

// newProbe reads what the probe of s takes over.
func newProbe(s *jsonschema.Schema, o Options, b *budget) (*probe, error) {
	p := &probe{
		budget:   b,
		fixed:    unitsPerStep + listed(s),
		name:     len(s.PatternProperties) + refusing(s.UnevaluatedProperties),
		item:     refusing(s.Items, s.Items2020, s.AdditionalItems, s.Contains, s.UnevaluatedItems),
		numeric:  s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil,
		measures: s.MinLength != nil || s.MaxLength != nil,
	}
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		p.fixed *= unitsPerDynamic // the engine looks through everything that it is within
	}
	if s.Types != nil {
		for _, name := range s.Types.ToStrings() {
			p.kinds |= kindNamed(name)
		}
	}
	if p.constant = s.Const; p.constant != nil {
		p.shown = shown(*p.constant)
	}
	if s.Enum != nil {
		var err error
		if p.enum, err = newEnumeration(s.Enum.Values, s.Location); err != nil {
			return nil, err
		}
	}
	if s.Format != nil && o.Formats == Assert {
		p.format = newFormat(s.Format)
	}
	if s.UniqueItems || s.PropertyNames != nil {
		p.late = &late{budget: b, unique: s.UniqueItems, names: s.PropertyNames}
	}
	return p, nil
}

const (
	// unitsPerMember is the price of looking at one name or item.
	unitsPerMember = 1
	// unitsPerTracked is that where the engine has to keep account of which names and
	// items were evaluated.
	unitsPerTracked = 4
	// unitsPerRefusal is the further price of a name or item that is refused without a
	// subschema being evaluated.
	unitsPerRefusal = 3
	// unitsPerExact is the price of exact arithmetic.
	unitsPerExact = 2 * unitsPerStep
	// unitsPerDynamic multiplies the price of a subschema with a dynamic reference.
	unitsPerDynamic = 64
)

// refusing returns the price for each member if one of the subschemas for members is
// false.
func refusing(members ...any) int {
	for _, m := range members {
		if s, ok := m.(*jsonschema.Schema); ok && s != nil && s.Bool != nil && !*s.Bool {
			return unitsPerRefusal
		}
	}
	return 0
}

// listed returns the units for going through the lists of s once.
func listed(s *jsonschema.Schema) int {
	n := len(s.Required) + len(s.AllOf) + len(s.AnyOf) + len(s.OneOf) + len(s.PrefixItems) +
		len(s.Dependencies) + len(s.DependentSchemas) + len(s.DependentRequired)
	for _, names := range s.DependentRequired {
		n += len(names)
	}
	for _, d := range s.Dependencies {
		if names, ok := d.([]string); ok {
			n += len(names)
		}
	}
	return n
}

// attach puts the probe in front of s.
func (p *probe) attach(s *jsonschema.Schema) {
	s.Types, s.Const, s.Enum = nil, nil, nil
	s.Format = &jsonschema.Format{Name: "probe", Validate: p.visit}
	if p.late != nil {
		s.UniqueItems, s.PropertyNames = false, nil
		s.Extensions = append(s.Extensions, p.late)
	}
}

// visit is called for each evaluation of the subschema.
func (p *probe) visit(v any) error {
	p.budget.spend(p.fixed)
	got := p.look(v)
	if got == kindNone {
		panic(notJSON(v))
	}
	if p.kinds != kindNone && p.kinds&got == 0 && !(got == kindNumber && p.kinds&kindInteger != 0 && isInteger(literal(v))) {
		return &finding{reason: reasonKind, got: got, want: p.kinds}
	}
	if p.constant != nil && !p.budget.equal(v, *p.constant) {
		return &finding{reason: reasonConst, got: got, text: "must be " + p.shown, value: p.shown}
	}
	if p.enum != nil && !p.enum.has(p.budget, v) {
		return &finding{reason: reasonEnum, got: got, text: p.enum.text}
	}
	if p.format != nil {
		if s, ok := v.(string); ok {
			p.budget.spend(len(s) / bytesPerUnit)
			if !p.format.accepts(s) {
				return &finding{reason: reasonFormat, got: got, text: p.format.text}
			}
		}
	}
	return nil
}

// look returns the kind of v and charges for what the engine is going to do with it.
func (p *probe) look(v any) kind {
	switch v := v.(type) {
	case map[string]any:
		p.budget.spend(len(v) * p.name)
		return kindObject
	case []any:
		p.budget.spend(len(v) * p.item)
		return kindArray
	case string:
		if p.measures {
			p.budget.spend(len(v) / bytesPerUnit)
		}
		return kindString
	case json.Number:
		plain := plainInteger(string(v))
		if !plain {
			if err := checkLiteral(string(v)); err != nil {
				panic(badValue{err})
			}
		}
		if p.numeric {
			p.budget.spend(unitsPerStep / 2)
			if !plain {
				p.budget.spend(unitsPerExact + len(v))
			}
		}
		return kindNumber
	default:
		got := kindOf(v)
		if got == kindNumber {
			if err := checkLiteral(literal(v)); err != nil {
				panic(badValue{err})
			}
			p.budget.spend(unitsPerExact)
		}
		return got
	}
}

// An enumeration finds a value without comparing it with all others.
type enumeration struct {
	text    string // that says what is allowed
	strings map[string]struct{}
	numbers map[string]struct{}
	nested  []any // arrays and objects
	null    bool
	yes, no bool
}

func newEnumeration(values []any, location string) (e *enumeration, err error) {
	e = &enumeration{text: enumText(values), strings: map[string]struct{}{}, numbers: map[string]struct{}{}}
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			e.null = true
		case bool:
			e.yes, e.no = e.yes || v, e.no || !v
		case string:
			e.strings[v] = struct{}{}
		case []any, map[string]any:
			e.nested = append(e.nested, v)
		default:
			if err := checkLiteral(literal(v)); err != nil {
				return nil, fmt.Errorf("%s/enum: %w", pointerOf(location), err)
			}
			e.numbers[numberKey(literal(v))] = struct{}{}
		}
	}
	return e, nil
}

func (e *enumeration) has(b *budget, v any) bool {
	found := false
	switch v := v.(type) {
	case nil:
		return e.null
	case bool:
		return v && e.yes || !v && e.no
	case string:
		_, found = e.strings[v]
	case []any, map[string]any:
		for _, n := range e.nested {
			if b.equal(v, n) {
				return true
			}
		}
	default:
		_, found = e.numbers[b.number(v)]
	}
	return found
}
