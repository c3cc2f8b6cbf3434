package strictjson

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	// A literal without an exponent that is no longer than this is neither infinite
	// nor, unless it is zero, rounded to zero: it lies within 1e±300.
	surelyFiniteLength = 300
	// How many digits, leading zeros aside, an exponent may have. ParseFloat doesn't
	// read the sixth digit and further ones, so that 10,100 digits with e-1000000
	// would pass for 1e100.
	exponentDigits = 4

	// The powers of ten of the first digit at which binary64 ends, and the first digits
	// of where exactly: 2^1024 - 2^970 and larger is rounded to infinity, 2^-1075 and
	// smaller to zero.
	largestPower   = 308
	largestDigits  = "17976931348623158079372897140530341507993413271003782693617377898044496829276475"
	smallestPower  = -324
	smallestDigits = "24703282292062327208828439643411068618252990130716238221279284125033775363510437"
)

// inRange reports whether a literal, valid by JSON's grammar, is finite in binary64
// and not wrongly rounded to zero. It compares digits: ParseFloat takes 20 µs for a
// number at the edge, and 1 MB has room for 130,000 of them.
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
	first := bytes.IndexAny(mantissa, "123456789")
	if first < 0 {
		return true
	}
	power, ok := power(mantissa, exponent, first)
	switch {
	case !ok || power > largestPower || power < smallestPower:
		return false
	case power == largestPower:
		return below(mantissa[first:], largestDigits, literal)
	case power == smallestPower:
		return !below(mantissa[first:], smallestDigits, literal)
	default:
		return true
	}
}

// power returns the power of ten of the first digit that isn't zero, which is at first.
func power(mantissa, exponent []byte, first int) (int, bool) {
	n := 0
	if len(exponent) > 0 {
		var err error
		if n, err = strconv.Atoi(string(exponent)); err != nil {
			return 0, false
		}
	}
	point := bytes.IndexByte(mantissa, '.')
	switch {
	case point < 0:
		return n + len(mantissa) - 1 - first, true
	case first < point:
		return n + point - 1 - first, true
	default:
		return n + point - first, true
	}
}

// below reports whether a number that begins with these digits is below the edge that
// begins with those. If all of them are equal the whole literal has to be read.
func below(digits []byte, edge string, literal []byte) bool {
	i := 0
	for _, c := range digits {
		switch {
		case c == '.':
			continue
		case i == len(edge):
			return onTheEdge(literal, edge)
		case c != edge[i]:
			return c < edge[i]
		}
		i++
	}
	return true // what is left of the edge's digits is not zero
}

func onTheEdge(literal []byte, edge string) bool {
	f, err := strconv.ParseFloat(string(literal), 64)
	if edge == smallestDigits {
		return f == 0
	}
	return err == nil
}

// What leaves this range, or has this many digits, arithmetic of arbitrary precision is
// needed for: up to it, numbers are compared as they stand.
const plainExponent = 300

// IsExtreme reports whether a JSON number's leading digit may lie beyond 1e±300. OPA, for
// one, takes a thousand times as long for such a number as for any other. A literal
// that can't be read is extreme.
func IsExtreme(literal string) bool {
	i := strings.IndexAny(literal, "eE")
	if i < 0 {
		return len(literal) > plainExponent
	}
	exp, err := strconv.Atoi(strings.TrimPrefix(literal[i+1:], "+"))
	if err != nil {
		return true
	}
	return exp+i > plainExponent || exp-i < -plainExponent
}
