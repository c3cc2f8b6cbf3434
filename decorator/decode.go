package decorator

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// A misfit says where a decoder met what its type doesn't hold.
type misfit struct {
	at   string
	into reflect.Type
	err  error
}

func (m *misfit) Error() string { return m.err.Error() }

func (m *misfit) Unwrap() error { return m.err }

// decodeExactly decodes the bytes that were decided.
func decodeExactly[In any](text []byte) (in In, err error) {
	if err = unmarshalExactly(text, &in); err == nil {
		return in, nil
	}
	// 1.0 is an integer for a schema, but not for a decoder.
	var again In
	if plain, ok := plainIntegers(text); ok && unmarshalExactly(plain, &again) == nil {
		return again, nil
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		err = &misfit{string(semantic.JSONPointer), semantic.GoType, err}
	}
	var none In
	return none, err
}

// unmarshalExactly decodes as encoding/json does, but for letter case and rounding.
func unmarshalExactly(text []byte, into any) error {
	return json.Unmarshal(text, into, jsonv1.DefaultOptionsV1(), jsonv1.ReportErrorsWithLegacySemantics(false), json.MatchCaseInsensitiveNames(false),
		json.WithUnmarshalers(json.JoinUnmarshalers(
			json.UnmarshalFromFunc(numberIntoAny),
			json.UnmarshalFromFunc(numberAsWritten),
			json.UnmarshalFromFunc(float64Exactly),
			json.UnmarshalFromFunc(float32Exactly),
		)))
}

// numberIntoAny keeps a number as its literal where the type says nothing.
func numberIntoAny(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err == nil {
		*v = stdjson.Number(raw)
	}
	return err
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

var errRounded = errors.New("the number would be rounded")

// float64Exactly and float32Exactly read a number into a float that holds it.
func float64Exactly(dec *jsontext.Decoder, v *float64) error {
	f, err := wholeFloat(dec, 64)
	if err == nil {
		*v = f
	}
	return err
}

func float32Exactly(dec *jsontext.Decoder, v *float32) error {
	f, err := wholeFloat(dec, 32)
	if err == nil {
		*v = float32(f)
	}
	return err
}

// wholeFloat reads a number, unless a float of that many bits would not hold it: it
// must be what the float is written as, and an integer must be equal to it.
func wholeFloat(dec *jsontext.Decoder, bits int) (float64, error) {
	if dec.PeekKind() != '0' {
		return 0, errors.ErrUnsupported // null, or what the decoder itself finds fault with
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(raw), bits)
	if err != nil || math.IsInf(f, 0) {
		return 0, errRounded
	}
	sent, ok := new(big.Rat).SetString(string(raw))
	written, fine := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', -1, bits))
	if !ok || !fine || sent.Cmp(written) != 0 {
		return 0, errRounded
	}
	if sent.IsInt() && sent.Cmp(new(big.Rat).SetFloat64(f)) != 0 {
		return 0, errRounded
	}
	return f, nil
}

// plainIntegers writes the integers among the numbers without point and exponent, and
// reports whether there were any to write so.
func plainIntegers(text []byte) ([]byte, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
	changed := false
	for {
		tok, err := dec.ReadToken()
		if err == io.EOF {
			return out.Bytes(), changed
		}
		if err != nil {
			return nil, false
		}
		if tok.Kind() == '0' {
			plain, isPlain := plainInteger(tok.String())
			changed = changed || isPlain
			err = enc.WriteValue(jsontext.Value(plain))
		} else {
			err = enc.WriteToken(tok)
		}
		if err != nil {
			return nil, false
		}
	}
}

// maxExponent is beyond what any finite float64 has.
const maxExponent = 400

// plainInteger returns an integer written with a point or an exponent as its digits,
// and any other number as it is.
func plainInteger(literal string) (plain string, changed bool) {
	if !strings.ContainsAny(literal, ".eE") {
		return literal, false
	}
	if _, exponent, scientific := strings.Cut(strings.ToLower(literal), "e"); scientific {
		if n, err := strconv.Atoi(exponent); err != nil || n > maxExponent || n < -maxExponent {
			return literal, false
		}
	}
	r, ok := new(big.Rat).SetString(literal)
	if !ok || !r.IsInt() {
		return literal, false
	}
	return fmt.Sprintf("%d", r.Num()), true
}
