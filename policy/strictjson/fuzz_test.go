package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

func addSeeds(f *testing.F) {
	for _, test := range rules {
		f.Add([]byte(test.input))
		f.Add([]byte(`{"v":[` + test.input + `]}`))
	}
	f.Add([]byte(smallCall))
	f.Add([]byte(manyNames(20, "k%d", "K19")))
	f.Add([]byte(nested(65, "[", "", "]")))
	f.Add([]byte(nested(64, `{"a":`, "1", "}")))
}

// decode reads data by encoding/json: one value, exact numbers, nothing after it.
func decode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data after the value")
	}
	return value, nil
}

// hasExtreme looks at every number of a value.
func hasExtreme(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if hasExtreme(e) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasExtreme)
	case json.Number:
		// By arithmetic, with a margin: a leading digit close to the edge may count either way.
		f, err := v.Float64()
		return err != nil || math.Abs(f) >= 1e301 || f != 0 && math.Abs(f) < 1e-300 || strictjson.IsExtreme(string(v))
	}
	return false
}

// FuzzParse checks that nothing panics, that a refusal is a proper one, and that what
// is accepted survives being written and read again.
func FuzzParse(f *testing.F) {
	addSeeds(f)
	texts := messages()
	f.Fuzz(func(t *testing.T, data []byte) {
		original := bytes.Clone(data)
		value, traits, err := strictjson.Read(data, strictjson.Limits{})
		require.Equal(t, hasExtreme(value), traits.Extreme)
		require.Equal(t, original, data, "the input was changed")
		if err != nil {
			require.Nil(t, value)
			refusal, ok := errors.AsType[*strictjson.Error](err)
			require.True(t, ok)
			require.Contains(t, texts, refusal.Message())
			require.NotEqual(t, strictjson.ReasonInternal, refusal.Reason, err)
			require.True(t, 0 <= refusal.Offset && refusal.Offset <= int64(len(data)), err)
			return
		}
		written, err := json.Marshal(value)
		require.NoError(t, err)
		again, err := strictjson.Parse(written, strictjson.Limits{Bytes: 8 << 20}) // Marshal escapes more
		require.NoError(t, err)
		require.Equal(t, value, again)
	})
}

// FuzzAgainstEncodingJSON compares Parse with encoding/json, and with the rules put
// together from the standard library in another, slower way: both must accept the
// same inputs, with the same value.
func FuzzAgainstEncodingJSON(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := strictjson.Parse(data, strictjson.Limits{})
		want, referenceErr := decode(data)
		if referenceErr != nil {
			require.Error(t, err, "encoding/json refuses it: %v", referenceErr)
			return
		}
		require.Equal(t, isUnambiguous(data), err == nil, "%q: %v", data, err)
		if err == nil {
			require.Equal(t, want, got)
		}
	})
}

// isUnambiguous reports whether data, which encoding/json accepts, keeps the rules of
// the package under the default limits.
func isUnambiguous(data []byte) bool {
	if len(data) > strictjson.DefaultBytes || !utf8.Valid(data) || hasLoneSurrogate(data) {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return checkValue(decoder, 0)
}

// checkValue checks names, numbers and depth of the next value of decoder.
func checkValue(decoder *json.Decoder, depth int) bool {
	token, err := decoder.Token()
	if err != nil {
		return false
	}
	if number, ok := token.(json.Number); ok {
		return checkNumber(number.String())
	}
	delimiter, ok := token.(json.Delim)
	if !ok {
		return true
	}
	if depth == strictjson.DefaultDepth {
		return false
	}
	var names []string
	for decoder.More() {
		if delimiter == '{' {
			token, err := decoder.Token()
			if err != nil {
				return false
			}
			name := strings.TrimRight(token.(string), "\x00")
			for _, other := range names {
				if strings.EqualFold(name, other) {
					return false
				}
			}
			names = append(names, name)
		}
		if !checkValue(decoder, depth+1) {
			return false
		}
	}
	_, err = decoder.Token()
	return err == nil
}

var exponent = regexp.MustCompile(`[eE][+-]?0*([0-9]*)$`)

// checkNumber computes with big.Rat what Parse concludes from a number's shape.
func checkNumber(literal string) bool {
	if found := exponent.FindStringSubmatch(literal); found != nil && len(found[1]) > 4 {
		return false
	}
	exact, ok := new(big.Rat).SetString(literal)
	if !ok || len(literal) > strictjson.DefaultNumberLength {
		return false
	}
	rounded, _ := exact.Float64()
	return !math.IsInf(rounded, 0) && (rounded != 0 || exact.Sign() == 0)
}

var escapes = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// hasLoneSurrogate looks at every escape and at what comes right after it.
func hasLoneSurrogate(data []byte) bool {
	pairedUntil := 0 // where the second half of the latest pair ends
	units := escapes.FindAllIndex(data, -1)
	unit := func(i int) (uint64, bool) {
		if i == len(units) || units[i][1]-units[i][0] != len(`\uD800`) {
			return 0, false
		}
		v, err := strconv.ParseUint(string(data[units[i][0]+2:units[i][1]]), 16, 16)
		return v, err == nil
	}
	for i, at := range units {
		v, ok := unit(i)
		switch {
		case !ok || v < 0xD800 || v > 0xDFFF || at[0] < pairedUntil:
			continue
		case v >= 0xDC00:
			return true
		}
		low, ok := unit(i + 1)
		if !ok || units[i+1][0] != at[1] || low < 0xDC00 || low > 0xDFFF {
			return true
		}
		pairedUntil = units[i+1][1]
	}
	return false
}
