package inputschema

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/regogate/regogate/policy/strictjson"
)

const (
	// maxNodes bounds the objects and booleans of a schema document, and so its
	// subschemas. Compiling takes time quadratic in them. The largest of some 1,200
	// published tool schemas has 1,100.
	maxNodes = 5_000
	// maxResources bounds the members of a document that may begin a schema resource or
	// name a place in it: compiling looks at each of them for each subschema.
	maxResources = 200
)

// A document is a schema as it was read.
type document struct {
	value any
	// resources is how many $id, $anchor, … it has at most.
	resources int
	// references reports whether it has a member that is, or looks like, a reference or
	// what one can lead to.
	references bool
	nodes      int
	refs       map[string]bool // the different values of $ref and the like
	// before2019 and before2020 report whether it mentions a dialect of before.
	before2019, before2020 bool
	extreme                bool // some number in it is
}

// readDocument reads a schema strictly and bounds what compiling it will take.
func readDocument(raw []byte, o Options, env environment) (*document, error) {
	value, traits, err := strictjson.Read(raw, strictjson.Limits{Bytes: o.Bytes, Depth: o.Depth})
	if err != nil {
		return nil, fmt.Errorf("the schema can't be read: %w", err)
	}
	d := &document{value: value, refs: map[string]bool{}, extreme: traits.Extreme}
	d.survey(value)
	switch {
	case d.nodes > maxNodes:
		return nil, fmt.Errorf("#: the schema has %d objects and booleans, more than the limit of %d: split the tool or simplify its schema", d.nodes, maxNodes)
	case d.resources > maxResources:
		return nil, fmt.Errorf("#: the schema has %d identifiers and anchors, more than the limit of %d: use references like #/$defs/name", d.resources, maxResources)
	}
	if odd := d.oddReferences(); odd*d.nodes > maxOddWork {
		return nil, fmt.Errorf("#: the schema has %d references to places that are no subschemas of its dialect: move what they lead to into $defs (definitions up to draft-07)", odd)
	}
	if !env.anyRoot {
		if err := checkRoot(value); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// oddReferences counts the different references that isOdd finds odd.
func (d *document) oddReferences() int {
	odd := 0
	for ref := range d.refs {
		if isOdd(ref, d.before2019, d.before2020) {
			odd++
		}
	}
	return odd
}

// survey counts. It takes every member for a keyword, wherever it is, so it counts
// too many rather than too few.
func (d *document) survey(v any) {
	switch v := v.(type) {
	case bool:
		d.nodes++
	case []any:
		for _, e := range v {
			d.survey(e)
		}
	case map[string]any:
		d.nodes++
		for name, e := range v {
			// Folded, as qri finds $id by its name in any letter case.
			switch strictjson.FoldName(name) {
			case "$id", "$anchor", "$dynamicanchor", "$recursiveanchor":
				d.resources++
				d.references = true
			case "$ref", "$dynamicref", "$recursiveref":
				d.references = true
				if ref, ok := e.(string); ok {
					d.refs[ref] = true
				}
			case "$schema":
				dialect, _ := e.(string)
				d.before2019 = d.before2019 || strings.Contains(dialect, "/draft-0")
				d.before2020 = d.before2020 || d.before2019 || strings.Contains(dialect, "2019-09")
			case "id":
				if _, ok := e.(string); ok {
					d.resources++
				}
			}
			d.survey(e)
		}
	}
}

// dialects are the values of $schema that are known, without scheme and fragment.
var dialects = map[string]*jsonschema.Draft{
	"json-schema.org/draft-04/schema":      jsonschema.Draft4,
	"json-schema.org/draft-06/schema":      jsonschema.Draft6,
	"json-schema.org/draft-07/schema":      jsonschema.Draft7,
	"json-schema.org/draft/2019-09/schema": jsonschema.Draft2019,
	"json-schema.org/draft/2020-12/schema": jsonschema.Draft2020,
}

// checkRoot says what is wrong with the root of a tool's schema, if anything. The
// engine would load a metaschema that it doesn't know, and ignore a $schema that is
// not a string.
func checkRoot(value any) error {
	root, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("#: a tool's input schema must be an object, and this is %s", kindOf(value).article())
	}
	dialect, ok := root["$schema"]
	if !ok {
		return nil
	}
	uri, ok := dialect.(string)
	if !ok {
		return fmt.Errorf("#/$schema: must be a string, and is %s", kindOf(dialect).article())
	}
	name := strings.TrimSuffix(uri, "#")
	for _, scheme := range []string{"http://", "https://"} {
		if rest, ok := strings.CutPrefix(name, scheme); ok && dialects[rest] != nil {
			return nil
		}
	}
	return fmt.Errorf("#/$schema: %.200q is no dialect that is known: use 2020-12 (https://json-schema.org/draft/2020-12/schema), 2019-09, draft-07, draft-06 or draft-04", uri)
}
