package gosdk

import (
	stdjson "encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy/strictjson"
)

// generous are the limits of arguments that a gate has let through, or that a server
// without one accepts.
var generous = strictjson.Limits{Bytes: 1 << 30, Depth: 1000, NumberLength: 1 << 20}

// decodeExactly decodes the bytes that were sent. filled is the same value with the
// schema's defaults in it: members that were not sent are taken from there.
func decodeExactly[In any](sent, filled []byte) (in In, err error) {
	text, err := exactText(sent, filled)
	if err != nil {
		return in, fmt.Errorf("arguments: %w", err)
	}
	if err = unmarshal(text, &in); err == nil {
		return in, nil
	}
	// 1.0 is an integer for a schema, and for mcp.AddTool, but not for a decoder.
	var again In
	if plain, ok := plainIntegers(text); ok && unmarshal(plain, &again) == nil {
		return again, nil
	}
	return in, err
}

// unmarshal decodes as encoding/json does, but for letter case: a name is that name only.
func unmarshal(text []byte, into any) error {
	return json.Unmarshal(text, into, jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false),
		json.WithUnmarshalers(json.UnmarshalFromFunc(numberAsWritten)))
}

// numberAsWritten reads a number into a json.Number, which this decoder takes for a text.
func numberAsWritten(dec *jsontext.Decoder, v *stdjson.Number) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err == nil {
		*v = stdjson.Number(raw)
	}
	return err
}

// plainIntegers writes the integers among the numbers without point and exponent.
func plainIntegers(text []byte) ([]byte, bool) {
	v, err := strictjson.Parse(text, generous)
	if err != nil {
		return nil, false
	}
	plain, err := stdjson.Marshal(withPlainIntegers(v))
	return plain, err == nil
}

func withPlainIntegers(v any) any {
	switch v := v.(type) {
	case stdjson.Number:
		if n, ok := adapter.Integer(v.String()); ok {
			return stdjson.Number(n)
		}
	case []any:
		for i := range v {
			v[i] = withPlainIntegers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withPlainIntegers(v[name])
		}
	}
	return v
}

func exactText(sent, filled []byte) ([]byte, error) {
	if len(sent) == 0 || string(sent) == "null" {
		return filled, nil
	}
	exact, err := strictjson.ParseObject(sent, generous)
	if err != nil {
		return nil, err
	}
	defaults, err := strictjson.ParseObject(filled, generous)
	if err != nil {
		return nil, err
	}
	if !addMissing(exact, defaults) {
		return sent, nil
	}
	return stdjson.Marshal(exact)
}

// addMissing adds to an object the members that it lacks, and to its objects theirs,
// and reports whether there were any. Defaults are filled into objects only.
func addMissing(to, from map[string]any) (added bool) {
	for name, value := range from {
		have, ok := to[name]
		if !ok {
			to[name] = value
			added = true
			continue
		}
		object, isObject := have.(map[string]any)
		more, areObjects := value.(map[string]any)
		if isObject && areObjects && addMissing(object, more) {
			added = true
		}
	}
	return added
}
