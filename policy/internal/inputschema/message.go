package inputschema

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	errorkind "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Texts that several keywords share.
const (
	textGeneric     = "does not satisfy the tool's input schema"
	textNotAccepted = "is not accepted here: leave it out"
)

// An explainer turns the engine's error into failures. It takes from the error only
// what the schema says, and counts: never a value or an undeclared name.
type explainer struct {
	schema *Schema
	given  any
	err    error // what the engine could not decide
	// texts are those that depend on the schema only, by what they are about: one place
	// of the schema can fail for each of many items.
	texts map[about]string
}

// about identifies a text that depends on the schema only.
type about struct {
	location string
	what     string
}

// once returns the text about a place of the schema, made at most once.
func (x *explainer) once(a about, text func() string) string {
	t, ok := x.texts[a]
	if !ok {
		t = text()
		if x.texts == nil {
			x.texts = map[about]string{}
		}
		x.texts[a] = t
	}
	return t
}

// A failure is one thing that is wrong, at one place.
type failure struct {
	at      []string
	message string
	// finding is set if the failure is one of a probe, so that the branches of anyOf and
	// oneOf can be told apart.
	finding *finding
}

// failures explains an error and what caused it.
func (x *explainer) failures(e *jsonschema.ValidationError) []failure {
	one := func(format string, args ...any) []failure {
		return []failure{{at: e.InstanceLocation, message: fmt.Sprintf(format, args...)}}
	}
	switch k := e.ErrorKind.(type) {
	case *errorkind.Schema, *errorkind.Group, *errorkind.Reference, *errorkind.AllOf:
		return x.causes(e)
	case *errorkind.AnyOf:
		return x.branches(e, groupAny)
	case *errorkind.OneOf:
		if len(k.Subschemas) == 2 {
			return one("matches form %d and form %d of those allowed, but must match exactly one: leave out what belongs to the other", k.Subschemas[0]+1, k.Subschemas[1]+1)
		}
		return x.branches(e, groupOne)
	case *errorkind.Format:
		return []failure{probed(e, k)}
	case *errorkind.Not:
		return one("%s", x.notText(e.SchemaURL))
	case *errorkind.FalseSchema:
		return x.falseSchema(e)
	case *errorkind.RefCycle:
		x.err = errors.New("the schema refers to itself without end for one value: correct its references")
		return nil
	case *errorkind.InvalidJsonValue:
		x.err = notJSON(k.Value)
		return nil
	case *errorkind.Contains, *errorkind.MinContains, *errorkind.MaxContains, *errorkind.MinItems, *errorkind.MaxItems,
		*errorkind.AdditionalItems, *repeatedItem:
		return one("%s", x.arrayText(e))
	case *errorkind.Required, *errorkind.Dependency, *errorkind.DependentRequired, *errorkind.AdditionalProperties,
		*errorkind.MinProperties, *errorkind.MaxProperties, *badNames:
		return one("%s", x.objectText(e))
	default:
		return one("%s", scalarText(k))
	}
}

func (x *explainer) causes(e *jsonschema.ValidationError) []failure {
	var all []failure
	for _, c := range e.Causes {
		all = append(all, x.failures(c)...)
	}
	if len(all) == 0 {
		return []failure{{at: e.InstanceLocation, message: textGeneric}}
	}
	return all
}

// scalarText explains what is wrong with a string or a number.
func scalarText(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *errorkind.MinLength:
		return fmt.Sprintf("must have at least %s, and has %d", counted(k.Want, "character"), k.Got)
	case *errorkind.MaxLength:
		return fmt.Sprintf("must have at most %s, and has %d", counted(k.Want, "character"), k.Got)
	case *errorkind.Pattern:
		return fmt.Sprintf("must match the pattern %s", cut(k.Want, 2*maxQuoted))
	case *errorkind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *errorkind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *errorkind.ExclusiveMinimum:
		return "must be greater than " + decimal(k.Want)
	case *errorkind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *errorkind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	default:
		return textGeneric
	}
}

// decimal writes a number of the schema.
func decimal(r *big.Rat) string {
	const most = 40
	if digits, exact := r.FloatPrec(); exact && digits <= most {
		if s := r.FloatString(digits); len(s) <= 2*most {
			return s
		}
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// arrayText explains what is wrong with an array as a whole.
func (x *explainer) arrayText(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *errorkind.MinItems:
		return fmt.Sprintf("must have at least %s, and has %d", counted(k.Want, "item"), k.Got)
	case *errorkind.MaxItems:
		return fmt.Sprintf("must have at most %s, and has %d", counted(k.Want, "item"), k.Got)
	case *errorkind.AdditionalItems:
		return fmt.Sprintf("the last %s must be left out", counted(k.Count, "item"))
	case *repeatedItem:
		return fmt.Sprintf("items must not repeat, and item %d is equal to item %d (counted from 0)", k.second, k.first)
	case *errorkind.Contains:
		return "must have an item of a certain kind, and has none" + x.because(e)
	case *errorkind.MinContains:
		return fmt.Sprintf("must have at least %s of a certain kind, and has %d", counted(k.Want, "item"), len(k.Got)) + x.because(e)
	case *errorkind.MaxContains:
		return fmt.Sprintf("must have at most %s of a certain kind, and has %d", counted(k.Want, "item"), len(k.Got))
	default:
		return textGeneric
	}
}

// objectText explains what is wrong with an object as a whole.
func (x *explainer) objectText(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *errorkind.Required:
		return "required and missing: " + quoted(k.Missing)
	case *errorkind.Dependency:
		return fmt.Sprintf("required along with %s and missing: %s", quote(k.Prop), quoted(k.Missing))
	case *errorkind.DependentRequired:
		return fmt.Sprintf("required along with %s and missing: %s", quote(k.Prop), quoted(k.Missing))
	case *errorkind.AdditionalProperties:
		return undeclaredText(len(k.Properties), x.declaredAt(e.SchemaURL, false))
	case *errorkind.MinProperties:
		return fmt.Sprintf("must have at least %s, and has %d", counted(k.Want, "property"), k.Got)
	case *errorkind.MaxProperties:
		return fmt.Sprintf("must have at most %s, and has %d", counted(k.Want, "property"), k.Got)
	case *badNames:
		return counted(k.count, "name") + " of properties not accepted" + x.because(e)
	default:
		return textGeneric
	}
}

// undeclaredText tells of undeclared properties without naming them. Declared are the
// names that may be used, as quoted writes them.
func undeclaredText(count int, declared string) string {
	what := counted(count, "undeclared property") + " not accepted here"
	if declared == "" {
		return what + ": leave out all"
	}
	return what + ": use only " + declared
}

// declaredAt writes the names that the subschema at a location declares; within, also
// those that others for the same value do.
func (x *explainer) declaredAt(location string, within bool) string {
	what := "declared"
	if within {
		what = "declared within"
	}
	return x.once(about{location, what}, func() string {
		n := x.schema.graph.at[location]
		if n == nil {
			return ""
		}
		set := []*node{n}
		if within {
			set = x.schema.newWalk().closure(set, declaring)
		}
		names := map[string]bool{}
		for _, n := range set {
			for name := range n.properties {
				names[name] = true
			}
		}
		return quoted(sortedNames(names))
	})
}

// falseSchema explains a value where the schema says false. Where that is
// unevaluatedProperties the object gets the failure, as the property may be undeclared.
func (x *explainer) falseSchema(e *jsonschema.ValidationError) []failure {
	at := e.InstanceLocation
	if parent, ok := strings.CutSuffix(e.SchemaURL, "/unevaluatedProperties"); ok && len(at) > 0 {
		text := "undeclared properties, or some that don't go with the others, are not accepted here"
		if declared := x.declaredAt(parent, true); declared != "" {
			text += ": use only " + declared
		}
		return []failure{{at: at[:len(at)-1], message: text}}
	}
	if len(at) == 0 {
		return []failure{{message: "nothing is accepted: the schema refuses every call"}}
	}
	return []failure{{at: at, message: textNotAccepted}}
}

// notText shows what the value must not be.
func (x *explainer) notText(location string) string {
	return x.once(about{location, "not"}, func() string {
		if n := x.schema.graph.at[location]; n != nil {
			if not, ok := n.source["not"]; ok {
				return "must not be what the schema excludes: " + shown(not)
			}
		}
		return "must not be what the schema excludes"
	})
}

// because gives some reasons of an error's causes, without their places.
func (x *explainer) because(e *jsonschema.ValidationError) string {
	const most = 3
	reasons := map[string]bool{}
	for _, c := range e.Causes {
		for _, f := range x.failures(c) {
			text := f.message
			if below := len(f.at) - len(e.InstanceLocation); below > 1 {
				text = "within it, " + text
			}
			reasons[text] = true
		}
	}
	texts := sortedNames(reasons)
	if len(texts) == 0 {
		return ""
	}
	left := len(texts) - most
	text := ": it " + strings.Join(texts[:min(len(texts), most)], "; ")
	if left > 0 {
		text += fmt.Sprintf("; and %s", counted(left, "further reason"))
	}
	return text
}
