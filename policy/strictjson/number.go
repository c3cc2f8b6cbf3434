package strictjson

import (
	"bytes"
	"strconv"
)

const (
	// A literal without an exponent that is no longer than this is neither infinite
	// nor, unless it is zero, rounded to zero: it lies within 1e±300.
	surelyFiniteLength = 300
	// How many digits, leading zeros aside, an exponent may have. ParseFloat doesn't
	// read the sixth digit and further ones, so that 10,100 digits with e-1000000
	// would pass for 1e100.
	exponentDigits = 4
)

// inRange reports whether a literal, valid by JSON's grammar, is finite in binary64
// and not wrongly rounded to zero.
func inRange(literal []byte) bool {
	mantissa, exponent := literal, []byte(nil)
	if i := bytes.IndexAny(literal, "eE"); i >= 0 {
		mantissa, exponent = literal[:i], literal[i+1:]
	} else if len(literal) <= surelyFiniteLength {
		return true
	}
	if len(bytes.TrimLeft(exponent, "+-0")) > exponentDigits {
		return false
	}
	if !bytes.ContainsAny(mantissa, "123456789") {
		return true
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	return err == nil && f != 0
}
