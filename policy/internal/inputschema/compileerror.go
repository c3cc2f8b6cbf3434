package inputschema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	errorkind "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// compileError makes an engine's error one for the operator: where in the schema, and
// what to do about it.
func compileError(err error, d *document) error {
	const re2 = "the pattern can't be used; patterns are RE2, which has no lookahead and no backreference"
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var v *jsonschema.ValidationError
		if errors.As(invalid.Err, &v) {
			cause := deepestCause(v)
			at := pointerOf(invalid.URL) + pointerTo(cause.InstanceLocation)
			text := cut(fmt.Sprint(cause.BasicOutput().Error), 500)
			if f, ok := cause.ErrorKind.(*errorkind.Format); ok && f.Want == "regex" {
				return fmt.Errorf("%s: %s: %s", at, re2, text)
			}
			return fmt.Errorf("%s: not valid for its dialect: %s", at, text)
		}
	}
	var pattern *jsonschema.InvalidRegexError
	if errors.As(err, &pattern) {
		return fmt.Errorf("%s: %s: %s", pointerOf(pattern.URL), re2, cut(pattern.Err.Error(), 500))
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return fmt.Errorf("%s: %w", d.whereReferred(load.URL), load.Err)
	}
	var noPointer *jsonschema.JSONPointerNotFoundError
	var noAnchor *jsonschema.AnchorNotFoundError
	if errors.As(err, &noPointer) || errors.As(err, &noAnchor) {
		return fmt.Errorf("a reference leads to where nothing is; correct it, or add the definition: %s", strings.ReplaceAll(err.Error(), schemaURL, ""))
	}
	return errors.New(strings.ReplaceAll(err.Error(), schemaURL, ""))
}

// deepestCause returns one of the causes of an invalid schema: the one that is
// furthest down, the first of these by location and text.
func deepestCause(v *jsonschema.ValidationError) *jsonschema.ValidationError {
	best, bestKey := v, ""
	var walk func(v *jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		for _, c := range v.Causes {
			walk(c)
		}
		if len(v.Causes) > 0 {
			return
		}
		key := pointerTo(v.InstanceLocation) + " " + fmt.Sprint(v.BasicOutput().Error)
		deeper := len(v.InstanceLocation) - len(best.InstanceLocation)
		if bestKey == "" || deeper > 0 || deeper == 0 && key < bestKey {
			best, bestKey = v, key
		}
	}
	walk(v)
	return best
}
