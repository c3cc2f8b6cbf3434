package adapter_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy/strictjson"
)

func TestSurvives(t *testing.T) {
	for literal, want := range map[string]bool{
		"0": true, "-0": true, "0.0": true, "0e5": true, "1": true, "-1": true, "100": true, "1e2": true, "1E+2": true, "1.50": true,
		"9007199254740991": true, "9007199254740992": true, "9007199254740993": false, "-9007199254740993": false,
		"9007199254740993.0": false, "9007199254740993e0": false, "0.9007199254740993e16": false, "90071992547409930e-1": false,
		"9007199254740994":     true,
		"36028797018963970":    false, // is written like that, but is ...968
		"36028797018963968":    false, // is that, but is written ...970
		"1152921504606846976":  false, // 2^60
		"1000000000000000000":  true,
		"9223372036854775807":  false,
		"18446744073709551615": false,
		"1e22":                 true, "1e23": false, "1e400": false, "1e-400": false, "1e99999999999999999999": false,
		"0.1": true, "0.30000000000000004": true, "0.300000000000000040": true, "0.3000000000000000400001": false, "5e-324": true, "4e-324": false,
		"123456789.123456789": false, "123456789.12345679": true, "0.10000000000000000555": false,
		strings.Repeat("9", 400): false, "1" + strings.Repeat("0", 400): false, "0." + strings.Repeat("0", 400) + "1": false,
		"": false, "-": false, "1e": false,
	} {
		if want || len(literal) > 1 { // shorter ones that are no numbers are the gate's affair
			require.Equal(t, want, adapter.Survives(literal), literal)
		}
	}
	for literal, want := range map[string]bool{"0.1": true, "16777216": true, "16777217": false, "3.4e38": false, "1e39": false, "0.123456789": false, "1.5": true} {
		require.Equal(t, want, adapter.Survives32(literal), literal)
	}
}

func TestInteger(t *testing.T) {
	for literal, want := range map[string]string{
		"1.0": "1", "-1.50e1": "-15", "1e3": "1000", "0.0": "0", "-0": "0", "1.5": "", "1e-1": "", "10e-1": "1", "1e400": "", "9007199254740993.000": "9007199254740993",
		"1e99999999999999999999": "", strings.Repeat("1", 311): "",
	} {
		plain, ok := adapter.Integer(literal)
		require.Equal(t, want != "", ok, literal)
		require.Equal(t, want, plain, literal)
	}
}

func TestInexactLooksAtNumbersOnly(t *testing.T) {
	for text, want := range map[string]bool{
		`{"n":9007199254740993}`:                         false,
		`{"a":[[9007199254740993]]}`:                     false,
		`{"9007199254740993":1}`:                         true,
		`{"s":"9007199254740993"}`:                       true,
		`{"s":"\"9007199254740993"}`:                     true,
		`{"s":"\\","n":9007199254740993}`:                false,
		`{"a":1,"b":0.1,"c":true,"d":null,"e":[1e3,-2]}`: true,
		`{"s":"`:                true,
		`"\`:                    true,
		``:                      true,
		`{"a":1,"b":1e400}`:     false,
		`[1,2,9007199254740993`: false,
	} {
		require.Equal(t, want, adapter.Inexact([]byte(text)) == nil, text)
	}
	require.ErrorContains(t, adapter.Inexact([]byte(`{"n":9007199254740993}`)), "byte 5")
	require.NotContains(t, adapter.Inexact([]byte(`{"n":9007199254740993}`)).Error(), "9007", "a value is not repeated")
}

// FuzzInexact compares with what float64 really does to the numbers of a text.
func FuzzInexact(f *testing.F) {
	for _, s := range []string{`{"n":9007199254740993}`, `[1e22,1e23,0.1]`, `{"a":"\\\"1e400","b":[-0.0,36028797018963968]}`, `1152921504606846976`, `[0.30000000000000004,5e-324]`, `{"a":`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := adapter.Inexact(text)
		v, parseErr := strictjson.Parse(text, strictjson.Limits{})
		if parseErr != nil {
			return // must only not panic
		}
		require.Equal(t, allSurvive(v), err == nil, "%q: %v", text, err)
	})
}

func allSurvive(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return roundTrips(string(v))
	case []any:
		for _, e := range v {
			if !allSurvive(e) {
				return false
			}
		}
	case map[string]any:
		for _, e := range v {
			if !allSurvive(e) {
				return false
			}
		}
	}
	return true
}

// roundTrips says the same as Survives with big numbers instead of digits.
func roundTrips(literal string) bool {
	x, ok := new(big.Rat).SetString(literal)
	f, err := strconv.ParseFloat(literal, 64)
	if !ok || err != nil || math.IsInf(f, 0) {
		return false
	}
	written, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if !ok || written.Cmp(x) != 0 {
		return false
	}
	return !x.IsInt() || new(big.Rat).SetFloat64(f).Cmp(x) == 0
}
