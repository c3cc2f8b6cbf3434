package inputschema

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/message"
)

// late checks uniqueItems and propertyNames for the engine, which takes quadratic time
// over lists made for it, and confuses the places of two names' errors.
type late struct {
	budget *budget
	unique bool
	names  *jsonschema.Schema
}

// Validate is called by the engine after a subschema's other keywords.
func (l *late) Validate(ctx *jsonschema.ValidatorContext, v any) {
	switch v := v.(type) {
	case []any:
		if l.unique {
			l.items(ctx, v)
		}
	case map[string]any:
		if l.names != nil {
			l.objectNames(ctx, v)
		}
	}
}

func (l *late) items(ctx *jsonschema.ValidatorContext, items []any) {
	seen := make(map[string]int, len(items))
	var key []byte
	for i, item := range items {
		key = l.budget.appendKey(key[:0], item)
		if first, ok := seen[string(key)]; ok {
			ctx.AddError(&repeatedItem{first, i})
			return
		}
		seen[string(key)] = i
	}
}

func (l *late) objectNames(ctx *jsonschema.ValidatorContext, object map[string]any) {
	var causes []*jsonschema.ValidationError
	for _, name := range sortedNames(object) {
		err := l.names.Validate(name)
		if err == nil {
			continue
		}
		cause, ok := err.(*jsonschema.ValidationError)
		if !ok {
			panic(err)
		}
		placeAll(cause, ctx.ValueLocation())
		causes = append(causes, cause)
	}
	if len(causes) > 0 {
		ctx.AddErrors(causes, &badNames{len(causes)})
	}
}

// placeAll puts the errors of a name where the name's object is.
func placeAll(v *jsonschema.ValidationError, at []string) {
	v.InstanceLocation = slices.Clone(at)
	for _, c := range v.Causes {
		placeAll(c, at)
	}
}

// repeatedItem says that two items are equal.
type repeatedItem struct{ first, second int }

// badNames says how many names of an object aren't allowed; the causes say why.
type badNames struct{ count int }

// The engine wants its kinds of error to have texts. Nothing shows these.

func (*repeatedItem) KeywordPath() []string                   { return []string{"uniqueItems"} }
func (*repeatedItem) LocalizedString(*message.Printer) string { return "repeated item" }
func (*badNames) KeywordPath() []string                       { return []string{"propertyNames"} }
func (*badNames) LocalizedString(*message.Printer) string     { return "names not allowed" }
