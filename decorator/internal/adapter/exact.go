package adapter

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// surelyExact is a length up to which a literal without an exponent has at most 15
// digits: float64 keeps so many, whatever they are.
const surelyExact = 15

// Inexact says where, in a JSON text, there is a number that a handler which reads
// numbers as float64 would not get as it stands; nil when there is none. The text may
// be anything: what is no JSON is for the gate to refuse.
func Inexact(text []byte) error {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = endOfString(text, i)
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(text) && strings.IndexByte("0123456789.eE+-", text[end]) >= 0 {
				end++
			}
			if !Survives(string(text[i:end])) {
				return fmt.Errorf("the number at byte %d of the arguments is not one that float64 holds exactly", i)
			}
			i = end - 1
		}
	}
	return nil
}

// endOfString returns where the quote is that ends the string beginning at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++ // whatever is escaped doesn't end it
		}
	}
	return len(text)
}

// Survives reports whether the number that a JSON literal stands for is the same
// after it was a float64: it must be what the float64 is written as, and an integer
// must be equal to it, too. (2^60 is equal to a float64, which is written as
// 1152921504606847000; with 36028797018963970 it is the other way round.)
func Survives(literal string) bool {
	if len(literal) <= surelyExact && !strings.ContainsAny(literal, "eE") {
		return true
	}
	return survives(literal, 64)
}

// Survives32 is [Survives] for float32.
func Survives32(literal string) bool { return survives(literal, 32) }

func survives(literal string, bits int) bool {
	f, err := strconv.ParseFloat(literal, bits)
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	digits, exponent, ok := decimal(literal)
	if !ok {
		return false
	}
	if d, e, ok := decimal(strconv.FormatFloat(f, 'e', -1, bits)); !ok || d != digits || e != exponent {
		return false
	}
	if exponent < 0 {
		return true
	}
	whole, ok := integer(digits, exponent)
	if !ok {
		return false
	}
	n, ok := new(big.Int).SetString(whole, 10)
	if !ok {
		return false
	}
	exact, _ := big.NewFloat(math.Abs(f)).Int(nil)
	return n.Cmp(exact) == 0
}

// Integer returns a JSON number without point and exponent, if it is an integer of at
// most 310 digits, which is as many as any finite float64 has.
func Integer(literal string) (plain string, ok bool) {
	digits, exponent, ok := decimal(literal)
	if !ok {
		return "", false
	}
	if plain, ok = integer(digits, exponent); ok && plain != "0" && strings.HasPrefix(literal, "-") {
		plain = "-" + plain
	}
	return plain, ok
}

func integer(digits string, exponent int) (string, bool) {
	if exponent < 0 || exponent > 310 || len(digits)+exponent > 310 {
		return "", false
	}
	return digits + strings.Repeat("0", exponent), true
}

// decimal returns the digits of a number without zeros at either end, and the power
// of ten of the last of them. Zero has the digit 0. The sign is left out.
func decimal(literal string) (digits string, exponent int, ok bool) {
	mantissa, power, scientific := strings.Cut(strings.ToLower(strings.TrimPrefix(literal, "-")), "e")
	if scientific {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return "", 0, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	if digits == "" {
		return "0", 0, true
	}
	trimmed := strings.TrimRight(digits, "0")
	return trimmed, exponent + len(digits) - len(trimmed), true
}
